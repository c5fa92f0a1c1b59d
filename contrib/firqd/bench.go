package main

import (
	"context"
	"crypto/rand"
	"errors"
	"fmt"
	"io"
	"log/slog"
	"strings"
	"sync"
	"sync/atomic"
	"time"

	"github.com/urfave/cli/v3"

	"github.com/firq-go/firq/contrib/firqd/internal/config"
	"github.com/firq-go/firq/queue"
)

// benched holds the results that bench prints.
type benched struct {
	Tasks, Tenants, Workers, Callers, Payload int
	Enqueue, Process                          time.Duration // what all tasks took
	EnqueuedPerSec, ProcessedPerSec           float64
}

func (p *program) benchCommand() *cli.Command {
	return &cli.Command{
		Name:  "bench",
		Usage: "enqueue and process some tasks, and say how many per second",
		Description: "Works on a separate queue, which is removed afterwards. First all tasks are enqueued, one per call,\n" +
			"then workers with an empty handler process them. It is a load for the server: think before you aim it at one that\n" +
			"others use.\n\n" +
			"Example:\n   firqd bench -n 100000 --workers 256",
		Flags: []cli.Flag{
			&cli.IntFlag{Name: "n", Value: 10_000, Usage: "`N` tasks"},
			&cli.IntFlag{Name: "tenants", Value: 16, Usage: "of `N` tenants"},
			&cli.IntFlag{Name: "workers", Value: 64, Usage: "`N` workers"},
			&cli.IntFlag{Name: "callers", Value: 64, Usage: "`N` goroutines enqueue"},
			&cli.IntFlag{Name: "payload", Value: 100, Usage: "payloads of `N` bytes"},
		},
		Action: p.with(bench),
	}
}

func bench(ctx context.Context, s *session) (err error) {
	b := benched{
		Tasks: s.cmd.Int("n"), Tenants: s.cmd.Int("tenants"), Workers: s.cmd.Int("workers"), Callers: s.cmd.Int("callers"), Payload: s.cmd.Int("payload"),
	}
	for _, f := range []struct {
		name            string
		value, min, max int
	}{
		{"-n", b.Tasks, 1, 100_000_000}, {"--tenants", b.Tenants, 1, 1_000_000}, {"--workers", b.Workers, 1, 100_000}, {"--callers", b.Callers, 1, 100_000},
		{"--payload", b.Payload, 2, s.conf.Queue.MaxPayload},
	} {
		if f.value < f.min || f.value > f.max {
			return misuse(s.cmd, fmt.Errorf("%s: %d, must be %d to %d", f.name, f.value, f.min, f.max))
		}
	}
	if err := between(s.cmd, 0, 0, ""); err != nil {
		return err
	}
	q := &s.conf.Queue
	q.Name = "firqd-bench-" + rand.Text()
	q.MaxQueued, q.MaxQueuedPerTenant, q.MaxInFlight, q.MaxInFlightPerTenant, q.RatePerTenant = 0, 0, 0, 0, config.Rate{}
	if err := s.open(ctx); err != nil {
		if ctx.Err() != nil { // in the middle of it
			_ = s.remove(ctx) // what has ended it is said
		}
		return err
	}
	defer func() { err = errors.Join(err, s.remove(ctx)) }()
	began := time.Now()
	if err := s.fill(ctx, &b); err != nil {
		return err
	}
	b.Enqueue = time.Since(began)
	began = time.Now()
	if err := s.drain(ctx, &b); err != nil {
		return err
	}
	b.Process = time.Since(began)
	b.EnqueuedPerSec, b.ProcessedPerSec = float64(b.Tasks)/b.Enqueue.Seconds(), float64(b.Tasks)/b.Process.Seconds()
	return s.show(s.cmd, b, func(w io.Writer) {
		table(w, [][]string{
			{"", "tasks/s", "took"},
			{"enqueue", fmt.Sprintf("%.0f", b.EnqueuedPerSec), short(b.Enqueue)},
			{"process", fmt.Sprintf("%.0f", b.ProcessedPerSec), short(b.Process)},
		})
		printf(w, "%d tasks of %d bytes, %d tenants, %d callers, %d workers\n", b.Tasks, b.Payload, b.Tenants, b.Callers, b.Workers)
	})
}

// fill enqueues the tasks. The first error ends it.
func (s *session) fill(ctx context.Context, b *benched) error {
	ctx, cancel := context.WithCancelCause(ctx)
	defer cancel(nil)
	body := payload(`"` + strings.Repeat("x", b.Payload-2) + `"`)
	var next atomic.Int64
	var callers sync.WaitGroup
	for range min(b.Callers, b.Tasks) {
		callers.Go(func() {
			for ctx.Err() == nil {
				i := int(next.Add(1)) - 1
				if i >= b.Tasks {
					return
				}
				t := queue.Task[payload]{Payload: body, Tenant: fmt.Sprintf("tenant-%d", i%b.Tenants)}
				if _, err := s.q.Enqueue(ctx, t); err != nil {
					cancel(err)
				}
			}
		})
	}
	callers.Wait()
	return context.Cause(ctx)
}

// drain processes the tasks. One whose lease has run out may come twice, and counts once.
func (s *session) drain(ctx context.Context, b *benched) error {
	ctx, done := context.WithCancel(ctx)
	defer done()
	var mu sync.Mutex
	seen := make(map[string]bool, b.Tasks)
	err := queue.Run(ctx, s.q, func(_ context.Context, it *queue.Item[payload]) error {
		mu.Lock()
		defer mu.Unlock()
		if seen[it.ID] = true; len(seen) == b.Tasks {
			done()
		}
		return nil
	}, queue.RunOptions[payload]{Concurrency: b.Workers, Logger: slog.New(slog.DiscardHandler)})
	if err == nil && len(seen) < b.Tasks {
		err = ctx.Err()
	}
	return err
}

// remove removes the queue, also after Ctrl-C.
func (s *session) remove(ctx context.Context) error {
	if s.q != nil {
		_ = s.q.Close()
	}
	ctx, cancel := context.WithTimeout(context.WithoutCancel(ctx), 30*time.Second)
	defer cancel()
	return s.place.remove(ctx, s)
}
