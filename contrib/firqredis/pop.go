package firqredis

import (
	"context"
	"fmt"
	"strconv"
	"time"

	"github.com/firq-go/firq/queue"
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
type popped struct {
	ds    []queue.Delivery
	ready int64         // tenants that have tasks which can be delivered
	v     float64       // its virtual time
	began float64       // the same before these deliveries
	next  time.Duration // until something is due; below 0: nothing is
	rank  int           // from where on more tenants may match; below 0: there are none
}

// pop does the upkeep of a partition, and takes tasks. A partition that was idle comes back to the virtual time of the
// others.
func (e *engine) pop(ctx context.Context, p int, x popping) (b popped, err error) {
	args := make([]any, 0, 9+len(x.names)+len(x.patterns))
	args = append(args, dueAtOnce, version, x.n, e.o.Lease.Microseconds(), x.bytes, strconv.FormatFloat(x.others, 'g', 17, 64), x.rank, len(x.names),
		limitText(e.settings().RatePerTenant))
	args = append(append(args, anys(x.names)...), anys(x.patterns)...)
	r, err := e.runWithSettings(ctx, popScript, p, args...)
	if err != nil {
		return b, err
	}
	return e.popped(r)
}

func (e *engine) popped(r any) (b popped, err error) {
	list, _ := r.([]any)
	const head = 6
	if len(list) < head || (len(list)-head)%3 != 0 {
		return b, fmt.Errorf("firqredis: pop: a reply of %d parts", len(list))
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
	until := time.UnixMicro(now).Add(e.o.Lease)
	b.ds = make([]queue.Delivery, 0, (len(list)-head)/3)
	for at := head; at < len(list); at += 3 {
		b.ds = append(b.ds, delivery(text(at), text(at+1), text(at+2), now, until))
	}
	return b, nil
}

// delivery returns a delivery of a stored task.
func delivery(id, token, body string, now int64, until time.Time) (d queue.Delivery) {
	s, err := parse(body)
	if err == nil {
		d.Task, err = task(id, &s)
	}
	d.ID, d.Tenant, d.Err, d.LeaseUntil = id, s.tenant, err, until
	d.Token, _ = strconv.ParseUint(token, 10, 64)
	d.Attempt = int(s.attempt) + 1
	d.Wait = max(0, time.Duration(now-s.due)*time.Microsecond)
	d.Payload = []byte(s.payload)
	return d
}
