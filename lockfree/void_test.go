package lockfree

import (
	"errors"
	"testing"
	"time"

	"github.com/firq-go/firq"
)

// exhaust takes all credits that are left; the function gives them back.
func exhaust(s *scheduler) (giveBack func()) {
	n := 0
	for s.credit.Take() {
		n++
	}
	return func() { s.credit.Give(n) }
}

// A call that has its ticket and finds no credit gives back its place, and
// publishes nothing in its slot: the drain skips it, tasks before and after come
// in order, the books do not know of it.
func TestVoid(t *testing.T) {
	eachStart(t, func(t *testing.T, first uint32) {
		s := buildAt(t, config{MaxPerTenant: 3, MaxTenants: 1, TenantIdle: time.Nanosecond}, first)
		var tk firq.Ticket
		one := stopped(t, s, "a", task{Payload: 1})
		two := stopped(t, s, "a", task{Payload: 2, Ticket: &tk})
		three := stopped(t, s, "a", task{Payload: 3})
		if err := withStopped(s, 3, 0); err != nil {
			t.Error(err)
		}
		for _, p := range []*producer{three, one} {
			if err := p.charge(); err != nil {
				t.Fatal(err)
			}
		}
		three.publish()
		giveBack := exhaust(s)
		if err := two.charge(); !errors.Is(err, firq.ErrGlobalFull) {
			t.Fatalf("without a credit: %v", err)
		}
		two.void()
		giveBack()
		if held := two.t.held(two.t.word.Load()); held != 2 {
			t.Errorf("%d places are taken, want 2", held)
		}
		one.publish()
		admit(t, s, "a", task{Payload: 4, Ticket: &tk}) // the ticket is free again
		take(t, s, append(inTurn(one, 1, 3), 4)...)
		nothing(t, s)
		if st := s.Stats(); st.Enqueued != 3 || st.Dequeued != 3 || st.Tenants != 0 {
			t.Errorf("Enqueued %d, Dequeued %d, Tenants %d; want 3, 3, 0", st.Enqueued, st.Dequeued, st.Tenants)
		}
	})
}

// enter is the same in one go. A new tenant that never got a task is known, so
// that it will be forgotten; the void slot is drained without another call.
func TestVoidOfNewTenant(t *testing.T) {
	s := build(t, config{MaxTenants: 1, TenantIdle: time.Nanosecond})
	giveBack := exhaust(s)
	d := mustTask(t, s, task{Payload: 1})
	if err := s.enter(nil, "a", &d, nil, 0); !errors.Is(err, firq.ErrGlobalFull) {
		t.Fatalf("without a credit: %v", err)
	}
	giveBack()
	tn, _ := s.tenants.Load("a")
	nothing(t, s)
	if !tn.registered || tn.taker.Head() != uint32(tn.word.Load()/tailUnit) {
		t.Errorf("known: %t, drained up to %d of %d", tn.registered, tn.taker.Head(), tn.word.Load()/tailUnit)
	}
	if n := s.Stats().Tenants; n != 0 || s.known.Load() != 0 {
		t.Errorf("%d tenants left, %d counted", n, s.known.Load())
	}
}

// A polled tenant's void slot is found by the call that comes by anyway.
func TestVoidOfPolledTenant(t *testing.T) {
	eachStart(t, func(t *testing.T, first uint32) {
		s := buildAt(t, config{}, first)
		tn := polled(t, s, "a", 1, 2)
		tail := s.shards[0].activations.Tail()
		for range inboxSize - usedIn(tn.word.Load()) {
			stopped(t, s, "a", task{}).void()
		}
		if n := s.shards[0].activations.Tail() - tail; n != 0 {
			t.Errorf("a polled tenant was announced %d times", n)
		}
		admit(t, s, "a", task{Payload: 3}) // the inbox is full of nothing
		take(t, s, 1, 2, 3)
		nothing(t, s)
		if tn.polled {
			t.Error("polled without a task")
		}
	})
}

// No call reports a full tenant on account of a call that is itself
// refused in the end: a call that finds the last place taken by a call between E1 and E4
// waits for it.
func TestFullWaitsForCalls(t *testing.T) {
	for _, x := range []struct {
		what string
		take func(t *testing.T, s *scheduler) (giveBack func())
	}{
		{"a ticket", func(t *testing.T, s *scheduler) func() {
			return stopped(t, s, "a", task{Payload: 2}).void
		}},
		{"a place under the lease", func(t *testing.T, s *scheduler) func() { // see put
			tn, _ := s.tenants.Load("a")
			tn.direct.Add(1)
			tn.word.Add(^uint64(roomUnit - 1))
			return func() {
				tn.word.Add(roomUnit)
				tn.direct.Add(1)
			}
		}},
	} {
		t.Run(x.what, func(t *testing.T) {
			s := build(t, config{MaxPerTenant: 2})
			admit(t, s, "a", task{Payload: 1})
			touch(s)
			giveBack := x.take(t, s)
			enqueue := start(func() error { return s.Enqueue("a", task{Payload: 3}) })
			waits(t, "Enqueue", enqueue)
			d := mustTask(t, s, task{Payload: 4})
			tn, _ := s.tenants.Load("a")
			enter := start(func() error { return s.enter(tn, "a", &d, nil, 0) })
			waits(t, "enter", enter)
			giveBack()
			refused := 0
			for _, done := range []<-chan error{enqueue, enter} {
				if err := result(t, "Enqueue", done); errors.Is(err, firq.ErrTenantFull) {
					refused++
				} else if err != nil {
					t.Error(err)
				}
			}
			if refused != 1 {
				t.Errorf("%d of 2 calls refused with one place free", refused)
			}
			take(t, s, 1)
		})
	}
}

// When the call that took the last place gets in, the tenant is full.
func TestFullOfTasks(t *testing.T) {
	s := build(t, config{MaxPerTenant: 1})
	p := stopped(t, s, "a", task{Payload: 1})
	enqueue := start(func() error { return s.Enqueue("a", task{Payload: 2}) })
	waits(t, "Enqueue", enqueue)
	if err := p.charge(); err != nil {
		t.Fatal(err)
	}
	waits(t, "Enqueue", enqueue)
	p.put()
	if err := result(t, "Enqueue", enqueue); !errors.Is(err, firq.ErrTenantFull) {
		t.Errorf("one of one place taken: %v", err)
	}
	p.announce()
	take(t, s, 1)
}

// The real calls, stopped between E1 and E2 by a producer that moves credits, and
// refused in the end.
func TestFullWaitsForRefusedCalls(t *testing.T) {
	for _, byPut := range []bool{false, true} {
		s := build(t, config{MaxPerTenant: 1})
		tn, err := s.lookUp("a", nil)
		if err != nil {
			t.Fatal(err)
		}
		giveBack := exhaust(s)
		goOn := stopMover(t, s)
		d := mustTask(t, s, task{Payload: 1})
		refused := start(func() error {
			if byPut {
				_, err := tn.shard.enqueueLocked(tn, &d, nil)
				return err
			}
			return s.enter(tn, "a", &d, nil, 0)
		})
		until(t, "E1", func() bool { return tn.word.Load()&roomBit == 0 })
		full := start(tn.full)
		waits(t, "full", full)
		goOn()
		if err := result(t, "the call", refused); !errors.Is(err, firq.ErrGlobalFull) {
			t.Errorf("by put %t: %v", byPut, err)
		}
		if result(t, "full", full) {
			t.Errorf("by put %t: full, though no task was ever admitted", byPut)
		}
		giveBack()
		touch(s)
	}
}

// put needs a credit as well, and without one leaves everything as it was.
func TestPutWithoutCredit(t *testing.T) {
	s := build(t, config{MaxPerTenant: 3})
	tn := polled(t, s, "a", 1, 2)
	giveBack := exhaust(s)
	var tk firq.Ticket
	tk.Acquire(&tn.Ticket)
	d := mustTask(t, s, task{Payload: 3, Ticket: &tk})
	if done, err := tn.shard.enqueueLocked(tn, &d, nil); !done || !errors.Is(err, firq.ErrGlobalFull) {
		t.Fatalf("put: %t, %v", done, err)
	}
	giveBack()
	if tn.direct.Load()&1 != 0 || tn.held(tn.word.Load()) != 2 {
		t.Errorf("direct %d, %d places taken; want even, 2", tn.direct.Load(), tn.held(tn.word.Load()))
	}
	admit(t, s, "a", task{Payload: 4, Ticket: &tk})
	take(t, s, 1, 2, 4)
}
