// Package gap measures how far one tenant gets ahead of another: the largest
// difference of what two equal tenants were served, over any interval in which both
// had work queued throughout. Package fairness of firq does the arithmetic.
//
// # How
//
// All tasks are queued before the first one is served, the tenants' one after the
// other, so that the order of arrival is as unfair as it can be: first in, first out
// has a gap of all tasks of a tenant. As many consumers as the throughput was
// measured with then take everything.
//
// Contestants with their own workers begin immediately, and some keep a few tasks
// where they are past choosing. So a tenant that is not looked at comes first, with
// more tasks than that, and the workers wait at its tasks until all are queued.
//
// # When a task was served
//
// A consumer knows only that it was during its call. What comes out is the least
// that the gap must have been: never too much, and exact with one consumer. A
// peers.Dispatcher tells its order itself.
package gap

import (
	"context"
	"errors"
	"fmt"
	"sync"
	"sync/atomic"
	"time"

	"github.com/firq-go/firq"
	"github.com/firq-go/firq/cmd/firqbench/internal/contest"
	"github.com/firq-go/firq/cmd/firqbench/peers/internal/peers"
	"github.com/firq-go/firq/internal/proof/fairness"
)

// Result is what was found.
type Result struct {
	Gap   int64 `json:"gap"`   // tasks; all of them cost 1
	Tasks int   `json:"tasks"` // of each tenant: the gap can be no larger
}

const (
	plug      = 512 // tasks of the tenant that comes first: more than any contestant holds past choosing
	plugName  = "plug"
	plugTask  = 1 << 40 // payload; others have the index of their tenant
	timeLimit = 2 * time.Minute
)

// Tasks returns how many tasks of each tenant are enough to see something, and few
// enough to wait for. Of a slow contestant it asks less where there are many
// tenants.
func Tasks(tenants int, slow bool) int {
	if slow && tenants > 1000 {
		return 4
	}
	return min(256, max(16, 1<<16/tenants))
}

// Measure lets c serve the given number of tasks of each of the given number of tenants with that many
// consumers.
func Measure(ctx context.Context, c contest.Contestant, tenants, tasks, consumers int) (Result, error) {
	ctx, cancel := context.WithTimeout(ctx, timeLimit)
	defer cancel()
	q, err := c.New(contest.Config{MaxGlobal: plug + tenants*tasks})
	if err != nil {
		return Result{}, err
	}
	defer q.Close() //nolint:errcheck // always nil
	r := &run{q: q, tenants: tenants, tasks: tasks, gate: make(chan struct{})}
	for i := range tenants {
		r.names = append(r.names, fmt.Sprintf("tenant-%06d", i))
	}
	if p, ok := q.(contest.Primer); ok {
		if err := p.Prime(ctx, append([]string{plugName}, r.names...)); err != nil {
			return Result{}, fmt.Errorf("%s: prime: %w", c.Name, err)
		}
	}
	serve := r.pull
	if runner, ok := q.(contest.Runner); ok {
		r.hire(runner, consumers)
		serve = r.push
	}
	if err := r.fill(ctx); err != nil {
		return Result{}, fmt.Errorf("%s: fill: %w", c.Name, err)
	}
	if err := serve(ctx, consumers); err != nil {
		return Result{}, fmt.Errorf("%s: serve: %w", c.Name, err)
	}
	if ctx.Err() != nil {
		return Result{}, ctx.Err()
	}
	if got := len(r.log); got != tenants*tasks {
		return Result{}, fmt.Errorf("%s: %d tasks queued, %d served", c.Name, tenants*tasks, got)
	}
	return Result{r.widest(), tasks}, nil
}

// run is a measurement.
type run struct {
	q              contest.Queue
	tenants, tasks int
	names          []string
	gate           chan struct{} // closed when all are queued
	now            atomic.Int64
	mu             sync.Mutex // of push
	log            []fairness.Delivery
}

// fill queues everything. Enqueue may block where a peer's does; there is room.
func (r *run) fill(ctx context.Context) error {
	for range plug {
		if err := r.enqueue(ctx, plugName, plugTask); err != nil {
			return err
		}
	}
	for i, name := range r.names {
		for range r.tasks {
			if err := r.enqueue(ctx, name, uint64(i)); err != nil {
				return err
			}
		}
	}
	return nil
}

// enqueue does not wait for room unless it has to: Temporal's Submit waits for the
// stage behind the round robin, and no goroutine takes anything out of that yet.
func (r *run) enqueue(ctx context.Context, tenant string, payload uint64) error {
	t := contest.Task{Payload: payload}
	err := r.q.Enqueue(tenant, t)
	if errors.Is(err, firq.ErrRejected) {
		err = r.q.EnqueueWait(ctx, tenant, t)
	}
	return err
}

// pull takes everything with the given number of consumers.
func (r *run) pull(ctx context.Context, consumers int) error {
	var left atomic.Int64
	left.Store(int64(plug + r.tenants*r.tasks))
	logs := make([][]fairness.Delivery, consumers)
	errs := make([]error, consumers)
	var all sync.WaitGroup
	for c := range consumers {
		all.Go(func() {
			for left.Add(-1) >= 0 {
				began := int(r.now.Add(1))
				it, err := r.q.Dequeue(ctx)
				ended := int(r.now.Add(1))
				if err != nil {
					errs[c] = err
					return
				}
				if it.Payload != plugTask {
					logs[c] = append(logs[c], fairness.Delivery{Tenant: int(it.Payload), Cost: 1, Began: began, Ended: ended})
				}
			}
		})
	}
	all.Wait()
	for c := range consumers {
		if errs[c] != nil {
			return errs[c]
		}
		r.log = append(r.log, logs[c]...)
	}
	return nil
}

// hire lets the contestant's workers begin, and wait at the gate.
func (r *run) hire(q contest.Runner, workers int) {
	note := func(payload uint64) {
		if payload == plugTask {
			return
		}
		r.mu.Lock()
		at := int(r.now.Add(1))
		r.log = append(r.log, fairness.Delivery{Tenant: int(payload), Cost: 1, Began: at, Ended: at})
		r.mu.Unlock()
	}
	d, tells := q.(peers.Dispatcher)
	if tells {
		d.Exact(note)
	}
	q.Serve(workers, func(it *contest.Item) {
		<-r.gate
		if !tells {
			note(it.Payload)
		}
	})
}

// push lets the workers go on until all is done.
func (r *run) push(ctx context.Context, _ int) error {
	close(r.gate)
	return r.q.Shutdown(ctx)
}

// widest returns the largest gap of any two tenants.
func (r *run) widest() (most int64) {
	tenants := make([]fairness.Tenant, r.tenants)
	for i := range tenants {
		tenants[i] = fairness.Tenant{Quantum: 1, Costliest: 1, Tasks: r.tasks}
	}
	gaps := fairness.Measure(tenants, r.log)
	for i := range tenants {
		for j := range i {
			most = max(most, gaps.Gap(i, j))
		}
	}
	return most
}
