package firqredis

import (
	"context"
	"fmt"
	"strconv"
	"time"
)

// popping holds the arguments of a pop.
type popping struct {
	n, bytes int     // at most n tasks; the fetch ends when they have this many bytes
	others   float64 // the virtual time of the other partitions, or unknown
	// Without both from all tenants; else from the named tenants first, then from those that match a pattern. These are looked for
	// from a rank on.
	names, patterns []string
	rank            int
}

// unknown is the virtual time of the other partitions for a caller that does not look at them.
const unknown = -1

// popped holds the reply of a pop.
type popped[T any] struct {
	items []*Item[T]
	ready int64         // tenants that have tasks which can be delivered
	v     float64       // its virtual time
	began float64       // the same before these items
	next  time.Duration // until something is due; below 0: nothing is
	left  bool          // there may be more that is due
	rank  int           // from where on more tenants may match; below 0: there are none
}

// pop does the upkeep of a partition, and takes tasks. A partition that was idle comes back to the virtual time of the
// others.
func (q *Queue[T]) pop(ctx context.Context, p int, x popping) (b popped[T], err error) {
	args := make([]any, 0, 8+len(x.names)+len(x.patterns))
	args = append(args, dueAtOnce, version, x.n, q.cfg.Lease.Microseconds(), x.bytes, strconv.FormatFloat(x.others, 'g', 17, 64), x.rank, len(x.names))
	for _, s := range x.names {
		args = append(args, s)
	}
	for _, s := range x.patterns {
		args = append(args, s)
	}
	r, err := q.runWithSettings(ctx, popScript, p, args...)
	if err != nil {
		return b, err
	}
	b, bad, err := q.popped(p, r)
	if err != nil {
		return b, err
	}
	b.left = len(bad) > 0 || b.next == 0
	for _, x := range bad {
		if len(x.why) > maxReason {
			x.why = x.why[:maxReason]
		}
		if _, err := q.runWithSettings(ctx, nackScript, p, x.lease, 0, x.why, "dead", 0); err != nil {
			if len(b.items) > 0 {
				break // it comes back when its lease has run out
			}
			return b, err
		}
	}
	return b, nil
}

// lost is a delivery whose payload the codec cannot read.
type lost struct{ lease, why string }

func (q *Queue[T]) popped(p int, r any) (b popped[T], bad []lost, err error) {
	list, _ := r.([]any)
	const head = 6
	if len(list) < head || (len(list)-head)%3 != 0 {
		return b, nil, fmt.Errorf("firqredis: pop: a reply of %d parts", len(list))
	}
	text := func(i int) string { s, _ := list[i].(string); return s }
	b.ready, _ = list[1].(int64)
	b.v, _ = strconv.ParseFloat(text(2), 64)
	b.began, _ = strconv.ParseFloat(text(3), 64)
	now, _ := strconv.ParseInt(text(4), 10, 64)
	b.rank = int(number(list[5]))
	b.next = -1
	if due, _ := strconv.ParseInt(text(0), 10, 64); due >= 0 {
		b.next = max(0, time.Duration(due-now)*time.Microsecond)
	}
	until := time.UnixMicro(now).Add(q.cfg.Lease)
	at := head
	read := func() {
		for ; at < len(list); at += 3 {
			it, why := q.item(text(at), text(at+1), text(at+2), now, q.decode)
			if why != nil {
				bad = append(bad, lost{it.lease(), why.Error()})
				continue
			}
			it.LeaseUntil = until
			b.items = append(b.items, it)
		}
	}
	for at < len(list) {
		if exits(read) { // the codec did, and this goroutine fetches for all consumers
			s, _ := parse(text(at + 2))
			bad = append(bad, lost{text(at) + "\n" + text(at+1) + "\n" + s.tenant, "payload: " + errExits.Error()})
			at += 3
		}
	}
	return b, bad, nil
}

// item returns a delivery of a task; without the payload if the codec cannot read that.
func (q *Queue[T]) item(id, token, body string, now int64, decode func([]byte) (T, error)) (*Item[T], error) {
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
	if it.Payload, err = decode([]byte(s.payload)); err != nil {
		return it, fmt.Errorf("payload: %w", err)
	}
	return it, nil
}
