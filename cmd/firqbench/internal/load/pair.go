package load

import (
	"errors"
	"sync"
)

// pair is one goroutine that enqueues a task and takes it out again, the
// tenants in turn. No window is needed: one task is under way at a time.
func (r *run) pair() (Result, error) {
	if err := r.prime(); err != nil {
		return Result{}, err
	}
	p, c := newProducer(r, 0), newConsumer(r)
	turn := -1
	p.pick = func(*producer) int {
		if turn++; turn == r.s.Tenants {
			turn = 0
		}
		return turn
	}
	var wg sync.WaitGroup
	wg.Go(func() {
		defer r.ended()
		for phase := r.phase.Load(); phase != stopping && !r.enough(p.accepted); phase = r.phase.Load() {
			r.work.Do(&p.line)
			tenant := p.pick(p)
			task := p.task(tenant)
			if !p.send(r.q, tenant, &task, p.counts(phase)) {
				continue
			}
			it, err := r.q.Dequeue(r.ctx)
			if err != nil {
				c.ended(err)
				return
			}
			c.take(&it)
		}
	})
	m := r.measure()
	wg.Wait()
	ps, cs := []*producer{p}, []*consumer{c}
	return r.result(m, ps, cs), errors.Join(r.failure, r.verify(ps, cs))
}
