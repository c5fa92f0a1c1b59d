package actor

import (
	"time"

	"github.com/firq-go/firq/internal/proof/failpoint"
)

// A timer belongs to an incarnation: it is in extra.timers until it has rung for the last time,
// was stopped, or the incarnation has ended (endSources). What it has sent may still be in the
// mailbox then, so each message asks when it is taken whether its timer still counts (lives).
// One lock, the actor's, guards all of that.

// Timer sends its actor a message. It ends with the incarnation, and so do its messages.
type Timer struct {
	a     *actor        // nil: its Ctx was stale, and it has never begun
	born  uint64        // the incarnation that has set it
	every time.Duration // 0: once
	send  func()
	from  *actor // the sender of its messages, in a System of actortest

	// Guarded by a.mu.
	t      *time.Timer
	over   bool // it has rung, or has ended
	queued bool // its message waits
	dead   bool // it was stopped before its message was handled
}

// After sends the actor of c a message after d. It panics if m is a method of another
// state; if c is stale, it sends nothing.
func (m *Method[S, Req, Res]) After(c *Ctx, d time.Duration, req Req) *Timer {
	return m.timer(c, d, 0, req)
}

// Every sends the actor of c a message every d, except while the last one still waits.
// It panics if m is a method of another state, or d is not positive.
func (m *Method[S, Req, Res]) Every(c *Ctx, d time.Duration, req Req) *Timer {
	// It would ring without a pause.
	if d <= 0 {
		panic("actor: Every: the interval must be positive")
	}
	return m.timer(c, d, d, req)
}

// timer sets a timer for the actor of c, in its incarnation of now.
func (m *Method[S, Req, Res]) timer(c *Ctx, d, every time.Duration, req Req) *Timer {
	// Like the rest of a stale Ctx: it does nothing.
	if !c.valid() {
		return &Timer{}
	}
	a := c.a.Load()
	// A mistake of the program which the types cannot exclude, as a Ctx has no type of a state.
	// It shows with the first run.
	if a.kind != m.kind {
		panic("actor: a timer of " + a.name + ": " + m.name + " is a method of " + m.kind.String() + ", not of " + a.kindName())
	}
	t := &Timer{a: a, every: every}
	if h := c.sys.shuffle; h != nil {
		t.from = h.timer(a)
	}
	// Here the types are known; Timer itself has none.
	t.send = func() {
		// A new message for each ring: the last one may be put aside still.
		l := &tick[S, Req, Res]{t: t}
		// The same request with each ring.
		l.of, l.req = m, req
		l.m, l.run, l.from = &m.method, l, t.from
		if err := a.post(&l.envelope, nil, fromTimer); err != nil {
			why := ErrStopped
			if err != errClosed {
				why = ErrMailboxFull // a timer does not wait for room
			}
			// The user hears of each message that no handler gets, also of a timer's.
			a.deadLetter(&l.envelope, why)
		}
	}
	a.mu.Lock()
	defer a.mu.Unlock()
	if t.over = a.over(); t.over { // by Close, and the handler goes on
		return t
	}
	x := a.extra()
	// Under mu: the incarnation cannot end between this and the entry below.
	t.born = x.incarnation
	if x.timers == nil {
		x.timers = map[*Timer]struct{}{}
	}
	x.timers[t] = struct{}{}
	t.t = time.AfterFunc(d, t.ring) // under mu: one that rings now waits until it is noted
	return t
}

// tick is the message of a timer.
type tick[S, Req, Res any] struct {
	tellOf[S, Req, Res]
	t    *Timer
	seen bool // it has left the mailbox once: it may have been put aside since
}

// exec skips a message whose timer was stopped, or belongs to an incarnation that has ended. It
// counts as handled, by a handler that does nothing.
func (k *tick[S, Req, Res]) exec(c *Ctx, state any) {
	if k.taken(); !k.t.lives() {
		c.returned()
		return
	}
	// From here on it is a tell like any other.
	k.tellOf.exec(c, state)
}

func (k *tick[S, Req, Res]) free() bool { k.taken(); return false }

// taken notes that the message has left the mailbox, so that Every sends the next one. A message that was put
// aside comes here twice, the second time perhaps after the next one is there.
func (k *tick[S, Req, Res]) taken() {
	// Only one goroutine has the message at a time, so seen needs no lock.
	if !k.seen {
		k.seen = true
		k.t.a.mu.Lock()
		k.t.queued = false
		k.t.a.mu.Unlock()
	}
}

// lives reports whether the incarnation of today is to have the message of the timer.
func (t *Timer) lives() bool {
	return t.a.is(func(a *actor) bool { return !t.dead && a.x.incarnation == t.born })
}

// ring sends the message, unless the last one still waits.
func (t *Timer) ring() {
	failpoint.At("ring")
	t.a.mu.Lock()
	// Stopped after the runtime had begun to ring.
	if t.over {
		t.a.mu.Unlock()
		return
	}
	mute := t.a.sys().mute.Load() // Shutdown waits for a moment without messages
	// At most one message of a timer waits: an actor that is slower than its ticks does not
	// drown in them.
	send := !t.queued && !mute
	// Before the message is sent, whose handler clears it.
	t.queued = true
	// From now, not from when it was due: late rings do not pile up.
	if t.every > 0 && !mute {
		t.t.Reset(t.every)
	} else {
		t.end()
	}
	t.a.mu.Unlock()
	failpoint.At("send")
	// Without mu, which post takes.
	if send {
		t.send()
	}
}

// Stop ends the timer: no handler gets its message after Stop has returned true. It returns
// false if the timer has ended already, as one of After has once it has fired.
func (t *Timer) Stop() bool {
	if t.a == nil {
		return false
	}
	t.a.mu.Lock()
	defer t.a.mu.Unlock()
	if t.over {
		return false
	}
	// Its message may be in the mailbox: it finds that out when it is taken.
	t.dead = true
	t.end()
	return true
}

// end is where a timer ends: it has rung for the last time, was stopped, or its incarnation has ended. The caller
// holds a.mu.
func (t *Timer) end() {
	t.over = true
	t.t.Stop()
	delete(t.a.x.timers, t)
}
