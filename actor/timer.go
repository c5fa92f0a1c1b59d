package actor

import (
	"sync"
	"time"

	"github.com/firq-go/firq/internal/proof/failpoint"
)

// Timer sends its actor a message. It ends with the incarnation, and so do its messages.
type Timer struct {
	mu     sync.Mutex
	a      *actor
	born   uint64 // the incarnation that has set it
	t      *time.Timer
	every  time.Duration // 0: once
	over   bool          // it has rung, or has ended
	queued bool          // its message waits
	dead   bool          // it was stopped before its message was handled
	send   func(*Timer)
	from   *actor // the sender of its messages, in a System of actortest
}

// After sends the actor of c a message after d. It panics if m is a method of another
// state; if c is stale, it sends nothing.
func (m *Method[S, Req, Res]) After(c *Ctx, d time.Duration, req Req) *Timer {
	return m.timer(c, d, 0, req)
}

// Every sends the actor of c a message every d, except while the last one still waits.
// It panics if m is a method of another state, or d is not positive.
func (m *Method[S, Req, Res]) Every(c *Ctx, d time.Duration, req Req) *Timer {
	if d <= 0 {
		panic("actor: Every: the interval must be positive")
	}
	return m.timer(c, d, d, req)
}

func (m *Method[S, Req, Res]) timer(c *Ctx, d, every time.Duration, req Req) *Timer {
	t := &Timer{every: every, over: true}
	if !c.valid() {
		return t
	}
	a := c.a.Load()
	if a.kind != m.kind {
		panic("actor: a timer of " + a.name + ": " + m.name + " is a method of " + m.kind.name + ", not of " + a.kindName())
	}
	t.a, t.over = a, false
	if h := c.sys.shuffle; h != nil {
		t.from = h.timer(a)
	}
	t.send = func(t *Timer) {
		l := &tick[S, Req, Res]{t: t}
		l.of, l.req = m, req
		l.m, l.run, l.from = &m.method, l, t.from
		if err := a.post(&l.envelope, nil, fromTimer); err != nil {
			why := ErrStopped
			if err != errClosed {
				why = ErrMailboxFull // a timer does not wait for room
			}
			a.deadLetter(&l.envelope, why)
		}
	}
	t.mu.Lock() // a goroutine that ends the timer waits until t.t is set
	defer t.mu.Unlock()
	a.mu.Lock()
	if t.over = a.over(); t.over { // by Close, and the handler goes on
		a.mu.Unlock()
		return t
	}
	x := a.extra()
	t.born = x.incarnation
	if x.timers == nil {
		x.timers = map[*Timer]struct{}{}
	}
	x.timers[t] = struct{}{}
	a.mu.Unlock()
	t.t = time.AfterFunc(d, t.ring)
	return t
}

// tick is the message of a timer.
type tick[S, Req, Res any] struct {
	tellOf[S, Req, Res]
	t    *Timer
	seen bool // it has left the mailbox
}

func (k *tick[S, Req, Res]) exec(c *Ctx, state any) {
	if k.t.handled(!k.seen); !k.t.lives(c) {
		k.seen = true
		c.returned()
		return
	}
	k.seen = true
	k.tellOf.exec(c, state)
}

func (k *tick[S, Req, Res]) free() bool { k.t.handled(!k.seen); return false }

// handled notes that a message is not in the mailbox any more. It may be called again with the
// same one, after the next is there; first says whether it is.
func (t *Timer) handled(first bool) {
	if first {
		t.mu.Lock()
		t.queued = false
		t.mu.Unlock()
	}
}

// lives reports whether c's incarnation is to have the message of the timer.
func (t *Timer) lives(c *Ctx) bool {
	t.mu.Lock()
	dead := t.dead
	t.mu.Unlock()
	return !dead && c.a.Load().born() == t.born
}

// born returns the number of the incarnation.
func (a *actor) born() uint64 {
	a.mu.Lock()
	defer a.mu.Unlock()
	return a.extra().incarnation
}

func (t *Timer) ring() {
	failpoint.At("ring")
	t.mu.Lock()
	if t.over {
		t.mu.Unlock()
		return
	}
	if t.a.sys().mute.Load() {
		t.over = true
		t.mu.Unlock()
		t.forget()
		return
	}
	send := !t.queued
	// Before the message is sent, whose handler clears it.
	t.queued = true
	if t.every > 0 {
		t.t.Reset(t.every)
	} else {
		t.over = true
	}
	t.mu.Unlock()
	if t.every == 0 {
		t.forget()
	}
	failpoint.At("send")
	if send {
		t.send(t)
	}
}

// Stop ends the timer: no handler gets its message after Stop has returned true. It returns
// false if the timer has ended already, as one of After has once it has fired.
func (t *Timer) Stop() bool {
	ok := t.end()
	if ok {
		t.forget()
	}
	return ok
}

func (t *Timer) end() bool {
	t.mu.Lock()
	defer t.mu.Unlock()
	if t.over {
		return false
	}
	t.over, t.dead = true, true
	t.t.Stop()
	return true
}

func (t *Timer) forget() {
	t.a.mu.Lock()
	if t.a.x != nil {
		delete(t.a.x.timers, t)
	}
	t.a.mu.Unlock()
}
