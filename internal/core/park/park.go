// Package park lets consumers sleep while there is no work, and wakes as few of
// them as will do.
package park

import (
	"context"
	"sync"
	"sync/atomic"

	"github.com/firq-go/firq/internal/core/pad"
	"github.com/firq-go/firq/internal/proof/failpoint"
)

// Parker is the consumers' bed. At most one consumer is on its way to work at a
// time (the Go scheduler's rule for spinning threads, runtime/proc.go): a consumer that
// finds work when it arrives, and sees that there is more, wakes the next.
//
// No wake-up is lost. Producer and consumer write first and look second:
//
//	[P1] publish the work           [C1] parked++        (announce)
//	[P2] parked > 0? then wake      [C2] work()?         (look again)
//	                                [C3] sleep
//
// Either P2 sees the consumer or C2 sees the work. And if P2 leaves the waking
// to the consumer that is already on its way (waking is 1), then that consumer's
//
//	[W1] waking = 0   [W2] work() and parked > 0? then wake the next
//
// comes after, and sees the work at W2.
//
// Notify is wait-free while no consumer sleeps; the rest takes a mutex for a few
// instructions.
type Parker struct {
	_      pad.Pad
	parked atomic.Int32  // consumers in sleepers; written under mu, read by Notify
	waking atomic.Uint32 // 1: a woken consumer has not yet looked for work
	_      [pad.Line - 8]byte

	work func() bool // whether there is something to take, or to be told

	mu       sync.Mutex
	sleepers []*sleeper // the last to come is woken first: its stack is warm
	spare    sync.Pool  // *sleeper; not shared: a channel must not leave its synctest bubble
}

type sleeper struct {
	wake  chan struct{} // capacity 1: the goroutine that takes the sleeper off the list sends once
	index int           // in sleepers, -1: not there; guarded by mu
}

// New returns a Parker; work reports whether a consumer that would go to sleep
// now has to stay awake. It is called without any lock held and must see
// everything that was published before a call of Notify.
func New(work func() bool) *Parker { return &Parker{work: work} }

// Notify is called after work was published; it wakes a consumer if there is one
// asleep and none on its way.
func (p *Parker) Notify() {
	if p.parked.Load() != 0 {
		p.notify()
	}
}

//go:noinline // so that Notify is inlined
func (p *Parker) notify() {
	failpoint.At("P2 waking?")
	if p.waking.Load() == 0 {
		p.wakeOne()
	}
}

// Parked returns how many consumers sleep.
func (p *Parker) Parked() int { return int(p.parked.Load()) }

// Waiter is one consumer's state between two tries; the zero value is for the
// first.
type Waiter struct{ onTheWay bool } // it was woken and owes W1 and W2

// Found is called by a consumer that found work, before it leaves.
func (p *Parker) Found(w *Waiter) {
	if w.onTheWay {
		p.arrive(w)
	}
}

// arrive ends being on the way: [W1], [W2].
func (p *Parker) arrive(w *Waiter) {
	failpoint.At("W1")
	w.onTheWay = false
	p.waking.Store(0)
	failpoint.At("W2")
	if p.parked.Load() != 0 && p.work() {
		p.wakeOne()
	}
}

// Sleep is called by a consumer that found no work. It returns nil when it is
// worth trying again, and ctx.Err() when ctx is done.
//
// ctx is user code: what it is asked, it is asked when s is in no list.
func (p *Parker) Sleep(ctx context.Context, w *Waiter) error {
	cancelled := ctx.Done()
	s, ok := p.spare.Get().(*sleeper)
	if !ok {
		s = &sleeper{wake: make(chan struct{}, 1), index: -1}
	}
	failpoint.At("C1 announce")
	p.enlist(s) // [C1]
	owed := w.onTheWay
	if owed {
		failpoint.At("C1 W1")
		w.onTheWay = false
		p.waking.Store(0) // [W1]
	}
	var err error
	failpoint.At("C2 look again")
	if p.work() { // [C2], and [W2]
		failpoint.At("C2 delist")
		if !p.delist(s) {
			<-s.wake
			w.onTheWay = true
		} else if owed {
			// There may be more than this consumer takes, announced while it was
			// on its way: it stays on its way, unless another one is already.
			w.onTheWay = p.waking.CompareAndSwap(0, 1)
		}
	} else {
		failpoint.At("C3 sleep")
		select { // [C3]
		case <-s.wake:
			w.onTheWay = true
		case <-cancelled:
			if !p.delist(s) { // woken at the same time: pass it on
				<-s.wake
				p.arrive(w)
			}
			err = ctx.Err()
		}
	}
	failpoint.At("C4 awake")
	p.spare.Put(s)
	return err
}

func (p *Parker) enlist(s *sleeper) {
	p.mu.Lock()
	s.index = len(p.sleepers)
	p.sleepers = append(p.sleepers, s)
	p.parked.Add(1) // before the consumer looks again; pairs with the Load of Notify, after the work
	p.mu.Unlock()
}

// delist takes s off the list; false: another goroutine did, and a wake is coming.
func (p *Parker) delist(s *sleeper) bool {
	p.mu.Lock()
	defer p.mu.Unlock()
	if s.index < 0 {
		return false
	}
	p.drop(s)
	return true
}

// drop takes s off the list. Under mu.
func (p *Parker) drop(s *sleeper) {
	last := len(p.sleepers) - 1
	moved := p.sleepers[last]
	p.sleepers[s.index], moved.index = moved, s.index
	p.sleepers[last] = nil
	p.sleepers = p.sleepers[:last]
	s.index = -1
	p.parked.Add(-1)
}

func (p *Parker) wakeOne() {
	for {
		failpoint.At("wake")
		// Before: no consumer is on its way. After: the one that this call wakes is, and this call alone may wake
		// one, until that consumer has looked for work ([W1]). It fails if one is on its way.
		if !p.waking.CompareAndSwap(0, 1) {
			return // the one on its way will see to it
		}
		failpoint.At("wake pick")
		p.mu.Lock()
		if n := len(p.sleepers); n > 0 {
			s := p.sleepers[n-1]
			p.drop(s)
			p.mu.Unlock()
			failpoint.At("wake send")
			s.wake <- struct{}{}
			return
		}
		p.mu.Unlock()
		// All awake. A consumer that went to sleep since may have been passed over by a
		// Notify that saw waking at 1: look again, as in [W1], [W2].
		failpoint.At("wake nobody")
		p.waking.Store(0)
		failpoint.At("wake look again")
		if p.parked.Load() == 0 || !p.work() {
			return
		}
	}
}

// WakeAll wakes all consumers, for good news or bad.
func (p *Parker) WakeAll() {
	p.mu.Lock()
	all := append([]*sleeper(nil), p.sleepers...)
	for _, s := range all {
		p.drop(s)
	}
	p.mu.Unlock()
	for _, s := range all {
		s.wake <- struct{}{}
	}
}
