package main

import (
	"context"
	"encoding/json"
	"fmt"
	"io"
	"log/slog"
	"os"
	"strconv"
	"time"

	"github.com/nats-io/nats.go"
	"github.com/urfave/cli/v3"

	"github.com/firq-go/firq/actor"
	"github.com/firq-go/firq/contrib/firqnats"
	"github.com/firq-go/firq/contrib/firqnats/embedded"
)

// contestant is asked to add 1 to a counter in another process, and answers what it is then.
type contestant struct {
	name, about string
	start       func(ctx context.Context, s *system) error
}

// crowdOfActors is how many actors the contestants with many have.
const crowdOfActors = 512

func contestants() []contestant {
	one := func(uint64) string { return "one" }
	many := func(i uint64) string { return strconv.FormatUint(i%crowdOfActors, 10) }
	fresh := func(i uint64) string { return "new-" + strconv.FormatUint(i, 10) }
	return []contestant{
		{"firqnats", "contrib/firqnats, JSON, one actor", ours(one, false)},
		{"nats", "NATS request-reply, JSON", plain},
		{"grpc", "a unary call of gRPC, JSON inside, no broker", unary},
		{"firqnats-512", "contrib/firqnats, 512 actors", ours(many, false)},
		{"proto-512", "Proto.Actor's cluster, Protobuf, 512 grains, no broker", proto(many)},
		{"proto", "the same, one grain", proto(one)},
		{"firqnats-first", "contrib/firqnats, each call is the first of its actor", ours(fresh, false)},
		{"firqnats-saved", "contrib/firqnats, 512 actors, the state saved before each answer", ours(many, true)},
	}
}

// serve is a process of a contestant: it says one line, and ends with its stdin.
func serve(ctx context.Context, cmd *cli.Command) error {
	ctx, end := context.WithCancel(ctx)
	go func() {
		_, _ = io.Copy(io.Discard, os.Stdin)
		end()
	}()
	args := cmd.Args()
	said, err := "ready", error(nil)
	switch args.First() {
	case "server":
		var server *embedded.Server
		if server, err = embedded.Start(embedded.Options{Port: -1}); err == nil {
			said = server.URL()
		}
	case "node":
		_, _, err = join(ctx, args.Get(1), false)
	case "responder":
		err = respond(args.Get(1))
	case "grpc":
		said, err = listen()
	case "proto":
		_, err = member(args.Get(1), args.Get(2), true)
	default:
		err = fmt.Errorf("no role %q", args.First())
	}
	if err != nil {
		return err
	}
	if _, err := fmt.Fprintln(os.Stdout, said); err != nil {
		return err
	}
	<-ctx.Done()
	return nil
}

// counter of contrib/firqnats.
type counter struct{ saved *firqnats.State[int] }

func (k *counter) add(_ *actor.Ctx, by int) (int, error) {
	k.saved.Value += by
	return k.saved.Value, nil
}

func (k *counter) keep(c *actor.Ctx, by int) (int, error) {
	k.saved.Value += by
	return k.saved.Value, k.saved.Save(c)
}

var (
	add  = actor.NewMethod("Add", (*counter).add)
	keep = actor.NewMethod("Keep", (*counter).keep)
)

func join(ctx context.Context, url string, client bool) (*firqnats.Node, *firqnats.Kind[*counter], error) {
	nc, err := nats.Connect(url)
	if err != nil {
		return nil, nil, err
	}
	sys, err := actor.New(actor.Config{})
	if err != nil {
		return nil, nil, err
	}
	n, err := firqnats.Join(ctx, nc, sys, firqnats.Options{Client: client, Logger: slog.New(slog.DiscardHandler)})
	if err != nil {
		return nil, nil, err
	}
	k, err := firqnats.NewKind(n, "counter", func(c *actor.Ctx, _ string) (*counter, error) {
		saved, err := firqnats.Load[int](c)
		return &counter{saved}, err
	}, []actor.AnyMethod[*counter]{add, keep})
	return n, k, err
}

func ours(key func(uint64) string, save bool) func(context.Context, *system) error {
	return func(ctx context.Context, s *system) error {
		server, err := s.start(ctx, "server")
		if err != nil {
			return err
		}
		if _, err := s.start(ctx, "node", server.said); err != nil {
			return err
		}
		n, k, err := join(ctx, server.said, true)
		if err != nil {
			return err
		}
		s.close = append(s.close, func() { _ = n.Leave(context.Background()) })
		m := add
		if save {
			m = keep
		}
		s.call = func(ctx context.Context, i uint64) error {
			_, err := m.Call(ctx, k.Ref(key(i)), 1)
			return err
		}
		return nil
	}
}

// plain is NATS without firq.
func plain(ctx context.Context, s *system) error {
	server, err := s.start(ctx, "server")
	if err != nil {
		return err
	}
	if _, err := s.start(ctx, "responder", server.said); err != nil {
		return err
	}
	nc, err := nats.Connect(server.said)
	if err != nil {
		return err
	}
	s.close = append(s.close, nc.Close)
	s.call = func(ctx context.Context, _ uint64) error {
		by, err := json.Marshal(1)
		if err != nil {
			return err
		}
		ctx, end := context.WithTimeout(ctx, 10*time.Second)
		defer end()
		m, err := nc.RequestWithContext(ctx, "add", by)
		if err != nil {
			return err
		}
		var n int
		return json.Unmarshal(m.Data, &n)
	}
	return nil
}

func respond(url string) error {
	nc, err := nats.Connect(url)
	if err != nil {
		return err
	}
	count := 0
	if _, err = nc.Subscribe("add", func(m *nats.Msg) {
		if answer, err := addTo(&count, m.Data); err == nil {
			_ = m.Respond(answer)
		}
	}); err != nil {
		return err
	}
	return nc.Flush()
}

// addTo adds what is encoded, and returns the sum so.
func addTo(count *int, by []byte) ([]byte, error) {
	var n int
	if err := json.Unmarshal(by, &n); err != nil {
		return nil, err
	}
	*count += n
	return json.Marshal(*count)
}
