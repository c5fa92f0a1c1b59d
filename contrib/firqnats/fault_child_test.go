package firqnats

import (
	"context"
	"encoding/json"
	"flag"
	"fmt"
	"io"
	"log/slog"
	"os"
	"os/signal"
	"syscall"
	"time"

	"github.com/nats-io/nats-server/v2/server"
	"github.com/nats-io/nats.go"

	"github.com/firq-go/firq/actor"
)

// childEnv is set in processes that are a node of the fault tests, whose childNode it holds in JSON, or a
// NATS server, for which it is "server" and the arguments are those of nats-server.
const childEnv = "FIRQNATS_TEST_CHILD"

type childNode struct {
	URL, Cluster, Name string
	Lease, Timeout     time.Duration
	Replicas           int
	Flood              int // it has no actors, and as many callers
}

// child ends the process if it is one of those.
func child() {
	what := os.Getenv(childEnv)
	if what == "" {
		return
	}
	go func() { // the test has died, and its pipe with it
		_, _ = io.Copy(io.Discard, os.Stdin)
		os.Exit(3)
	}()
	err := childServer
	if what != "server" {
		err = func() error { return childJoins(what) }
	}
	if err := err(); err != nil {
		fmt.Fprintln(os.Stderr, err)
		os.Exit(1)
	}
	os.Exit(0)
}

// childServer does what nats-server's main does.
func childServer() error {
	o, err := server.ConfigureOptions(flag.NewFlagSet("nats-server", flag.ContinueOnError), os.Args[1:], nil, nil, nil)
	if err != nil {
		return err
	}
	s, err := server.NewServer(o)
	if err != nil {
		return err
	}
	s.ConfigureLogger()
	if err := server.Run(s); err != nil {
		return err
	}
	s.WaitForShutdown()
	return nil
}

// childJoins is a node until SIGTERM, and then leaves.
func childJoins(spec string) error {
	var c childNode
	if err := json.Unmarshal([]byte(spec), &c); err != nil {
		return err
	}
	term := make(chan os.Signal, 1)
	signal.Notify(term, syscall.SIGTERM)
	nc, err := nats.Connect(c.URL, nats.MaxReconnects(-1), nats.ReconnectWait(50*time.Millisecond), nats.RetryOnFailedConnect(true))
	if err != nil {
		return err
	}
	quiet := slog.New(slog.DiscardHandler)
	sys, err := actor.New(actor.Config{Logger: quiet})
	if err != nil {
		return err
	}
	ctx, end := context.WithTimeout(context.Background(), patience)
	defer end()
	n, err := Join(ctx, nc, sys, Options{Cluster: c.Cluster, Name: c.Name, Client: c.Flood > 0, Lease: c.Lease, Timeout: c.Timeout, Replicas: c.Replicas, Logger: quiet})
	if err != nil {
		return err
	}
	k, err := counterKind(n, true)
	if err != nil {
		return err
	}
	for range c.Flood {
		go func() {
			for {
				_, _ = work.Call(context.Background(), k.Ref("flooded"), time.Millisecond/2)
			}
		}()
	}
	fmt.Println("ready")
	<-term
	ctx, end = context.WithTimeout(context.Background(), patience)
	defer end()
	return n.Leave(ctx)
}

// counter is the actor of the fault tests. What it returns it has saved.
type counter struct{ saved *State[int] }

// counted is what a counter returns.
type counted struct {
	Value int
	Fence uint64
}

var (
	countUp = actor.NewMethod("CountUp", func(s *counter, c *actor.Ctx, _ actor.Nothing) (counted, error) {
		s.saved.Value++
		return counted{s.saved.Value, s.saved.Fence()}, s.saved.Save(c)
	})
	work = actor.NewAction("Work", func(_ *counter, _ *actor.Ctx, d time.Duration) error {
		for began := time.Now(); time.Since(began) < d; {
		}
		return nil
	})
	readCount = actor.NewMethod("Read", func(s *counter, _ *actor.Ctx, _ actor.Nothing) (counted, error) {
		return counted{s.saved.Value, s.saved.Fence()}, nil
	})
)

func counterKind(n *Node, here bool) (*Kind[*counter], error) {
	start := func(c *actor.Ctx, _ string) (*counter, error) {
		s, err := Load[int](c)
		return &counter{s}, err
	}
	if !here {
		start = nil
	}
	return NewKind(n, "counter", start, []actor.AnyMethod[*counter]{countUp, readCount, work})
}
