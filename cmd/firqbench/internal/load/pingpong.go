package load

import (
	"context"
	"errors"
	"fmt"
	"runtime"
	"sync"
	"sync/atomic"
	"time"

	"github.com/firq-go/firq/cmd/firqbench/internal/contest"
)

// wakeups measures the wake-up of a consumer that waits on an empty queue: the
// queue time of a task is then the time that it takes. It comes in two variants.
//
// Back to back: the task returns on a second queue, whose consumer is the
// producer of the first one. Both are asleep most of the time, but the
// processor is not: Go runs the woken goroutine where the waking one stops.
//
// Idle: the producer sleeps first, so that the processors fall asleep, and keeps
// running when it has enqueued the task, so that the consumer needs a processor
// for itself. That is what a request to an idle service meets.
type wakeups struct {
	r    *run
	back contest.Queue // nil in the idle variant
	p    *producer
	c    *consumer

	_        [64]byte
	answered atomic.Uint64 // tasks that the consumer has done with
	_        [64]byte
}

func (r *run) pingPong(cancel context.CancelFunc) (Result, error) {
	w := &wakeups{r: r, p: newProducer(r, 0), c: newConsumer(r)}
	queues := []contest.Queue{r.q}
	if r.Idle == 0 {
		back, err := r.Contestant.New(r.config())
		if err != nil {
			return Result{}, err
		}
		defer back.Close() //nolint:errcheck // always nil
		w.back = back
		queues = append(queues, back)
	}
	var ping, pong sync.WaitGroup
	ping.Go(w.ping)
	pong.Go(w.pong)
	m := r.measure()
	err := r.finish(cancel, &ping, &pong, queues...)
	ps, cs := []*producer{w.p}, []*consumer{w.c}
	err = errors.Join(err, r.verify(ps, cs))
	if n := w.answered.Load(); err == nil && n != w.c.total {
		err = fmt.Errorf("%d tasks arrived, but %d were answered", w.c.total, n)
	}
	return r.result(m, ps, cs), err
}

// ping sends a task and waits for the answer.
func (w *wakeups) ping() {
	r := w.r
	defer r.ended()
	for phase := r.phase.Load(); phase != stopping && !r.enough(w.p.accepted); phase = r.phase.Load() {
		if r.Idle > 0 {
			time.Sleep(r.Idle)
			phase = r.phase.Load()
		}
		task := w.p.task(0)
		if !w.p.send(r.q, 0, &task, w.p.counts(phase)) {
			continue
		}
		if w.back == nil {
			w.keepRunning()
		} else if _, err := w.back.Dequeue(r.ctx); err != nil {
			if r.ctx.Err() == nil {
				r.fail(err)
			}
			return
		}
	}
}

// keepRunning waits for the answer without giving the processor away, for a
// while: with one processor the consumer would wait for it until Go takes it
// away, and with none free it is not idle any more.
func (w *wakeups) keepRunning() {
	const limit = 5 * time.Millisecond
	start := contest.Now()
	for w.answered.Load() < w.p.accepted && w.r.ctx.Err() == nil {
		if contest.Now()-start > limit {
			runtime.Gosched()
		}
	}
}

// pong receives tasks and answers them.
func (w *wakeups) pong() {
	r := w.r
	for {
		it, err := r.q.Dequeue(r.ctx)
		if err != nil {
			w.c.ended(err)
			return
		}
		w.c.take(&it)
		w.answered.Add(1)
		if w.back == nil {
			continue
		}
		if err := w.back.EnqueueWait(r.ctx, it.Tenant, contest.Task{Payload: it.Payload}); err != nil {
			if r.ctx.Err() == nil {
				r.fail(err)
			}
			return
		}
	}
}
