package load

import (
	"context"
	"errors"
	"fmt"
	"sync"

	"github.com/firq-go/firq/internal/bench/contest"
)

// pingPong sends one task there on one queue and back on another. Whoever
// dequeues finds the queue empty and parks, so that the queue time is the time
// of a wake-up. Only the way there is recorded: after an idle spell the way back
// finds a processor that is still awake.
func (r *run) pingPong(cancel context.CancelFunc) (Result, error) {
	back, err := r.Contestant.New(r.config())
	if err != nil {
		return Result{}, err
	}
	defer back.Close()
	p, c := newProducer(r, 0), newConsumer(r, 0)
	var ping, pong sync.WaitGroup
	ping.Go(func() { r.ping(back, p) })
	returned := uint64(0)
	pong.Go(func() { returned = r.pong(back, c) })
	m := r.measure()
	err = r.finish(cancel, &ping, &pong, r.q, back)
	ps, cs := []*producer{p}, []*consumer{c}
	err = errors.Join(err, r.verify(ps, cs))
	if err == nil && returned != c.total {
		err = fmt.Errorf("%d tasks arrived, but %d went back", c.total, returned)
	}
	return r.result(m, ps, cs), err
}

// ping sends a task and waits until it is back.
func (r *run) ping(back contest.Queue, p *producer) {
	for phase := r.phase.Load(); phase != stopping; phase = r.phase.Load() {
		if r.Idle > 0 {
			sleep(r.ctx, r.Idle)
		}
		task := p.task(0)
		if !p.send(r.q, r.keys[0], &task, phase) {
			continue
		}
		if _, err := back.Dequeue(r.ctx); err != nil {
			if r.ctx.Err() == nil {
				r.fail(err)
			}
			return
		}
	}
}

// pong receives tasks, sends them back and returns how many it did.
func (r *run) pong(back contest.Queue, c *consumer) (returned uint64) {
	for {
		it, err := r.q.Dequeue(r.ctx)
		if err != nil {
			c.ended(err)
			return returned
		}
		c.take(&it)
		if err := back.EnqueueWait(r.ctx, it.Tenant, contest.Task{Payload: it.Payload}); err != nil {
			if r.ctx.Err() == nil {
				r.fail(err)
			}
			return returned
		}
		returned++
	}
}
