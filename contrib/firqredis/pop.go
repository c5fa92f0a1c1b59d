package firqredis

import (
	"context"
	"fmt"
	"strconv"
	"time"
)

// popped is what a partition has answered.
type popped[T any] struct {
	items []*Item[T]
	ready int64         // tenants that have tasks which can be delivered
	v     float64       // its virtual time
	began float64       // the same before these items
	next  time.Duration // until something is due; below 0: nothing is
	left  bool          // there may be more that is due
}

// unknown is the virtual time of the other partitions for a caller that does not look at them.
const unknown = -1

// pop takes up to n tasks from a partition, and brings in what is due there. With names or patterns: from
// those tenants only. A partition that was idle comes back to the virtual time of the others.
func (q *Queue[T]) pop(ctx context.Context, p, n int, others float64, names, patterns []string) (b popped[T], err error) {
	if len(names) > 0 {
		n = min(n, 1+1_000_000/len(names)) // the script looks at all of them for each task
	}
	args := make([]any, 0, 8+len(names)+len(patterns))
	now := q.settings()
	args = append(args, version, n, q.cfg.Lease.Microseconds(), now.MaxInFlightPerTenant, q.cfg.TenantIdle.Milliseconds(),
		part(now.MaxInFlight, q.cfg.Partitions, p), strconv.FormatFloat(others, 'g', 17, 64), len(names))
	for _, s := range names {
		args = append(args, s)
	}
	for _, s := range patterns {
		args = append(args, s)
	}
	for try := 0; ; try++ {
		r, err := q.run(ctx, popScript, p, args)
		if err != nil {
			return b, err
		}
		var bad []lost
		if b, bad, err = q.popped(p, r); err != nil {
			return b, err
		}
		for _, x := range bad {
			if len(x.why) > maxReason {
				x.why = x.why[:maxReason]
			}
			if _, err := q.cold(ctx, nackScript, p, x.lease, 0, x.why, "dead", 0); err != nil {
				if len(b.items) > 0 {
					break // it comes back when its lease has run out
				}
				return b, err
			}
		}
		if b.next != 0 {
			b.left = len(bad) > 0
			return b, nil
		}
		n, err := q.cold(ctx, maintainScript, p, dueAtOnce)
		if err != nil {
			if len(b.items) > 0 {
				return b, nil // the next call sees to it
			}
			return b, err
		}
		some, _ := n.(int64)
		b.left = some > 0
		if len(b.items) > 0 || some == 0 || try > 0 {
			b.next = time.Millisecond
			return b, nil
		}
	}
}

// lost is a delivery whose payload nobody can read.
type lost struct{ lease, why string }

func (q *Queue[T]) popped(p int, r any) (b popped[T], bad []lost, err error) {
	list, _ := r.([]any)
	const head = 5
	if len(list) < head || (len(list)-head)%3 != 0 {
		return b, nil, fmt.Errorf("firqredis: pop: a reply of %d parts", len(list))
	}
	text := func(i int) string { s, _ := list[i].(string); return s }
	b.ready, _ = list[1].(int64)
	b.v, _ = strconv.ParseFloat(text(2), 64)
	b.began, _ = strconv.ParseFloat(text(3), 64)
	now, _ := strconv.ParseInt(text(4), 10, 64)
	b.next = -1
	if due, _ := strconv.ParseInt(text(0), 10, 64); due >= 0 {
		b.next = max(0, time.Duration(due-now)*time.Microsecond)
	}
	until := time.UnixMicro(now).Add(q.cfg.Lease)
	for i := head; i < len(list); i += 3 {
		it, why := q.item(text(i), text(i+1), text(i+2), now)
		if why != nil {
			bad = append(bad, lost{it.lease(), why.Error()})
			continue
		}
		it.LeaseUntil = until
		b.items = append(b.items, it)
	}
	return b, bad, nil
}

// item makes a delivery of a task. If its payload cannot be read it returns the item without it.
func (q *Queue[T]) item(id, token, body string, now int64) (*Item[T], error) {
	it := &Item[T]{}
	it.ID = id
	it.Token, _ = strconv.ParseUint(token, 10, 64)
	s, err := parse(body)
	if it.Tenant = s.tenant; err != nil {
		return it, err
	}
	t, err := task[T](id, &s)
	if it.Task = t; err != nil {
		return it, err
	}
	it.Attempt = int(s.attempt) + 1
	it.Wait = max(0, time.Duration(now-s.due)*time.Microsecond)
	if s.keep {
		it.ends = s.unique
	}
	if it.Payload, err = q.decode([]byte(s.payload)); err != nil {
		return it, fmt.Errorf("payload: %w", err)
	}
	return it, nil
}
