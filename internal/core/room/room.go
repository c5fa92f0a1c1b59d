// Package room lets producers wait for capacity, in the order in which they
// came, and wakes as many as there is capacity for.
package room

import (
	"context"
	"sync"
	"sync/atomic"
	"time"

	"github.com/firq-go/firq/internal/core/pad"
	"github.com/firq-go/firq/internal/proof/failpoint"
)

// Cause is what a producer waits for.
type Cause uint8

// The causes.
const (
	Global    Cause = iota // a place in the scheduler
	Tenant                 // a place of one tenant
	Threshold              // anything to leave: the threshold moves with all of it
)

// Room is where producers wait. Producer and releaser write first and look
// second, so that no wake-up is lost:
//
//	[P1] waiting++ (Enter)           [R1] give the capacity back
//	[P2] try again                   [R2] waiting > 0? then wake (Released)
//	[P3] sleep (Wait)
//
// A producer that was woken but does not need it (it got in at P2, or gave up)
// passes the wake-up on (Leave).
//
// Released costs one load while nobody waits.
type Room[K comparable] struct {
	_       pad.Pad
	waiting atomic.Int32 // producers in the lists; written under mu
	_       [pad.Line - 4]byte

	mu        sync.Mutex
	seq       uint64
	global    line[K]
	threshold line[K]
	tenants   map[K]*line[K] // only tenants that somebody waits for
}

// line is a queue of waiting producers, first come first woken.
type line[K comparable] struct{ head, tail *Waiter[K] }

// Waiter is one producer's wait. The zero value is ready; not for reuse while it
// is in a Room.
type Waiter[K comparable] struct {
	wake       chan struct{} // capacity 1
	next, prev *Waiter[K]
	seq        uint64 // when it first came; it keeps its place when it comes back
	tenant     K
	cause      Cause
	queued     bool // guarded by the Room's mu, as are next, prev and cause
}

// Waiting reports whether anybody waits.
func (r *Room[K]) Waiting() bool { return r.waiting.Load() != 0 }

// Enter announces the producer ([P1]). It has to try again before it sleeps. A
// producer that was woken for one cause and now waits for another has not used
// the place that it was woken for: the next one in that line gets the wake-up.
func (r *Room[K]) Enter(w *Waiter[K], tenant K, cause Cause) {
	if w.wake == nil {
		w.wake = make(chan struct{}, 1)
	}
	failpoint.At("R enter")
	r.mu.Lock()
	defer r.mu.Unlock()
	if w.seq == 0 {
		r.seq++
		w.seq = r.seq
	} else if w.cause != cause {
		r.wakeLine(r.lineOf(w.tenant, w.cause), 1)
	}
	w.tenant, w.cause, w.queued = tenant, cause, true
	r.line(w).insert(w)
	r.waiting.Add(1)
}

// Leave ends a wait that is no longer needed. If a wake-up was on its way to
// this producer, the next one gets it.
func (r *Room[K]) Leave(w *Waiter[K]) {
	failpoint.At("R leave")
	r.mu.Lock()
	defer r.mu.Unlock()
	if w.queued {
		r.remove(w)
		return
	}
	<-w.wake // sent under mu, so it is there
	r.wakeLine(r.lineOf(w.tenant, w.cause), 1)
}

// Verdict is what Wait says.
type Verdict uint8

// The verdicts.
const (
	Woken   Verdict = iota // a place came free; the producer is no longer in line
	Retry                  // the retry timer fired; it has left the line
	GivenUp                // ctx is done or the timer fired; it has left the line
)

// Wait sleeps ([P3]) until the producer is woken, ctx is done, or a timer fires;
// a nil timer never does.
func (r *Room[K]) Wait(ctx context.Context, w *Waiter[K], timer, retry <-chan time.Time) Verdict {
	failpoint.At("R sleep")
	verdict := GivenUp
	select {
	case <-w.wake:
		failpoint.At("R woken")
		return Woken
	case <-retry:
		verdict = Retry
	case <-ctx.Done():
	case <-timer:
	}
	r.Leave(w)
	return verdict
}

// Released is called after n places of the tenant, and with them n of the
// scheduler, came free ([R2]).
func (r *Room[K]) Released(tenant K, n int) {
	if r.waiting.Load() == 0 {
		return
	}
	failpoint.At("R released")
	r.mu.Lock()
	defer r.mu.Unlock()
	r.wakeLine(&r.global, n)
	r.wakeLine(r.tenants[tenant], n)
	r.wakeLine(&r.threshold, int(r.waiting.Load()))
}

// GlobalRaised is called after n more tasks may be queued ([R2]).
func (r *Room[K]) GlobalRaised(n int) {
	if r.waiting.Load() == 0 {
		return
	}
	failpoint.At("R raised")
	r.mu.Lock()
	defer r.mu.Unlock()
	r.wakeLine(&r.global, n)
	r.wakeLine(&r.threshold, int(r.waiting.Load()))
}

// TenantRaised is called after n more tasks of the tenant may be queued ([R2]).
func (r *Room[K]) TenantRaised(tenant K, n int) {
	if r.waiting.Load() == 0 {
		return
	}
	failpoint.At("R raised")
	r.mu.Lock()
	defer r.mu.Unlock()
	r.wakeLine(r.tenants[tenant], n)
}

// Pass is for a producer that was woken and gives up: the next one in its line
// gets the wake-up.
func (r *Room[K]) Pass(w *Waiter[K]) {
	r.mu.Lock()
	defer r.mu.Unlock()
	r.wakeLine(r.lineOf(w.tenant, w.cause), 1)
}

// WakeAll wakes everybody, for bad news.
func (r *Room[K]) WakeAll() {
	r.mu.Lock()
	defer r.mu.Unlock()
	all := int(r.waiting.Load())
	r.wakeLine(&r.global, all)
	r.wakeLine(&r.threshold, all)
	for _, l := range r.tenants {
		r.wakeLine(l, all)
	}
}

// wakeLine wakes the first n of a line. Under mu.
func (r *Room[K]) wakeLine(l *line[K], n int) {
	for ; n > 0 && l != nil && l.head != nil; n-- {
		w := l.head
		r.remove(w)
		w.wake <- struct{}{}
	}
}

// line returns the line for w, made if need be. Under mu.
func (r *Room[K]) line(w *Waiter[K]) *line[K] {
	if l := r.lineOf(w.tenant, w.cause); l != nil {
		return l
	}
	if r.tenants == nil {
		r.tenants = make(map[K]*line[K])
	}
	l := new(line[K])
	r.tenants[w.tenant] = l
	return l
}

func (r *Room[K]) lineOf(tenant K, cause Cause) *line[K] {
	switch cause {
	case Global:
		return &r.global
	case Threshold:
		return &r.threshold
	default:
		return r.tenants[tenant]
	}
}

// remove takes w out of its line. Under mu.
func (r *Room[K]) remove(w *Waiter[K]) {
	l := r.lineOf(w.tenant, w.cause)
	l.remove(w)
	w.queued = false
	r.waiting.Add(-1)
	if w.cause == Tenant && l.head == nil {
		delete(r.tenants, w.tenant)
	}
}

// insert puts w behind everybody who came before it.
func (l *line[K]) insert(w *Waiter[K]) {
	after := l.tail
	for after != nil && after.seq > w.seq {
		after = after.prev
	}
	w.prev = after
	if after == nil {
		w.next, l.head = l.head, w
	} else {
		w.next, after.next = after.next, w
	}
	if w.next == nil {
		l.tail = w
	} else {
		w.next.prev = w
	}
}

func (l *line[K]) remove(w *Waiter[K]) {
	if w.prev == nil {
		l.head = w.next
	} else {
		w.prev.next = w.next
	}
	if w.next == nil {
		l.tail = w.prev
	} else {
		w.next.prev = w.prev
	}
	w.next, w.prev = nil, nil
}
