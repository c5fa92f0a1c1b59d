// Example of a fleet: three processes share four slots. One tenant floods all of them, another one calls one of them now and then.
//
//	go run ./contrib/firqfleet/example
package main

import (
	"context"
	"fmt"
	"os"
	"os/exec"
	"sync"
	"sync/atomic"
	"time"

	"github.com/redis/go-redis/v9"

	"github.com/firq-go/firq/contrib/firqfleet"
	"github.com/firq-go/firq/contrib/firqfleet/embedded"
	"github.com/firq-go/firq/gate"
)

const serverEnv = "FLEET_SERVER"

func main() {
	var err error
	if addr := os.Getenv(serverEnv); addr != "" {
		err = member(addr, os.Args[1])
	} else {
		err = fleet()
	}
	if err != nil {
		fmt.Fprintln(os.Stderr, err)
		os.Exit(1)
	}
}

// fleet starts a server, and this program as three processes.
func fleet() error {
	s, err := embedded.Start()
	if err != nil {
		return err
	}
	defer s.Close()
	c := s.Client()
	defer func() { _ = c.Close() }()
	self, err := os.Executable()
	if err != nil {
		return err
	}
	var all []*exec.Cmd
	for _, name := range []string{"one", "two", "three"} {
		cmd := exec.Command(self, name) //nolint:gosec // itself
		cmd.Env = append(os.Environ(), serverEnv+"="+c.Options().Addr)
		cmd.Stdout, cmd.Stderr = os.Stdout, os.Stderr
		if err := cmd.Start(); err != nil {
			return err
		}
		all = append(all, cmd)
	}
	for _, cmd := range all {
		if werr := cmd.Wait(); err == nil {
			err = werr
		}
	}
	return err
}

// member is one process: it serves calls for a second, then says how it went.
func member(addr, name string) error {
	ctx, cancel := context.WithTimeout(context.Background(), time.Second)
	defer cancel()
	c := redis.NewClient(&redis.Options{Addr: addr})
	defer func() { _ = c.Close() }()
	g, err := firqfleet.New(ctx, 4, firqfleet.Config{Client: c, Name: "example"})
	if err != nil {
		return err
	}
	var noisy, quiet atomic.Int64
	var longest atomic.Int64
	var wg sync.WaitGroup
	call := func(tenant string, served *atomic.Int64) {
		p, err := g.Acquire(ctx, tenant, gate.Request{})
		if err != nil {
			return
		}
		defer p.Release()
		time.Sleep(5 * time.Millisecond) // the work
		served.Add(1)
		if tenant == "quiet" {
			longest.Store(max(longest.Load(), int64(p.Waited())))
		}
	}
	for range 16 {
		wg.Go(func() {
			for ctx.Err() == nil {
				call("noisy", &noisy)
			}
		})
	}
	if name == "one" {
		wg.Go(func() {
			for ctx.Err() == nil {
				call("quiet", &quiet)
				time.Sleep(20 * time.Millisecond)
			}
		})
	}
	wg.Wait()
	fmt.Printf("process %s: %d calls of noisy, %d of quiet, which waited for at most %v; lease %d\n",
		name, noisy.Load(), quiet.Load(), time.Duration(longest.Load()).Round(time.Millisecond), g.Lease().Token)
	return g.Close()
}
