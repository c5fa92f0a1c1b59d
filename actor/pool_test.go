package actor

import (
	"testing"
	"time"
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

// The monitor takes no slot whose handler has just finished, and who has lost the slot
// gets no actor: else the slot would sleep twice.
func TestSlotIsTakenFromHandlersOnly(t *testing.T) {
	s := newSys(t, Config{Slots: 1, Handoff: time.Hour})
	p := &s.pool
	resting(t, p)
	sl := p.slots[0]
	w := sl.owner.Load()
	sl.since.Store(7)
	if p.takeAway(sl, 6) || sl.owner.Load() != w {
		t.Error("the slot of a handler that has finished was taken")
	}
	sl.since.Store(0)

	if e, ok := p.pop(&hand{pool: p}, sl); !ok || e.a != nil {
		t.Errorf("somebody without a slot got %v, %t", e, ok)
	}
	resting(t, p) // the slot sleeps once
}

// A slot that is taken from a handler goes to somebody else, and there is one as before
// when the handler has ended.
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
	if !p.takeAway(sl, sl.since.Load()) {
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
