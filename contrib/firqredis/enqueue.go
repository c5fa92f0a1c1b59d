package firqredis

import (
	"context"
	"errors"
	"fmt"
	"sync"
	"time"

	"github.com/firq-go/firq"
)

// push is a task that a call of Enqueue or EnqueueBatch sends.
type push struct {
	args  []any // of the script
	bytes int
	ctx   context.Context // of the call
	at    int             // its place in the call
	to    *pushes
}

// pushes collects the outcome of a call.
type pushes struct {
	results []Result
	left    chan int // gets the index of each task whose outcome is known

	mu     sync.Mutex
	queued map[int]Result // those that wait for replicas
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

// EnqueueBatch is Enqueue for several tasks, which are spread over as many scripts as it takes: it is
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
	var failed []error
	for _, r := range rs {
		if r.Err != nil {
			failed = append(failed, &TaskError{r.ID, r.Err})
		}
	}
	return rs, errors.Join(failed...)
}

func (q *Queue[T]) enqueue(ctx context.Context, name string, ts []Task[T]) ([]Result, error) {
	if err := q.call(ctx, name); err != nil {
		return nil, err
	}
	to := &pushes{results: make([]Result, len(ts)), left: make(chan int, len(ts))}
	each := make([][]push, q.cfg.Partitions)
	open := 0
	for i := range ts {
		args, id, tenant, err := q.pushArgs(&ts[i])
		if to.results[i] = (Result{id, err}); err != nil {
			continue
		}
		p := q.partitionOf(tenant)
		size := 0
		for _, a := range args {
			if s, ok := a.(string); ok {
				size += len(s)
			}
		}
		each[p] = append(each[p], push{args, size, ctx, i, to})
		open++
	}
	for p := range each {
		if len(each[p]) > 0 && !q.pushes[p].add(each[p]...) { // others may be on their way
			for _, x := range each[p] {
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
			if rs[p.at], there = to.queued[p.at]; !there {
				id, _ := p.args[1].(string)
				rs[p.at] = Result{id, ctx.Err()}
			} else if rs[p.at].Err == nil {
				rs[p.at].Err = fmt.Errorf("%w: %w", ErrNotReplicated, ctx.Err())
			}
		}
	}
	return rs
}

// pushArgs returns the script's arguments for a task.
func (q *Queue[T]) pushArgs(raw *Task[T]) (args []any, id, tenant string, err error) {
	t, err := q.check(*raw)
	if err != nil {
		return nil, t.ID, t.Tenant, err
	}
	m, err := metaOf(&t)
	if err != nil {
		return nil, t.ID, t.Tenant, invalidTask("Headers: %v", err)
	}
	payload, err := q.encode(t.Payload, t.Headers)
	if err != nil {
		return nil, t.ID, t.Tenant, err
	}
	var due, deadline int64
	if !t.At.IsZero() {
		due = max(t.At.UnixMicro(), 1)
	}
	if !t.Deadline.IsZero() {
		deadline = max(t.Deadline.UnixMicro(), 1)
	}
	extras := ""
	if due != 0 || t.Delay != 0 || t.UniqueKey != "" {
		extras = fmt.Sprintf("%d,%d,%d,%s", due, ceil(t.Delay, time.Microsecond), ceil(min(t.UniqueFor, forEver), time.Millisecond), t.UniqueKey)
	}
	return []any{t.Tenant, t.ID, int(t.Priority), q.weight(t.Tenant), body(&t, deadline, m, payload), extras}, t.ID, t.Tenant, nil
}

// forEver is as long as every server can keep a key for.
const forEver = 100 * 365 * 24 * time.Hour

// ceil returns d in units, rounded up.
func ceil(d, unit time.Duration) int64 {
	n := int64(d / unit)
	if d%unit > 0 {
		n++
	}
	return n
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

// pushOn returns a function that sends tasks to a partition.
func (q *Queue[T]) pushOn(p int) func([]push) {
	return func(all []push) {
		ps := all[:0:0]
		for _, x := range all { // whose call was given up is not sent
			if err := x.ctx.Err(); err == nil {
				ps = append(ps, x)
			} else {
				x.to.results[x.at].Err = err
				x.to.left <- x.at
			}
		}
		if len(ps) == 0 {
			return
		}
		args := make([]any, 0, 6+7*len(ps))
		now := q.settings()
		args = append(args, version, now.PriorityAging.Microseconds(), now.MaxQueuedPerTenant, now.MaxInFlightPerTenant,
			q.cfg.TenantIdle.Milliseconds(), part(now.MaxQueued, q.cfg.Partitions, p))
		for i := range ps {
			args = append(args, ps[i].args...)
		}
		r, err := q.pushNow(p, args, ps)
		list, _ := r.([]any)
		for i := range ps {
			res := &ps[i].to.results[ps[i].at]
			switch {
			case i < len(list):
				res.Err = pushed(list[i], res)
				if res.Err == nil {
					res.Err = err // of WAIT
				}
			case err != nil:
				res.Err = err
			default:
				res.Err = fmt.Errorf("firqredis: push: %d replies for %d tasks", len(list), len(ps))
			}
			ps[i].to.left <- ps[i].at
		}
	}
}

// pushed translates a reply of the script.
func pushed(reply any, r *Result) error {
	switch n := reply.(type) {
	case string:
		r.ID = n
		return ErrDuplicate
	case int64:
		switch n {
		case 0, 1:
			return nil
		case -1:
			return ErrTenantFull
		case -2:
			return ErrFull
		}
	}
	return fmt.Errorf("firqredis: push: the reply is %v", reply)
}
