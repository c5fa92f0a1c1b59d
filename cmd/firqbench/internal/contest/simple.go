package contest

import (
	"cmp"
	"context"
	"math/bits"
	"sync"
	"time"

	"github.com/firq-go/firq"
)

// simple is the strongest plain queue that we could write in 100 lines of code: one
// mutex, a map, a ring of tasks per tenant, a ring of the tenants that have some, and
// round robin by task. A call reads the clock once, before it takes the mutex; an item
// has its queue time. Costs and deadlines are carried and not looked at. There are no
// quanta, priorities, limits per tenant, tickets or statistics, and no tenant is ever
// forgotten.
type simple struct {
	mu           sync.Mutex
	work, room   sync.Cond
	tenants      map[string]*simpleTenant
	last         *simpleTenant // of a ring of those that have tasks: last.next is served next
	queued, most int
	closed       bool
	ctx          context.Context // whose end wakes all callers
}

type simpleTenant struct {
	name    string
	next    *simpleTenant
	tasks   []simpleTask // a power of two of them
	head, n int
}

type simpleTask struct {
	payload      uint64
	cost         int64
	at, deadline time.Duration // by Now; deadline 0: none
}

// enqueue queues what there is room for.
func (s *simple) enqueue(name string, ts []Task) (n int, err error) {
	now := Now()
	s.mu.Lock()
	if n = min(len(ts), s.most-s.queued); s.closed {
		n, err = 0, firq.ErrClosed
	} else if n < len(ts) {
		err = firq.ErrGlobalFull
	}
	if n > 0 {
		s.push(name, ts[:n], now)
	}
	s.mu.Unlock()
	s.work.Signal() // hardly costs anything while no consumer sleeps
	return n, err
}

func (s *simple) push(name string, ts []Task, now time.Duration) {
	x := s.tenants[name]
	if x == nil {
		x = &simpleTenant{name: name}
		s.tenants[name] = x
	}
	if need := x.n + len(ts); need > len(x.tasks) {
		tasks := make([]simpleTask, 1<<bits.Len(uint(max(4, need)-1)))
		copy(tasks[copy(tasks, x.tasks[x.head:]):], x.tasks[:x.head])
		x.tasks, x.head = tasks, 0
	}
	for i := range ts {
		t := &x.tasks[(x.head+x.n+i)&(len(x.tasks)-1)]
		*t = simpleTask{payload: ts[i].Payload, cost: max(1, ts[i].Cost), at: now}
		if !ts[i].Deadline.IsZero() {
			t.deadline = OnClock(ts[i].Deadline)
		}
	}
	if x.n == 0 && s.last == nil {
		x.next, s.last = x, x
	} else if x.n == 0 {
		x.next, s.last.next, s.last = s.last.next, x, x
	}
	x.n, s.queued = x.n+len(ts), s.queued+len(ts)
}

// dequeue fills dst with what is there. With a context it waits until something is.
func (s *simple) dequeue(ctx context.Context, dst []Item) (n int, err error) {
	now := Now()
	s.mu.Lock()
	for s.queued == 0 && ctx != nil {
		if s.closed || ctx.Err() != nil {
			s.mu.Unlock()
			return 0, cmp.Or(ctx.Err(), firq.ErrClosed)
		}
		s.sleep(ctx, &s.work)
		now = Now()
	}
	if s.queued >= s.most {
		s.room.Broadcast()
	}
	for ; n < len(dst) && s.queued > 0; n++ {
		s.pop(&dst[n], now)
	}
	if s.queued > 0 {
		s.work.Signal()
	}
	s.mu.Unlock()
	return n, nil
}

func (s *simple) pop(it *Item, now time.Duration) {
	x := s.last.next
	t := &x.tasks[x.head]
	it.Tenant, it.Payload, it.Cost, it.Wait = x.name, t.payload, t.cost, max(0, now-t.at)
	if t.deadline != 0 {
		it.Deadline = TimeAt(t.deadline)
	}
	x.head, x.n, s.queued = (x.head+1)&(len(x.tasks)-1), x.n-1, s.queued-1
	if x.n > 0 {
		s.last = x // to the end of the ring
	} else if x == s.last {
		s.last = nil
	} else {
		s.last.next = x.next
	}
}
