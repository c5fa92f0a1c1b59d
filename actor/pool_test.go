package actor

import (
	"testing"
	"time"

	"github.com/firq-go/firq/actor/internal/runq"
)

// resting waits until all slots sleep.
func resting(t *testing.T, p *pool) {
	t.Helper()
	for end := time.Now().Add(10 * time.Second); ; time.Sleep(time.Millisecond) {
		p.mu.Lock()
		n := len(p.idle)
		p.mu.Unlock()
		if n == len(p.slots) {
			return
		}
		if n > len(p.slots) || time.Now().After(end) {
			t.Fatalf("%d of %d slots sleep", n, len(p.slots))
		}
	}
}

// The monitor takes no slot whose handler has just finished, and a worker that has lost the slot
// gets no actor: otherwise the slot would be among the sleepers twice.
func TestSlotIsTakenFromHandlersOnly(t *testing.T) {
	s := newSys(t, Config{Slots: 1, Handoff: time.Hour})
	p := &s.pool
	resting(t, p)
	sl := p.slots[0]
	w := sl.owner.Load()
	sl.since.Store(7)
	if p.takeAway(sl, 6, false) || sl.owner.Load() != w {
		t.Error("the slot of a handler that has finished was taken")
	}
	sl.since.Store(0)

	if e, ok := p.pop(&worker{pool: p}, sl); !ok || e.Of.a != nil {
		t.Errorf("a worker without a slot got %v, %t", e, ok)
	}
	resting(t, p) // the slot sleeps once
}

// A slot that is taken from a handler goes to another worker, and there is still just one when the
// handler has ended.
func TestSlotIsPassedOn(t *testing.T) {
	s := newSys(t, Config{Slots: 1, Handoff: time.Hour})
	p := &s.pool
	begun, end := make(chan bool), make(chan bool)
	long := must(t, s, "long", Value(1))
	short := must(t, s, "short", Value(&counter{}))
	wait := NewAction("Wait", func(int, *Ctx, struct{}) error { begun <- true; <-end; return nil })
	if err := wait.Tell(within(t), long, struct{}{}); err != nil {
		t.Fatal(err)
	}
	<-begun
	sl := p.slots[0]
	if !p.takeAway(sl, sl.since.Load(), false) {
		t.Fatal("the slot was not taken")
	}
	if n, err := add.Start(within(t), short, 1).Wait(within(t)); n != 1 || err != nil {
		t.Fatal(n, err)
	}
	close(end)
	if err := long.Stop(within(t)); err != nil {
		t.Fatal(err)
	}
	resting(t, p)
}

// An actor that waits for one slot goes before the actors in the queue as long as it is less than
// a slice ahead of them, and the slot has been passed on for less than a slice.
func TestTakeNext(t *testing.T) {
	s := newSys(t, Config{Slots: 1})
	for _, c := range []struct {
		name           string
		used, passedOn int64
		others, goesOn bool
	}{
		{"no actor waits", 5 * s.slice, 5 * s.slice, false, true},
		{"it has used less", 0, 5 * s.slice, true, true},
		{"a little ahead", s.slice - 1, s.slice - 1, true, true},
		{"a slice ahead", s.slice, 0, true, false},
		{"the slot was passed on for a slice", 1, s.slice, true, false},
	} {
		t.Run(c.name, func(t *testing.T) {
			p := &pool{sys: s, q: runq.New[claim](1)}
			w, sl, a := &worker{pool: p, now: 7 + c.passedOn, took: 7}, &slot{pool: p}, &actor{used: c.used}
			if c.others {
				p.q.Put(turnOf(new(actor)))
			}
			if p.takeNext(w, sl) != nil {
				t.Fatal("an actor where none was")
			}
			sl.next.Store(a)
			got := p.takeNext(w, sl)
			if (got == a) != c.goesOn || got != a && got != nil || sl.next.Load() != nil {
				t.Errorf("it goes on: %t", got == a)
			}
			queued := 0
			for e, ok := p.q.Get(0); ok; e, ok = p.q.Get(0) {
				if e.Of.a == a {
					queued++
				}
			}
			if (queued == 1) == c.goesOn {
				t.Errorf("queued %d times", queued)
			}
		})
	}
}

// A worker whose slot was taken away between two turns neither runs the actor that waits for
// the slot nor stamps the slot with the start of a handler: only the new owner does either. (A
// time that was left behind once made the monitor take the slot from an owner that slept. The
// slot then had two owners, and in the end none.)
func TestLostBetweenTurns(t *testing.T) {
	limit(t, 20*time.Second)
	s := newSys(t, Config{Slots: 1})
	r := must(t, s, "", Value(&counter{}))
	if _, err := add.Call(within(t), r, 1); err != nil {
		t.Fatal(err)
	}
	p, sl := &s.pool, s.pool.slots[0]
	eventually(t, func() bool { p.mu.Lock(); defer p.mu.Unlock(); return len(p.idle) == 1 })
	w := &worker{pool: p, give: make(chan *slot, 1), ctx: s.newCtx(nil, new(account))}
	w.slot.Store(sl) // which another worker owns
	r.a.mu.Lock()
	r.a.turn = ready
	r.a.mu.Unlock()
	sl.next.Store(r.a)
	if !w.turns(sl) || sl.next.Load() != r.a {
		t.Error("a worker has run what waits for a slot that it does not have")
	}
	if w.stamp(sl, 7) || sl.since.Load() != 0 {
		t.Errorf("since %d", sl.since.Load())
	}
	owner := sl.owner.Load()
	if !owner.stamp(sl, 7) || sl.since.Load() != 7 || !owner.keeps(sl) || sl.since.Load() != 0 {
		t.Error("nor has its owner")
	}
	// Code that makes an actor ready after the handler is over does not leave the actor to the
	// slot, whose owner sleeps.
	sl.next.Store(nil)
	sl.short.Store(true)
	p.ready(r.a, owner.ctx)
	eventually(t, func() bool { r.a.mu.Lock(); defer r.a.mu.Unlock(); return r.a.turn == idle })
	s.dropCtx(w.ctx)
}

// A handler that calls Goexit while it is being abandoned leaves the turn to the goroutine that
// abandons it. Otherwise both would give the turn back, and two goroutines would have the actor.
func TestGoexitOfAbandoned(t *testing.T) {
	s := newSys(t, Config{Slots: 1})
	r := must(t, s, "", Value(&counter{}))
	resting(t, &s.pool)
	w := &worker{pool: &s.pool, give: make(chan *slot, 1), ctx: s.newCtx(nil, new(account))}
	defer s.dropCtx(w.ctx)
	a := r.a
	a.mu.Lock()
	a.turn, w.ctx.hold = busy, holdTurn
	a.mu.Unlock()
	w.at = a
	a.cur.Store(w.ctx)
	w.ctx.st.Store(abandoned)
	w.giveBack()
	a.mu.Lock()
	if a.turn != busy || a.cur.Load() != w.ctx {
		t.Errorf("turn %d", a.turn)
	}
	a.mu.Unlock()
	w.ctx.st.Store(stale) // a hook has called Goexit: only gone can give the turn back
	w.giveBack()
	a.mu.Lock()
	defer a.mu.Unlock()
	if a.turn != idle || a.cur.Load() != nil {
		t.Errorf("turn %d", a.turn)
	}
}

// A handler that comes back from Yield with another slot than it gave up gives the new slot back
// in the end: without a monitor nothing else would.
func TestYieldToAnotherSlot(t *testing.T) {
	limit(t, 20*time.Second)
	s := newSys(t, Config{Slots: 2, Handoff: -1})
	p := &s.pool
	resting(t, p)
	begun := make(chan bool)
	stay := NewAction("Stay", func(_ int, c *Ctx, gate chan bool) error { begun <- true; <-gate; return nil })
	yields := NewAction("Yields", func(_ int, c *Ctx, gate chan bool) error {
		begun <- true
		<-gate
		before := c.w.slot.Load()
		c.Yield()
		if c.w.slot.Load() == before {
			t.Error("it has the slot that it gave")
		}
		return nil
	})
	first, other, next := make(chan bool), make(chan bool), make(chan bool)
	_ = yields.Tell(bg, must(t, s, "", Value(1)), first)
	<-begun
	_ = stay.Tell(bg, must(t, s, "", Value(2)), other)
	<-begun
	_ = stay.Tell(bg, must(t, s, "", Value(3)), next)
	close(first)
	<-begun // the third has its slot
	eventually(t, p.q.Any)
	close(other)
	eventually(t, func() bool { return !p.q.Any() })
	close(next)
	resting(t, p)
}
