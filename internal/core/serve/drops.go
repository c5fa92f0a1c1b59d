package serve

import (
	"sync"
	"sync/atomic"

	"github.com/firq-go/firq"
)

// Drops are accepted tasks that will not be delivered, of which OnDrop has still
// to be told.
type Drops[K comparable, T any] struct {
	list []drop[K, T]
	next int // the first that was not told
}

type drop[K comparable, T any] struct {
	tenant  K
	payload T
	why     firq.DropReason
}

// TellDrops calls OnDrop for each of them; nil is none. No lock may be held. If
// OnDrop panics or ends the goroutine, the rest is told first.
func (e *Env[K, T]) TellDrops(d *Drops[K, T]) {
	if d == nil {
		return
	}
	defer e.toldDrops(d)
	for e.tell(d) {
	}
}

// toldDrops tells what is left when OnDrop has not returned, and recycles d.
func (e *Env[K, T]) toldDrops(d *Drops[K, T]) {
	for d.next < len(d.list) {
		alone(func() { e.tell(d) })
	}
	d.list, d.next = d.list[:0], 0
	e.dropPool.Put(d)
}

// tell tells of one drop, if there is one.
func (e *Env[K, T]) tell(d *Drops[K, T]) bool {
	if d.next == len(d.list) {
		return false
	}
	x := d.list[d.next]
	d.list[d.next] = drop[K, T]{} // keep no payload alive
	d.next++                      // first: it is told once, whatever becomes of the call
	e.Config.OnDrop(x.tenant, x.payload, x.why)
	return true
}

// RunAll calls step until it reports false, whatever the calls do: a panic, or the
// end of the goroutine by runtime.Goexit, goes on when that is done. Of several
// panics it is the first. Each call has to come closer to the end.
func RunAll(step func() (more bool)) {
	more := true
	defer func() {
		for more {
			alone(func() { more = step() })
		}
	}()
	for more {
		more = step()
	}
}

// alone runs f in a goroutine of its own, so that whatever f does the caller goes
// on; what f panics with is lost. (To recover here would do for panics. But there is
// no way back from Goexit, and to go on in deferred calls takes more stack for each.)
func alone(f func()) {
	over := make(chan struct{})
	go func() {
		defer close(over)
		defer func() { _ = recover() }()
		f()
	}()
	<-over
}

// TellServed is TellDrops for a call that has items to return, served: they have to
// reach the caller, so what OnDrop panics with waits for the next call of Rethrow.
// If OnDrop ends the goroutine, the items go with it; they are Done then.
func (e *Env[K, T]) TellServed(d *Drops[K, T], served []firq.Item[K, T]) {
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
	v, panicked := e.catch(d)
	back = true
	if panicked {
		e.thrown.add(v)
	}
}

// catch is TellDrops that returns what it panics with.
func (e *Env[K, T]) catch(d *Drops[K, T]) (v any, panicked bool) {
	panicked = true
	defer func() {
		if panicked {
			v = recover()
		}
	}()
	e.TellDrops(d)
	return nil, false
}

// Rethrow panics with what OnDrop has panicked with in a call that had items to
// return. Every call that dequeues begins with it.
func (e *Env[K, T]) Rethrow() {
	if e.thrown.any.Load() {
		e.thrown.raise()
	}
}

// thrown are panics that wait for a caller, each for one.
type thrown struct {
	any    atomic.Bool // there are some; written under mu
	mu     sync.Mutex
	values []any // as many as there are calls of Dequeue at a time, at most
}

func (p *thrown) add(v any) {
	p.mu.Lock()
	defer p.mu.Unlock()
	p.values = append(p.values, v)
	p.any.Store(true)
}

// raise panics with the first of them, if it is still there.
func (p *thrown) raise() {
	if v, ok := p.take(); ok {
		panic(v)
	}
}

func (p *thrown) take() (v any, ok bool) {
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
