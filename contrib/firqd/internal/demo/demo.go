// Package demo shows what one noisy tenant does to the others, with fair scheduling and without: the same tasks
// go through a queue in the order in which they came, as tasks of one tenant, and then as tasks of those whose
// they are.
package demo

import (
	"context"
	"fmt"
	"log/slog"
	"slices"
	"sync"
	"time"

	"github.com/firq-go/firq/contrib/firqredis"
	"github.com/firq-go/firq/contrib/firqredis/embedded"
)

// Load describes the tasks: first all of the noisy tenant, then those of the quiet ones.
type Load struct {
	Noisy   int           // tasks of the noisy tenant
	Quiet   int           // quiet tenants
	Each    int           // tasks of each of them
	Workers int           //
	Work    time.Duration // a task takes so long
}

// Default takes a few seconds.
func Default() Load {
	return Load{Noisy: 300, Quiet: 5, Each: 4, Workers: 4, Work: 10 * time.Millisecond}
}

func (l Load) tasks() int { return l.Noisy + l.Quiet*l.Each }

// Side holds the results of one group of tenants.
type Side struct {
	Tasks    int
	P50, P99 time.Duration // from Enqueue to the handler
	Last     int           // which delivery, of all, was the group's last one
}

// Outcome holds the results of one round.
type Outcome struct{ Quiet, Noisy Side }

// Result is both rounds.
type Result struct {
	Load
	FIFO, Fair Outcome
}

// Run does both rounds, each with its own server.
func Run(ctx context.Context, l Load) (r Result, err error) {
	r.Load = l
	if r.FIFO, err = l.round(ctx, func(string) string { return "everybody" }); err != nil {
		return r, err
	}
	r.Fair, err = l.round(ctx, func(owner string) string { return owner })
	return r, err
}

const noisy = "noisy"

// round queues all tasks, and then lets the workers begin. tenant says under which name a user's tasks are
// queued.
func (l Load) round(ctx context.Context, tenant func(owner string) string) (o Outcome, err error) {
	q, err := embedded.New(ctx, firqredis.Config[string]{})
	if err != nil {
		return o, err
	}
	defer func() { _ = q.Close() }()
	var ts []firqredis.Task[string]
	add := func(owner string) { ts = append(ts, firqredis.Task[string]{Payload: owner, Tenant: tenant(owner)}) }
	for range l.Noisy {
		add(noisy)
	}
	for range l.Each {
		for i := range l.Quiet {
			add(fmt.Sprintf("quiet-%d", i+1))
		}
	}
	if _, err := q.EnqueueBatch(ctx, ts); err != nil {
		return o, err
	}
	var mu sync.Mutex
	var waits [2][]time.Duration // of the quiet, of the noisy
	var last [2]int
	n := 0
	running, done := context.WithCancel(ctx)
	defer done()
	err = firqredis.Run(running, q, func(ctx context.Context, it *firqredis.Item[string]) error {
		mu.Lock()
		side := 0
		if it.Payload == noisy {
			side = 1
		}
		n++
		waits[side] = append(waits[side], it.Wait)
		last[side] = n
		all := n == l.tasks()
		mu.Unlock()
		work(ctx, l.Work)
		if all {
			done()
		}
		return nil
	}, firqredis.RunOptions[string]{
		Concurrency: l.Workers, Logger: slog.New(slog.DiscardHandler),
		Grace: time.Millisecond, // a user who interrupts a demo does not want to wait for its work
	})
	if err == nil {
		err = ctx.Err()
	}
	o.Quiet, o.Noisy = side(waits[0], last[0]), side(waits[1], last[1])
	return o, err
}

// work takes its time.
func work(ctx context.Context, d time.Duration) {
	t := time.NewTimer(d)
	defer t.Stop()
	select {
	case <-t.C:
	case <-ctx.Done():
	}
}

func side(waits []time.Duration, last int) Side {
	slices.Sort(waits)
	at := func(part float64) time.Duration {
		if len(waits) == 0 {
			return 0
		}
		return waits[min(int(part*float64(len(waits))), len(waits)-1)]
	}
	return Side{Tasks: len(waits), P50: at(0.5), P99: at(0.99), Last: last}
}
