package queue

import (
	"context"
	"fmt"
	"sync"

	"github.com/firq-go/firq"
)

// Push is a task on its way to an engine.
type Push struct {
	Raw
	ctx context.Context // of the call
	to  *pushes
	at  int // its place in the call

	later bool
}

// Later says, before Engine.Push returns, that its outcome comes by Answer, and not with those of the others: it may take long. It
// must come before the engine's Close returns.
func (p *Push) Later() { p.later = true }

// Answer tells the call the outcome, after Later; once.
func (p *Push) Answer(r Result) {
	p.to.results[p.at] = r
	p.to.left <- p.at
}

// Wanted reports whether the call still waits for the outcome.
func (p *Push) Wanted() bool { return p.ctx.Err() == nil }

// Known tells the call the outcome that it shall have if it ends before Push returns. A task that is queued then, or whose ID
// is known, is not replicated: its Err becomes ErrNotReplicated.
func (p *Push) Known(r Result) {
	p.to.mu.Lock()
	defer p.to.mu.Unlock()
	if p.to.known == nil {
		p.to.known = map[int]Result{}
	}
	p.to.known[p.at] = r
}

// push is what the batchers have.
type push struct{ *Push }

// bytes is how much of MaxBytes a task takes.
func (p *push) bytes() int {
	n := len(p.Payload) + len(p.Tenant) + len(p.ID) + len(p.UniqueKey)
	for name, value := range p.Headers {
		n += len(name) + len(value)
	}
	return n
}

// pushes collects the outcome of a call.
type pushes struct {
	results []Result
	left    chan int // gets the index of each task whose outcome is known

	mu    sync.Mutex
	known map[int]Result
}

// Result is the outcome of one task of a call.
type Result struct {
	ID  string
	Err error
}

// Enqueue queues a task and returns its id. If the error is a network's, or ctx ends, its outcome is
// open: the same ID again is the same task. Besides the sentinels of this package it returns
// firq.ErrInvalidTask and firq.ErrClosed.
func (q *Queue[T]) Enqueue(ctx context.Context, t Task[T]) (id string, err error) {
	rs, err := q.enqueue(ctx, "Enqueue", []Task[T]{t})
	if rs == nil {
		return "", err
	}
	return rs[0].ID, rs[0].Err
}

// EnqueueBatch is Enqueue for several tasks, which are spread over as many round trips as it takes: it is
// not atomic. It returns a Result for each; the error joins theirs, as TaskErrors.
func (q *Queue[T]) EnqueueBatch(ctx context.Context, ts []Task[T]) ([]Result, error) {
	rs, err := q.enqueue(ctx, "EnqueueBatch", ts)
	if rs == nil {
		rs = make([]Result, len(ts))
		for i := range rs {
			rs[i] = Result{ts[i].ID, err}
		}
		return rs, err
	}
	return rs, Failed(rs)
}

func (q *Queue[T]) enqueue(ctx context.Context, name string, ts []Task[T]) ([]Result, error) {
	if err := q.call(ctx, name); err != nil {
		return nil, err
	}
	to := &pushes{results: make([]Result, len(ts)), left: make(chan int, len(ts))}
	all := make([]Push, len(ts))
	each := make([][]push, q.traits.Lanes)
	open := 0
	for i := range ts {
		raw, err := RawOf(q, ts[i])
		if to.results[i] = (Result{raw.ID, err}); err != nil {
			continue
		}
		lane := q.engine.Lane(raw.Tenant)
		all[i] = Push{Raw: raw, ctx: ctx, to: to, at: i}
		each[lane] = append(each[lane], push{&all[i]})
		open++
	}
	for lane := range each {
		if len(each[lane]) > 0 && !q.pushes[lane].add(each[lane]...) { // others may be on their way
			for _, x := range each[lane] {
				to.results[x.at].Err = firq.ErrClosed
				to.left <- x.at
			}
		}
	}
	through := make([]bool, len(ts))
	for range open {
		select {
		case i := <-to.left:
			through[i] = true
		case <-ctx.Done():
			return q.abandoned(ctx, to, through, each), nil
		}
	}
	return to.results, nil
}

// abandoned returns the results of a call whose context has ended: those that are known, and for the
// others an error that says that the outcome is open.
func (q *Queue[T]) abandoned(ctx context.Context, to *pushes, through []bool, each [][]push) []Result {
	rs := make([]Result, len(through))
	waiting := make([]bool, len(through))
	for _, ps := range each {
		for _, p := range ps {
			waiting[p.at] = !through[p.at]
		}
	}
	for i := range rs {
		if !waiting[i] {
			rs[i] = to.results[i]
		}
	}
	to.mu.Lock()
	defer to.mu.Unlock()
	for _, ps := range each {
		for _, p := range ps {
			if !waiting[p.at] {
				continue
			}
			var there bool
			if rs[p.at], there = to.known[p.at]; !there {
				rs[p.at] = Result{p.ID, ctx.Err()}
			} else if rs[p.at].Err == nil {
				rs[p.at].Err = fmt.Errorf("%w: %w", ErrNotReplicated, ctx.Err())
			}
		}
	}
	return rs
}

// RawOf returns a task as an engine gets it. It is for engines that have other ways to enqueue. With an error ID is set as far as it is known.
func RawOf[T any](q *Queue[T], t Task[T]) (raw Raw, err error) {
	t, err = q.check(t)
	raw.ID, raw.Tenant = t.ID, t.Tenant
	if err != nil {
		return raw, err
	}
	payload, err := q.encode(t.Payload, t.Headers)
	if err != nil {
		return raw, err
	}
	t.Deadline, t.TTL = deadline(t.Deadline, t.TTL), 0
	raw.Task, raw.Weight = withPayload(&t, payload), q.weight(t.Tenant)
	return raw, nil
}

// withPayload returns a task with another payload.
func withPayload[A, B any](t *Task[A], payload B) Task[B] {
	return Task[B]{
		Payload: payload, Tenant: t.Tenant, ID: t.ID, UniqueKey: t.UniqueKey, UniqueFor: t.UniqueFor, Cost: t.Cost, Priority: t.Priority,
		Delay: t.Delay, At: t.At, Deadline: t.Deadline, MaxAttempts: t.MaxAttempts, KeepResult: t.KeepResult, Headers: t.Headers,
	}
}

// encode returns a payload as it is stored. With the headers it may have MaxPayload bytes.
func (q *Queue[T]) encode(v T, headers map[string]string) ([]byte, error) {
	b, err := q.cfg.Codec.Encode(v)
	if err != nil {
		return nil, invalidTask("Payload: %v", err)
	}
	n := len(b)
	for name, value := range headers {
		n += len(name) + len(value)
	}
	if n > q.cfg.MaxPayload {
		return nil, fmt.Errorf("%w: %d bytes, at most %d", ErrPayloadTooLarge, n, q.cfg.MaxPayload)
	}
	return b, nil
}

// pushOn returns a function that sends tasks of a lane.
func (q *Queue[T]) pushOn(lane int) func([]push) {
	return func(all []push) {
		ps := make([]*Push, 0, len(all))
		for _, x := range all { // whose call was given up is not sent
			if err := x.ctx.Err(); err == nil {
				ps = append(ps, x.Push)
			} else {
				x.to.results[x.at].Err = err
				x.to.left <- x.at
			}
		}
		if len(ps) == 0 {
			return
		}
		rs, err := q.engine.Push(context.Background(), lane, ps)
		for i, p := range ps {
			if p.later {
				continue
			}
			res := &p.to.results[p.at]
			switch {
			case err != nil: // also with replies: a transaction may have made them, and its commit failed
				res.Err = err
			case i < len(rs):
				*res = rs[i]
			default:
				res.Err = fmt.Errorf("queue: push: %d replies for %d tasks", len(rs), len(ps))
			}
			p.to.left <- p.at
		}
	}
}
