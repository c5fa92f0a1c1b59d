package contest

import (
	"math/bits"
	"sync"
	"sync/atomic"
	"time"

	"github.com/firq-go/firq"
	"github.com/firq-go/firq/internal/core/pad"
)

// ring is a bounded queue for many producers and, under mu, one consumer at a
// time, after Vyukov's: a ticket is the right to a slot, a slot says by its
// sequence number which ticket's task is in it.
//
// There are as many slots as all rings together may hold tasks, and a producer
// reserves a place before it draws a ticket; the place is given back after the
// slot was emptied. So the slot of a new ticket is always free, and producers need
// not look.
type ring struct {
	slots []slot // immutable, a power of two
	mask  uint64
	_     pad.Pad
	tail  atomic.Uint64 // the next ticket; producers
	_     pad.Pad
	mu    sync.Mutex
	head  atomic.Uint64 // the next ticket to pop; written under mu, read by any goroutine
	_     pad.Pad
}

type slot struct {
	seq      atomic.Uint64 // ticket + 1: that ticket's task is here
	payload  uint64        // this and the rest belong to the ticket's owner until seq says so
	tenant   *floorTenant
	at       time.Duration
	cost     int64
	deadline time.Time
	priority firq.Priority
}

func newRing(size int) *ring {
	n := uint64(1) << bits.Len(uint(size-1))
	return &ring{slots: make([]slot, n), mask: n - 1}
}

// draw returns the first of n tickets. Wait-free.
func (r *ring) draw(n uint64) uint64 { return r.tail.Add(n) - n }

// put publishes a task in the slot of a ticket. Wait-free.
func (r *ring) put(ticket uint64, tenant *floorTenant, t *Task, at time.Duration) {
	s := &r.slots[ticket&r.mask]
	s.payload, s.tenant, s.at, s.cost, s.deadline, s.priority = t.Payload, tenant, at, t.Cost, t.Deadline, t.Priority
	s.seq.Store(ticket + 1) // publishes the task; pairs with the Load in pop
}

// ready reports whether the next task is there. Any goroutine may ask.
func (r *ring) ready() bool {
	head := r.head.Load()
	return r.slots[head&r.mask].seq.Load() == head+1
}

// pop fills dst with the next tasks and gives their tenants' places back; the
// caller gives back those of the whole. Under mu.
func (r *ring) pop(dst []Item) (n int) {
	head := r.head.Load()
	var now time.Duration
	for ; n < len(dst); n++ {
		s := &r.slots[head&r.mask]
		if s.seq.Load() != head+1 {
			break
		}
		if n == 0 {
			now = Now()
		}
		dst[n] = Item{
			Tenant: s.tenant.name, Payload: s.payload, Cost: max(1, s.cost), Priority: s.priority, Deadline: s.deadline,
			Wait: max(0, now-s.at), // processors' clocks may differ a little
		}
		s.tenant.queued.Add(-1)
		head++
	}
	r.head.Store(head)
	return n
}
