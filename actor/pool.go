package actor

import (
	"runtime"
	"sync"
	"sync/atomic"

	"github.com/firq-go/firq/actor/internal/runq"
	"github.com/firq-go/firq/internal/proof/failpoint"
)

// Slots, and who has one. There are as many slots as handlers may compute at the same time; a
// goroutine that has one runs turns (worker.go), and one that waits in a handler has none. A
// slot is never without use: it is owned by a worker, or it sleeps in idle, or it is on its way
// (pass, wake, give).

const (
	spins  = 16  // how often the owner of a slot without work lets others run before it sleeps
	spares = 256 // goroutines without a slot that are kept
)

// pool is some slots and the queue of actors that wait for one. A System has one, and
// each Dedicated actor has its own.
type pool struct {
	sys    *System
	locked bool // each of its goroutines stays on one thread
	slots  []*slot

	// The queue has its own locks. mu is for those that sleep, and those that are spare.
	q      *queue
	asleep atomic.Int32 // len(idle)

	mu     sync.Mutex
	idle   []*slot
	spares []*worker
	closed bool
}

// claim is what waits for a slot: an actor for its turn or, if w is set, a handler of the actor.
type claim struct {
	a *actor
	w *worker
}

type (
	entry = runq.Entry[claim]
	queue = runq.Queue[claim]
)

// turnOf is the entry of an actor with work. Its turns so far are its start tag.
func turnOf(a *actor) entry { return entry{Of: claim{a: a}, Tag: a.used} }

// slot is the right to compute. Its owner is the goroutine that has it; the monitor
// may take it away.
type slot struct {
	pool  *pool
	mu    sync.Mutex // held to take it from its owner, and by the owner to set since
	owner atomic.Pointer[worker]
	since atomic.Int64          // the message in progress was started about then; 0: none is
	next  atomic.Pointer[actor] // waits for this slot
	short atomic.Bool           // the actor that has it has short handlers
	wake  chan entry            // to the owner, which sleeps; an entry without actor: closed, or lookAgain
}

// init makes n slots, each with a worker that sleeps until there is an entry.
func (p *pool) init(s *System, n int, locked bool) {
	p.sys, p.locked, p.q = s, locked, runq.New[claim](n)
	if s.shuffle != nil {
		p.q = runq.NewDrawn(s.shuffle.draw)
	}
	for range n {
		p.slots = append(p.slots, &slot{pool: p, wake: make(chan entry, 1)})
	}
	// All are there before the first goroutine runs, as the monitor and waits go through them.
	for _, sl := range p.slots {
		p.pass(sl)
	}
}

// pass finds a goroutine for a slot.
func (p *pool) pass(sl *slot) {
	failpoint.At("pass")
	p.mu.Lock()
	if p.closed {
		p.mu.Unlock()
		// It waited for this slot, which no worker will have.
		if a := sl.next.Swap(nil); a != nil {
			a.dropped()
		}
		return
	}
	// The goroutine that has become spare last: its stack is still in the cache.
	if n := len(p.spares); n > 0 {
		w := p.spares[n-1]
		// Or the list would keep a goroutine's memory that has ended.
		p.spares[n-1] = nil
		p.spares = p.spares[:n-1]
		p.mu.Unlock()
		w.give <- sl
		return
	}
	p.mu.Unlock()
	// All others have a handler in progress. So there are as many goroutines as handlers that
	// wait, plus the slots.
	w := &worker{pool: p, give: make(chan *slot, 1)}
	// A worker keeps its Ctx: handlers come and go with it.
	w.ctx = p.sys.newCtx(w, &w.acct)
	go w.loop(sl)
}

// push queues an entry; false: the pool is closed. Either the sender sees a sleeper, or the
// sleeper sees the entry: push puts the entry in before it looks for sleepers, and pop puts the
// slot among the sleepers before it looks at the queue for the last time.
func (p *pool) push(e entry) bool {
	// How long it waits is measured from here, for the Watchdog and Metrics.
	e.Since = p.sys.now()
	failpoint.At("push")
	if !p.q.Put(e) { // closed
		// A handler that wants a slot hears of it from the result.
		if e.Of.w == nil {
			e.Of.a.dropped()
		}
		return false
	}
	// All slots have a goroutine that is awake, so one of them takes the entry when its turn
	// ends. Or is its handler one that blocks? That is the monitor's question.
	if p.asleep.Load() == 0 || !p.wake(e.Since) {
		p.sys.watch()
	}
	return true
}

// wake gives the next entry to a slot that sleeps; false: none does, or there is no entry.
func (p *pool) wake(now int64) bool {
	p.mu.Lock()
	n := len(p.idle)
	if n == 0 || p.closed {
		p.mu.Unlock()
		return false
	}
	e := entry{Since: lookAgain} // an order by seed chooses once all goroutines wait
	if p.sys.shuffle == nil {
		var ok bool
		// Another slot has taken it in between: the sleeper sleeps on.
		if e, ok = p.q.Get(now); !ok {
			p.mu.Unlock()
			return false
		}
	}
	// The last one, whose thread has gone to sleep last.
	sl := p.idle[n-1]
	// Taken out under mu: one goroutine wakes this slot, and wake has room for one entry.
	p.idle = p.idle[:n-1]
	// A count beside the list, so that push can look without the lock.
	p.asleep.Store(int32(n - 1))
	p.mu.Unlock()
	failpoint.At("wake")
	sl.wake <- e
	return true
}

// pop waits for the entry that is to go next; false: the pool is closed. It returns none
// if w has lost its slot since its last handler: else the slot would have two goroutines
// that wait for it to be woken.
func (p *pool) pop(w *worker, sl *slot) (entry, bool) {
	for {
		// Before it sleeps it lets others run for a moment: waking costs microseconds, and the
		// next message is often on its way.
		if !p.q.Any() || p.sys.shuffle != nil {
			// Any is a load per shard: a look costs less than what Gosched does.
			for i := 0; i < spins && !p.q.Any(); i++ {
				runtime.Gosched()
			}
			if p.sys.shuffle != nil {
				// All that will be ready at this instant shall be there to choose from.
				p.sys.shuffle.settle()
			}
			w.now = p.sys.now()
		}
		failpoint.At("pop")
		// The monitor has taken the slot from the last handler of w, and w has not noticed yet.
		if sl.owner.Load() != w {
			return entry{}, true
		}
		if e, ok := p.q.Get(w.now); ok {
			return e, true
		}
		p.mu.Lock()
		if p.closed {
			p.mu.Unlock()
			return entry{}, false
		}
		// First into the list, and then the look: push goes the other way round.
		p.idle = append(p.idle, sl)
		p.asleep.Store(int32(len(p.idle)))
		if p.q.Any() {
			// It is the last one, as mu was held.
			p.idle = p.idle[:len(p.idle)-1]
			p.asleep.Store(int32(len(p.idle)))
			p.mu.Unlock()
			continue
		}
		p.mu.Unlock()
		// It sleeps. wake brings an entry, or the order to look for one.
		e := <-sl.wake
		w.now = p.sys.now()
		if e.Since != lookAgain {
			return e, e.Of.a != nil
		}
	}
}

const lookAgain = -1 // since of an entry that only wakes

// close ends the goroutines that have no handler in progress, and lets the others end
// after their handlers.
func (p *pool) close() {
	p.mu.Lock()
	// Under mu: pop and pass look before they leave something here.
	p.closed = true
	for _, sl := range p.idle {
		// An entry without actor: the owner ends.
		sl.wake <- entry{}
	}
	for _, w := range p.spares {
		// A spare worker waits for a slot: it gets none, and ends.
		close(w.give)
	}
	p.idle, p.spares = nil, nil
	p.asleep.Store(0)
	p.mu.Unlock()
	// Without mu: dropped takes the locks of actors.
	for _, e := range p.q.Close() {
		if e.Of.w != nil {
			// A handler that wanted a slot goes on without one.
			close(e.Of.w.give)
		} else {
			e.Of.a.dropped()
		}
	}
}

// watch wakes the monitor, because there are actors that wait for a slot.
func (s *System) watch() {
	// It looks already, or it will. One load per entry, as this is on the way of each wake-up.
	if s.awake.Load() {
		return
	}
	s.awake.Store(true)
	// The channel has room for one: several entries are one reason to look.
	select {
	case s.monitor <- struct{}{}:
	default:
	}
}

// waits reports whether an actor or a handler waits for a slot.
func (p *pool) waits() bool {
	if p.q.Any() {
		return true
	}
	for _, sl := range p.slots {
		// These wait too, although they are in no queue: for a handler that was expected to be
		// short.
		if sl.next.Load() != nil {
			return true
		}
	}
	return false
}
