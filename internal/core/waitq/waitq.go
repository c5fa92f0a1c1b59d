// Package waitq lets producers wait for capacity, in the order in which they
// came, and wakes as many as there is capacity for.
package waitq

import (
	"context"
	"math"
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

// Queue is where producers wait. Producer and releaser write first and look
// second, so that no wake-up is lost:
//
//	[P1] waiting++ (Enter)           [R1] give the capacity back
//	[P2] try again                   [R2] waiting > 0? then wake (Released)
//	[P3] sleep (Wait)
//
// A producer that was woken but does not need it (it got in at P2, or gave up)
// passes the wake-up on (Leave).
//
// An expired task makes room, too, and no call tells: so a producer tries again when the first of the
// tasks expires that it knows (Until). Of a task that is queued later the first producer of each list
// hears (Expires), and the next ones when they are the first.
//
// Released costs one load while no call waits.
type Queue[K comparable] struct {
	_       pad.Pad
	waiting atomic.Int32 // producers in the lists; written under mu
	_       [pad.Line - 4]byte

	mu        sync.Mutex
	seq       uint64
	global    list[K]
	threshold list[K]
	tenants   map[K]*list[K] // only tenants with a waiter
}

// list is a queue of waiting producers, first come first woken.
type list[K comparable] struct {
	head, tail *Waiter[K]
	due        int64 // nothing expires before it, as the head was told, or tasks queued since
}

// Waiter is one producer's wait. The zero value is ready; not for reuse while it
// is in a Queue.
type Waiter[K comparable] struct {
	wake, look chan struct{} // capacity 1: a place came free; there may be an earlier time to look
	next, prev *Waiter[K]
	seq        uint64 // when it first came; it keeps its place when it comes back
	until      int64  // when it tries again by itself; guarded by the Queue's mu, as is what follows
	tenant     K
	cause      Cause
	queued     bool
}

// Waiting reports whether a producer waits.
func (q *Queue[K]) Waiting() bool { return q.waiting.Load() != 0 }

// Enter announces the producer ([P1]). It has to try again before it sleeps. A
// producer that was woken for one cause and now waits for another has not used
// the place that it was woken for: the next one in that list gets the wake-up.
func (q *Queue[K]) Enter(w *Waiter[K], tenant K, cause Cause) {
	if w.wake == nil {
		w.wake, w.look = make(chan struct{}, 1), make(chan struct{}, 1)
	}
	failpoint.At("R enter")
	q.mu.Lock()
	defer q.mu.Unlock()
	if w.seq == 0 {
		q.seq++
		w.seq = q.seq
	} else if w.cause != cause {
		q.wakeList(q.listOf(w.tenant, w.cause), 1)
	}
	w.tenant, w.cause, w.queued, w.until = tenant, cause, true, math.MaxInt64
	q.listFor(w).insert(w)
	q.waiting.Add(1) // before the producer tries again; pairs with Waiting, after a place came free
}

// Leave ends a wait that is no longer needed. If a wake-up was on its way to
// this producer, the next one gets it.
func (q *Queue[K]) Leave(w *Waiter[K]) {
	failpoint.At("R leave")
	q.mu.Lock()
	defer q.mu.Unlock()
	if w.queued {
		q.remove(w)
		return
	}
	<-w.wake // sent under mu, so it is there
	q.wakeList(q.listOf(w.tenant, w.cause), 1)
}

// Verdict is the result of Wait.
type Verdict uint8

// The verdicts.
const (
	Woken   Verdict = iota // a place came free; the producer is no longer in its list
	Retry                  // something may have expired, or will earlier than it knew; it is where it was
	GivenUp                // ctx is done or the timer fired; it has left the list
)

// Wait sleeps ([P3]) until the producer is woken, ctx is done, or a timer fires;
// a nil timer never does.
func (q *Queue[K]) Wait(ctx context.Context, w *Waiter[K], timer, retry <-chan time.Time) Verdict {
	failpoint.At("R sleep")
	select {
	case <-w.wake:
		failpoint.At("R woken")
		return Woken
	case <-w.look:
		return Retry
	case <-retry:
		return Retry
	case <-ctx.Done():
	case <-timer:
	}
	q.Leave(w)
	return GivenUp
}

// Until says when the producer tries again, if no place comes free: a time before which nothing
// expires that it waits for, as it has seen after Enter.
func (q *Queue[K]) Until(w *Waiter[K], due int64) {
	q.mu.Lock()
	defer q.mu.Unlock()
	if w.until = due; w.queued {
		if l := q.listOf(w.tenant, w.cause); l.head == w {
			l.due = due
		}
	}
}

// Expires is called after a task of the tenant was queued that expires at due: what the first
// producer of a list sleeps until may be later. Either that one has seen the task, or it sees this.
func (q *Queue[K]) Expires(tenant K, due int64) {
	if q.waiting.Load() == 0 {
		return
	}
	failpoint.At("R expires")
	q.mu.Lock()
	defer q.mu.Unlock()
	q.global.expires(due)
	q.threshold.expires(due)
	if l := q.tenants[tenant]; l != nil {
		l.expires(due)
	}
}

func (l *list[K]) expires(due int64) {
	l.due = min(l.due, due)
	l.headLooks()
}

// headLooks lets the first producer of the list try again, if it sleeps for longer than it may. One of
// a list is enough: if it gets a place, the next is the first.
func (l *list[K]) headLooks() {
	if l.head != nil && l.head.until > l.due {
		select {
		case l.head.look <- struct{}{}:
		default: // it has not looked yet
		}
	}
}

// Released is called after n places of the tenant, and with them n of the
// scheduler, came free ([R2]).
func (q *Queue[K]) Released(tenant K, n int) {
	if q.waiting.Load() == 0 {
		return
	}
	failpoint.At("R released")
	q.mu.Lock()
	q.wakeList(&q.global, n)
	q.wakeList(q.tenants[tenant], n)
	q.wakeList(&q.threshold, int(q.waiting.Load()))
	q.mu.Unlock()
	failpoint.At("R told") // a producer that runs from here on finds the capacity
}

// GlobalRaised is called after n more tasks may be queued ([R2]).
func (q *Queue[K]) GlobalRaised(n int) {
	if q.waiting.Load() == 0 {
		return
	}
	failpoint.At("R raised")
	q.mu.Lock()
	defer q.mu.Unlock()
	q.wakeList(&q.global, n)
	q.wakeList(&q.threshold, int(q.waiting.Load()))
}

// TenantRaised is called after n more tasks of the tenant may be queued ([R2]).
func (q *Queue[K]) TenantRaised(tenant K, n int) {
	if q.waiting.Load() == 0 {
		return
	}
	failpoint.At("R raised")
	q.mu.Lock()
	defer q.mu.Unlock()
	q.wakeList(q.tenants[tenant], n)
}

// Pass is for a producer that was woken and gives up: the next one in its list
// gets the wake-up.
func (q *Queue[K]) Pass(w *Waiter[K]) {
	q.mu.Lock()
	defer q.mu.Unlock()
	q.wakeList(q.listOf(w.tenant, w.cause), 1)
}

// WakeAll wakes all waiters, which find nothing: the scheduler is closed.
func (q *Queue[K]) WakeAll() {
	q.mu.Lock()
	defer q.mu.Unlock()
	all := int(q.waiting.Load())
	q.wakeList(&q.global, all)
	q.wakeList(&q.threshold, all)
	for _, l := range q.tenants {
		q.wakeList(l, all)
	}
}

// wakeList wakes the first n of a list. Under mu.
func (q *Queue[K]) wakeList(l *list[K], n int) {
	for ; n > 0 && l != nil && l.head != nil; n-- {
		w := l.head
		q.remove(w)
		w.wake <- struct{}{}
	}
}

// listFor returns the list for w, made if need be. Under mu.
func (q *Queue[K]) listFor(w *Waiter[K]) *list[K] {
	if l := q.listOf(w.tenant, w.cause); l != nil {
		return l
	}
	if q.tenants == nil {
		q.tenants = make(map[K]*list[K])
	}
	l := new(list[K])
	q.tenants[w.tenant] = l
	return l
}

func (q *Queue[K]) listOf(tenant K, cause Cause) *list[K] {
	switch cause {
	case Global:
		return &q.global
	case Threshold:
		return &q.threshold
	default:
		return q.tenants[tenant]
	}
}

// remove takes w out of its list. Under mu.
func (q *Queue[K]) remove(w *Waiter[K]) {
	l := q.listOf(w.tenant, w.cause)
	l.remove(w)
	w.queued = false
	q.waiting.Add(-1)
	if w.cause == Tenant && l.head == nil {
		delete(q.tenants, w.tenant)
	}
}

// insert puts w behind all that came before it.
func (l *list[K]) insert(w *Waiter[K]) {
	after := l.tail
	if after == nil {
		l.due = math.MaxInt64
	}
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

func (l *list[K]) remove(w *Waiter[K]) {
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
	l.headLooks()
}
