package firqredis

import (
	"context"
	"fmt"
	"time"

	"github.com/firq-go/firq/queue"
)

// Push is of queue.Engine.
func (e *engine) Push(ctx context.Context, p int, ps []*queue.Push) ([]queue.Result, error) {
	args := make([]any, 0, 6+6*len(ps))
	now := e.settings()
	args = append(args, version, now.PriorityAging.Microseconds(), now.MaxQueuedPerTenant, now.MaxInFlightPerTenant,
		e.o.TenantIdle.Milliseconds(), part(now.MaxQueued, e.partitions, p))
	for _, x := range ps {
		m, err := metaOf(&x.Task)
		if err != nil { // not of a time or text that the checks let through
			return nil, err
		}
		extras := ""
		if !x.At.IsZero() || x.Delay != 0 || x.UniqueKey != "" {
			extras = fmt.Sprintf("%d,%d,%d,%s", micros(x.At), ceil(x.Delay, time.Microsecond), keyFor(x.UniqueFor), x.UniqueKey)
		}
		args = append(args, x.Tenant, x.ID, int(x.Priority), weight(x.Weight), body(&x.Task, micros(x.Deadline), m, x.Payload), extras)
	}
	r, err := e.pushNow(ctx, p, args, ps)
	list, ok := r.([]any)
	switch {
	case !ok && err == nil:
		err = fmt.Errorf("firqredis: push: the reply is %v", r)
		fallthrough
	case !ok:
		return nil, err
	case len(list) != len(ps):
		return nil, fmt.Errorf("firqredis: push: %d replies for %d tasks", len(list), len(ps))
	}
	rs := make([]queue.Result, len(ps))
	for i := range ps {
		if rs[i] = pushed(list[i], ps[i].ID); rs[i].Err == nil {
			rs[i].Err = err // of WAIT
		}
	}
	return rs, nil
}

// pushed translates a reply of the script.
func pushed(reply any, id string) queue.Result {
	switch n := reply.(type) {
	case string:
		return queue.Result{ID: n, Err: ErrDuplicate}
	case int64:
		switch n {
		case 0, 1:
			return queue.Result{ID: id}
		case -1:
			return queue.Result{ID: id, Err: ErrTenantFull}
		case -2:
			return queue.Result{ID: id, Err: ErrFull}
		}
	}
	return queue.Result{ID: id, Err: fmt.Errorf("firqredis: push: the reply is %v", reply)}
}

// micros returns a time as the scripts have it; 0: it is not set.
func micros(t time.Time) int64 {
	if t.IsZero() {
		return 0
	}
	return max(t.UnixMicro(), 1)
}

// keyFor returns for how many ms a unique key is kept; 0: as long as the task.
func keyFor(d time.Duration) int64 {
	const forEver = 100 * 365 * 24 * time.Hour // as long as every server can keep a key for
	return ceil(min(d, forEver), time.Millisecond)
}

// ceil returns d in units, rounded up.
func ceil(d, unit time.Duration) int64 {
	n := int64(d / unit)
	if d%unit > 0 {
		n++
	}
	return n
}
