package actor

import (
	"sync"
	"time"

	"github.com/firq-go/firq/internal/proof/failpoint"
)

// Timer sends its actor a message. It ends with the incarnation.
type Timer struct {
	mu     sync.Mutex
	a      *actor
	t      *time.Timer
	every  time.Duration // 0: once
	over   bool          // it has rung, or has ended
	queued bool          // its message waits
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
		if err := a.post(&l.envelope, nil, rung); err != nil {
			if err == errWait {
				err = ErrMailboxFull
			}
			a.deadLetter(&l.envelope, err)
		}
	}
	t.mu.Lock() // a goroutine that ends the timer waits until t.t is set
	defer t.mu.Unlock()
	a.mu.Lock()
	if t.over = a.life == ended; t.over { // by Close, and the handler goes on
		a.mu.Unlock()
		return t
	}
	x := a.extra()
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
	letter[S, Req, Res]
	t *Timer
}

func (k *tick[S, Req, Res]) exec(c *Ctx, state any) {
	k.t.handled()
	k.letter.exec(c, state)
}

func (k *tick[S, Req, Res]) free() bool { k.t.handled(); return false }

func (t *Timer) handled() {
	t.mu.Lock()
	t.queued = false
	t.mu.Unlock()
}

func (t *Timer) ring() {
	failpoint.At("ring")
	t.mu.Lock()
	if t.over {
		t.mu.Unlock()
		return
	}
	send := !t.queued
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

// Stop ends the timer. It returns false if the timer has ended already, as one of After
// has once it has fired.
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
	t.over = true
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

// Down is the message of Watch.
type Down struct {
	Name string
	Err  error // as Ref.Err
}

// Watch sends the actor of c one message when `to` ends permanently, or immediately if it
// has ended already. The message does not count in the mailbox's limit. A watch ends with
// the incarnation that watches. Watch panics if down is a method of another state than c's
// actor has.
func Watch[S, T any](c *Ctx, to Ref[S], down *Method[T, Down, struct{}]) {
	if !c.valid() {
		return
	}
	a := c.a.Load()
	if a.kind != down.kind {
		panic("actor: Watch by " + a.name + ": " + down.name + " is a method of " + down.kind.name + ", not of " + a.kindName())
	}
	a.mu.Lock()
	born := a.extra().incarnation
	a.mu.Unlock()
	tell := func(d Down) {
		a.mu.Lock()
		same := a.x.incarnation == born
		a.mu.Unlock()
		if !same {
			return
		}
		l := &letter[T, Down, struct{}]{of: down, req: d}
		l.m, l.run = &down.method, l
		_ = a.post(&l.envelope, nil, beyond) // an error: the watching actor has itself ended
	}
	if to.a == nil {
		tell(Down{Err: ErrStopped})
		return
	}
	failpoint.At("watch")
	to.a.mu.Lock()
	if to.a.x == nil || !to.a.x.gone {
		x := to.a.extra()
		x.watchers = append(x.watchers, tell)
		to.a.mu.Unlock()
		return
	}
	to.a.mu.Unlock()
	tell(Down{to.a.name, to.a.err()})
}
