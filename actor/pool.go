package actor

import (
	"runtime"
	"sync"
	"sync/atomic"
	"time"

	"github.com/firq-go/firq/internal/failpoint"
)

const (
	spins   = 16  // how often a slot without work lets others run before it sleeps
	spares  = 256 // goroutines without a slot that are kept
	classes = 40  // of the times that actors have waited: powers of two of ns
)

// pool is some slots and the queue of actors that wait for one. A System has one, and
// each Dedicated actor has one of its own.
type pool struct {
	sys    *System
	locked bool // its goroutines stay on a thread each
	slots  []*slot

	mu     sync.Mutex
	q      queue
	idle   []*slot
	spares []*hand
	closed bool
	popped uint64
	hist   [classes]uint64

	n atomic.Int32 // entries of q
	v atomic.Int64 // virtual time of q
}

// slot is the right to compute. Its owner is the goroutine that has it; the monitor
// may take it away.
type slot struct {
	pool  *pool
	owner atomic.Pointer[hand]
	since atomic.Int64          // the message in progress was started about then; 0: none is
	next  atomic.Pointer[actor] // waits for this slot
	short atomic.Bool           // the actor that has it has short handlers
	wake  chan entry            // to the owner, which sleeps; an entry without actor: closed, or lookAgain
}

// hand is a goroutine of the System, which runs turns while it has a slot, and goes on with its
// handler without one.
type hand struct {
	pool  *pool
	slot  atomic.Pointer[slot] // its own, unless owner says that it was lost
	ctx   *Ctx
	now   int64      // a little before, while it looks for an actor
	give  chan *slot // to a hand that is spare or wants a slot; nil: closed
	acct  account
	shelf shelf
	batch batch
}

func (p *pool) init(s *System, n int, locked bool) {
	p.sys, p.locked, p.q = s, locked, s.newQueue()
	for range n {
		p.slots = append(p.slots, &slot{pool: p, wake: make(chan entry, 1)})
	}
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
		if a := sl.next.Swap(nil); a != nil {
			a.dropped()
		}
		return
	}
	if n := len(p.spares); n > 0 {
		w := p.spares[n-1]
		p.spares[n-1] = nil
		p.spares = p.spares[:n-1]
		p.mu.Unlock()
		w.give <- sl
		return
	}
	p.mu.Unlock()
	w := &hand{pool: p, give: make(chan *slot, 1)}
	w.ctx = p.sys.newCtx()
	w.ctx.w, w.ctx.acct = w, &w.acct
	go w.loop(sl)
}

// loop is the life of a hand.
func (w *hand) loop(sl *slot) {
	failpoint.At("hand")
	if w.pool.locked {
		runtime.LockOSThread() // never unlocked: the thread ends with the goroutine
	}
	normal := false
	defer func() {
		w.pool.sys.dropCtx(w.ctx)
		if normal {
			return
		}
		// User code has called Goexit: a handler, and then died has done this, or a hook.
		if a := w.ctx.a.Load(); a != nil && a.cur.CompareAndSwap(w.ctx, nil) {
			a.release()
		}
		w.lose()
	}()
	for sl != nil {
		w.own(sl)
		if !w.turns(sl) {
			break
		}
		w.slot.Store(nil)
		sl = w.spare()
	}
	normal = true
}

func (w *hand) own(sl *slot) {
	w.now = w.pool.sys.now()
	w.slot.Store(sl)
	failpoint.At("own")
	sl.owner.Store(w)
}

// spare waits for a slot; nil: the pool is closed, or has spares enough.
func (w *hand) spare() *slot {
	p := w.pool
	failpoint.At("spare")
	p.mu.Lock()
	if p.closed || len(p.spares) >= spares {
		p.mu.Unlock()
		return nil
	}
	p.spares = append(p.spares, w)
	p.mu.Unlock()
	return <-w.give
}

// has reports whether w has its slot still.
func (w *hand) has() bool {
	sl := w.slot.Load()
	return sl != nil && sl.owner.Load() == w
}

// lose takes the slot away from w, if it has one, and passes it on.
func (w *hand) lose() bool {
	failpoint.At("lose")
	sl := w.slot.Load()
	if sl == nil || !sl.owner.CompareAndSwap(w, nil) {
		return false
	}
	sl.since.Store(0)
	w.pool.pass(sl)
	return true
}

// turns runs turns until the slot is lost (true), or the pool closes (false).
func (w *hand) turns(sl *slot) bool {
	p := w.pool
	for {
		var e entry
		if a := p.takeNext(sl); a != nil {
			e = entry{tag: p.v.Load(), since: w.now, a: a}
		} else {
			var ok bool
			if e, ok = p.pop(w, sl); !ok {
				return false
			}
			if e.a == nil {
				return true
			}
		}
		if e.w != nil { // a handler wants a slot
			e.w.give <- sl
			return true
		}
		e.a.used = max(e.a.used, e.tag)
		before := w.now
		end := w.turn(sl, e.a, max(w.now-e.since, 0))
		w.shelf.clear()
		switch end {
		case turnLost:
			return true
		case turnGone:
			w.lose() // which it may have got since, in Yield
			return false
		}
		if w.now-before >= p.sys.slice/2 {
			runtime.Gosched() // the other goroutines of the process: timers, connections, senders
			w.now = p.sys.now()
		}
	}
}

// short is below which mean time of its messages a handler may leave an actor to its own
// slot: a longer one would keep it waiting beside an idle slot. (Where a short one turns out
// long, until the monitor takes its slot away; without a monitor no actor waits so.)
const short = int64(20 * time.Microsecond)

// ready queues an actor that has become ready. The first one that a short handler makes
// ready waits for the slot of that handler, as Go's runnext: nobody has to be woken.
func (p *pool) ready(a *actor, c *Ctx) {
	if c != nil && c.w != nil && c.w.pool == p && p.sys.shuffle == nil && p.sys.cfg.Handoff > 0 {
		w, sl := c.w, c.w.slot.Load()
		if sl != nil && sl.short.Load() && sl.owner.Load() == w {
			failpoint.At("next")
			if sl.next.CompareAndSwap(nil, a) {
				failpoint.At("next again")
				if sl.owner.Load() == w || !sl.next.CompareAndSwap(a, nil) {
					p.sys.watch() // for the slot may have to be taken away
					return
				} // the slot was lost meanwhile, and its new owner may sleep already
			}
		}
	}
	p.push(entry{tag: a.used, a: a})
}

// takeNext returns the actor that waits for this slot, unless somebody in the queue is to
// go before it.
func (p *pool) takeNext(sl *slot) *actor {
	a := sl.next.Load()
	if a != nil {
		failpoint.At("take next")
	}
	if a == nil || !sl.next.CompareAndSwap(a, nil) {
		return nil
	}
	if p.n.Load() > 0 && a.used > p.v.Load() {
		p.push(entry{tag: a.used, a: a})
		return nil
	}
	return a
}

// push queues an entry; false: the pool is closed.
func (p *pool) push(e entry) bool {
	e.since = p.sys.now()
	failpoint.At("push")
	p.mu.Lock()
	if p.closed {
		p.mu.Unlock()
		if e.w == nil {
			e.a.dropped()
		}
		return false
	}
	p.q.put(e)
	if n := len(p.idle); n > 0 {
		sl := p.idle[n-1]
		p.idle = p.idle[:n-1]
		if p.sys.shuffle == nil {
			e, _ = p.q.get()
			p.delivered(&e, e.since)
		} else { // it chooses when everybody waits
			e = entry{since: lookAgain}
			p.n.Store(int32(p.q.len()))
		}
		p.mu.Unlock()
		failpoint.At("wake")
		sl.wake <- e
		return true
	}
	p.n.Store(int32(p.q.len()))
	p.mu.Unlock()
	p.sys.watch()
	return true
}

// pop waits for the entry that is to go next; false: the pool is closed. It returns none
// if w has lost its slot since its last handler: else the slot would have two goroutines
// that wait for it to be woken.
func (p *pool) pop(w *hand, sl *slot) (entry, bool) {
	if p.n.Load() == 0 || p.sys.shuffle != nil {
		for i := 0; i < spins && p.n.Load() == 0; i++ {
			runtime.Gosched()
		}
		if p.sys.shuffle != nil {
			p.sys.shuffle.settle(p)
		}
		w.now = p.sys.now()
	}
	failpoint.At("pop")
	p.mu.Lock()
	if p.closed {
		p.mu.Unlock()
		return entry{}, false
	}
	if sl.owner.Load() != w { // only the monitor takes it now, and holds p.mu
		p.mu.Unlock()
		return entry{}, true
	}
	if e, ok := p.q.get(); ok {
		p.n.Store(int32(p.q.len()))
		p.delivered(&e, w.now)
		p.mu.Unlock()
		return e, true
	}
	p.idle = append(p.idle, sl)
	p.mu.Unlock()
	e := <-sl.wake
	w.now = p.sys.now()
	if e.since == lookAgain {
		return p.pop(w, sl)
	}
	return e, e.a != nil
}

const lookAgain = -1 // since of an entry that only wakes

// delivered counts an entry that has a slot now. The caller holds p.mu.
func (p *pool) delivered(e *entry, now int64) {
	p.v.Store(p.q.now())
	p.popped++
	p.hist[class(now-e.since)]++
}

// close ends the goroutines that have no handler in progress, and lets those end that
// have.
func (p *pool) close() {
	p.mu.Lock()
	p.closed = true
	for _, sl := range p.idle {
		sl.wake <- entry{}
	}
	for _, w := range p.spares {
		close(w.give)
	}
	p.idle, p.spares = nil, nil
	var left []entry
	for e, ok := p.q.get(); ok; e, ok = p.q.get() {
		left = append(left, e)
	}
	p.n.Store(0)
	p.mu.Unlock()
	for _, e := range left {
		if e.w != nil {
			close(e.w.give)
		} else {
			e.a.dropped()
		}
	}
}
