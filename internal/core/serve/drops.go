package serve

import (
	"sync"
	"sync/atomic"

	"github.com/firq-go/firq"
)

// Drops are accepted tasks that will not be delivered, and for which OnDrop has still to be
// called.
type Drops[K comparable, T any] struct {
	list []drop[K, T]
	next int // the first for which OnDrop was not called
}

type drop[K comparable, T any] struct {
	tenant  K
	payload T
	why     firq.DropReason
}

// NotifyDrops calls OnDrop for each of them; nil is none. No lock may be held. If OnDrop
// panics or ends the goroutine, the calls for the rest come first.
func (sh *Shared[K, T]) NotifyDrops(d *Drops[K, T]) {
	if d == nil {
		return
	}
	defer sh.notifyRest(d)
	for sh.notifyNext(d) {
	}
}

// notifyRest calls OnDrop for those that are left because a call has not returned, and
// recycles d.
func (sh *Shared[K, T]) notifyRest(d *Drops[K, T]) {
	for d.next < len(d.list) {
		runIsolated(func() { sh.notifyNext(d) })
	}
	d.list, d.next = d.list[:0], 0
	sh.dropPool.Put(d)
}

// notifyNext calls OnDrop for one drop; false: none is left.
func (sh *Shared[K, T]) notifyNext(d *Drops[K, T]) bool {
	if d.next == len(d.list) {
		return false
	}
	x := d.list[d.next]
	d.list[d.next] = drop[K, T]{} // keep no payload alive
	d.next++                      // first: OnDrop is called once for it, even if it panics
	sh.Config.OnDrop(x.tenant, x.payload, x.why)
	return true
}

// RunAll calls step until it reports false, even if calls panic or end the goroutine by
// runtime.Goexit: the first panic, or the Goexit, continues after the last call. step has
// to report false after finitely many calls.
func RunAll(step func() (more bool)) {
	more := true
	defer func() {
		for more {
			runIsolated(func() { more = step() })
		}
	}()
	for more {
		more = step()
	}
}

// runIsolated runs f in another goroutine, so that the caller goes on even if f panics or
// calls runtime.Goexit; the value of the panic is lost. A deferred recover would do for
// panics, but nothing stops a Goexit, and deferred calls that go on after it need more stack
// for each.
func runIsolated(f func()) {
	over := make(chan struct{})
	go func() {
		defer close(over)
		defer func() { _ = recover() }()
		f()
	}()
	<-over
}

// NotifyServed is NotifyDrops for a call that has items to return, served. They have to
// reach the caller, so a panic of OnDrop waits for the next call of Rethrow. If OnDrop ends
// the goroutine, no caller gets the items, and NotifyServed marks them Done.
func (sh *Shared[K, T]) NotifyServed(d *Drops[K, T], served []firq.Item[K, T]) {
	if d == nil {
		return
	}
	back := false
	defer func() {
		if !back {
			for i := range served {
				served[i].Done()
			}
		}
	}()
	v, panicked := sh.catch(d)
	back = true
	if panicked {
		sh.pendingPanics.add(v)
	}
}

// catch calls NotifyDrops, recovers from its panic, and returns the value.
func (sh *Shared[K, T]) catch(d *Drops[K, T]) (v any, panicked bool) {
	panicked = true
	defer func() {
		if panicked {
			v = recover()
		}
	}()
	sh.NotifyDrops(d)
	return nil, false
}

// Rethrow panics with the value of a panic of OnDrop that NotifyServed has kept. Every call
// that dequeues begins with it.
func (sh *Shared[K, T]) Rethrow() { sh.pendingPanics.rethrow() }

// pendingPanics holds the values of panics of OnDrop until a call of Rethrow takes each of
// them. The zero value is empty; it is safe for concurrent use.
type pendingPanics struct {
	any    atomic.Bool // values is not empty; written under mu
	mu     sync.Mutex
	values []any // at most one per call of Dequeue in progress
}

func (p *pendingPanics) add(v any) {
	p.mu.Lock()
	defer p.mu.Unlock()
	p.values = append(p.values, v)
	p.any.Store(true)
}

// rethrow panics with the oldest value, if there is one.
func (p *pendingPanics) rethrow() {
	if p.any.Load() {
		p.panicNext()
	}
}

// panicNext panics with the oldest value, unless another caller has taken it. (Not inlined, so that
// rethrow is.)
//
//go:noinline
func (p *pendingPanics) panicNext() {
	if v, ok := p.take(); ok {
		panic(v)
	}
}

func (p *pendingPanics) take() (v any, ok bool) {
	p.mu.Lock()
	defer p.mu.Unlock()
	if len(p.values) == 0 {
		return nil, false
	}
	v = p.values[0]
	p.values[0] = nil
	p.values = p.values[1:]
	p.any.Store(len(p.values) > 0)
	return v, true
}
