package lockfree

import (
	"testing"

	"github.com/firq-go/firq"
	"github.com/firq-go/firq/lockfree/internal/ring"
)

// What is in the inbox of a polled tenant waits there only as long as it is not the
// one to be served first.
func TestEager(t *testing.T) {
	for _, x := range []struct {
		what string
		cfg  config
		last task
	}{
		{"a higher priority", config{}, task{Payload: 3, Priority: firq.PriorityHigh}},
		{"the newest first", config{Order: firq.LIFO}, task{Payload: 3}},
		{"the newest first, above high water", config{Order: firq.AdaptiveLIFO, LowWater: 1, HighWater: 2}, task{Payload: 3}},
	} {
		t.Run(x.what, func(t *testing.T) {
			s := build(t, x.cfg)
			polled(t, s, "a", 1, 2)
			admit(t, s, "a", x.last)
			take(t, s, 3)
		})
	}
}

// Tasks of a lower priority that were put into the queue under the lease wait for
// what is in the inbox.
func TestEagerAfterPut(t *testing.T) {
	s := build(t, config{})
	tn := idle(t, s, "a")
	for i := range 2 {
		d := mustTask(t, s, task{Payload: 10 + i, Priority: firq.PriorityLow})
		if done, err := tn.shard.enqueueLocked(tn, &d, nil); !done || err != nil {
			t.Fatalf("put: %t, %v", done, err)
		}
	}
	admit(t, s, "a", task{Payload: 1})
	take(t, s, 1)
	if !tn.polled {
		t.Fatal("unpolled with two tasks: this test shows nothing")
	}
	admit(t, s, "a", task{Payload: 2})
	take(t, s, 2, 10, 11)
}

// An inbox is drained once half of it is waiting in there, and not by every visit; and if those are
// plain tasks, which stay in their slots, it is emptied once it is nearly full, and grows.
func TestNeedsFill(t *testing.T) {
	eachStart(t, func(t *testing.T, first uint32) {
		for _, plain := range []bool{true, false} {
			s := buildAt(t, config{}, first)
			tn := polled(t, s, "a", count(0, 6)...)
			next := 6
			add := func(n int) {
				for range n {
					x := task{Payload: next}
					if !plain {
						x.Deadline = far()
					}
					admit(t, s, "a", x)
					next++
				}
			}
			waits := func(what string, want int) {
				t.Helper()
				w := tn.word.Load()
				if got := ring.Distance(tailOf(w), tn.taker.Head()); got != want || int(usedIn(w)) != got+tn.Lent() {
					t.Errorf("plain %v, %s: %d tasks wait in the inbox, want %d; %d are lent, %d slots in use", plain, what, got, want, tn.Lent(), usedIn(w))
				}
			}
			most := fillAt - 1
			if plain {
				most = inboxSize - inboxSize/4 - 1 - int(usedIn(tn.word.Load()))
			}
			add(most)
			take(t, s, 0, 1)
			waits("not yet to be filled", most)
			add(4)
			take(t, s, 2) // sees it
			take(t, s, 3)
			waits("needsFill", 0)
			if n := tn.Lent(); n != 0 {
				t.Errorf("plain %v: %d slots are lent", plain, n)
			}
			if size := tn.inbox.Load().Size(); plain != (size == lendSize) {
				t.Errorf("plain %v: %d slots", plain, size)
			}
			take(t, s, count(4, next-4)...)
			nothing(t, s)
		}
	})
}

// An inbox is crowded with plain tasks when three quarters of its slots are in use, and not when
// as many tasks wait in it as would do if they had to be moved.
func TestNotCrowdedByPlain(t *testing.T) {
	s := build(t, config{})
	tn := polled(t, s, "a", count(0, 6)...)
	take(t, s, 0, 1, 2)
	for i := range fillAt {
		admit(t, s, "a", task{Payload: 6 + i})
	}
	take(t, s, 3) // sees them
	take(t, s, 4)
	if got := ring.Distance(tailOf(tn.word.Load()), tn.taker.Head()); got != fillAt {
		t.Errorf("%d tasks wait in the inbox, want %d", got, fillAt)
	}
	take(t, s, count(5, 1+fillAt)...)
	nothing(t, s)
}

// What Enqueue has accepted is found behind a hole, though it is not announced:
// the tenant is polled.
func TestCancelBehindHoleOfPolledTenant(t *testing.T) {
	for _, empty := range []bool{false, true} {
		s := build(t, config{})
		tn := polled(t, s, "a", 1, 2)
		if empty { // polled for the moment, and not active
			tn.shard.lock()
			defer tn.shard.unlock()
			for range 2 {
				tn.shard.Queue.Next(s.shared.Clock.Now())
				tn.shard.left(tn)
			}
			tn.shard.Queue.Retire(&tn.Tenant.Tenant)
		}
		p := stopped(t, s, "a", task{Payload: 3})
		if err := p.charge(); err != nil {
			t.Fatal(err)
		}
		var tk firq.Ticket
		admit(t, s, "a", task{Payload: 4, Ticket: &tk})
		if empty {
			tn.shard.drainAll(tn)
			if tn.Len() != 1 {
				t.Errorf("%d queued, want 1", tn.Len())
			}
		} else if !tk.Cancel() {
			t.Error("not cancelled, though Enqueue has returned")
		}
		p.publish()
	}
}

// L3 finds what was put in while the tenant was polled also behind a hole, at the
// end of a visit and at the end of a hold.
func TestLooksAgainBehindHole(t *testing.T) {
	eachStart(t, func(t *testing.T, first uint32) {
		for _, visit := range []bool{false, true} {
			s := buildAt(t, config{}, first)
			tn := polled(t, s, "a", 1, 2)
			sh := tn.shard
			sh.lock()
			for range 2 {
				sh.Queue.Next(s.shared.Clock.Now())
				if visit {
					sh.owe(tn, roomUnit)
				} else {
					sh.left(tn)
				}
			}
			p := stopped(t, s, "a", task{Payload: 3})
			if err := p.charge(); err != nil {
				t.Fatal(err)
			}
			admit(t, s, "a", task{Payload: 4})
			if visit {
				sh.endVisit(tn)
				s.credit.Give(2)
			}
			sh.unlock()
			if tn.Len() != 1 || !sh.work() {
				t.Errorf("visit %t: %d queued, work: %t; the task is hidden", visit, tn.Len(), sh.work())
			}
			p.publish()
			take(t, s, 4, 3)
			nothing(t, s)
		}
	})
}

// However often a hold goes to and fro between tenants, each gets back its own
// slots and places, once, and the right ones are polled.
func TestOweToAndFro(t *testing.T) {
	eachStart(t, func(t *testing.T, first uint32) {
		const limit = 6
		s := buildAt(t, config{MaxPerTenant: limit, Quantum: 1}, first)
		keys := []string{"a", "b", "c"}
		for range 20 {
			for i, k := range keys {
				for j := range limit {
					admit(t, s, k, task{Payload: 10*i + j})
				}
				refuse(t, s, k, firq.ErrTenantFull)
			}
			for _, most := range []int{1, 4, 7, 6} {
				dst := make([]item, most)
				if n, err := s.DequeueBatch(t.Context(), dst); n != most || err != nil {
					t.Fatalf("DequeueBatch: %d, %v", n, err)
				}
				if err := atRest(s); err != nil {
					t.Fatal(err)
				}
			}
			for _, k := range keys {
				tn, _ := s.tenants.Load(k)
				if w := tn.word.Load(); usedIn(w) != 0 || tn.held(w) != 0 || w&polledBit != 0 {
					t.Fatalf("%s: %d slots, %d places, polled %t", k, usedIn(w), tn.held(w), w&polledBit != 0)
				}
			}
		}
	})
}
