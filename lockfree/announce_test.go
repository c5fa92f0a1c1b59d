package lockfree

import (
	"testing"
	"time"

	"github.com/firq-go/firq"
)

// A tenant whose inbox is drained before its first activation, because a caller
// needs the lease for another reason, has to be known to its shard by then: else
// its deliveries have no shard to count Done, and no sweep would ever forget it.
func TestDrainedBeforeAnnounced(t *testing.T) {
	for _, x := range []struct {
		how   string
		tasks int // of stopped producers, between E4 and E5
		drain func(t *testing.T, s *scheduler)
	}{
		{"replace", 2, func(t *testing.T, s *scheduler) {
			if ok, err := s.Replace("a", mustTask(t, s, task{Payload: 9}), false); !ok {
				t.Fatalf("Replace: %t, %v", ok, err)
			}
		}},
		{"put", inboxSize, func(t *testing.T, s *scheduler) { admit(t, s, "a", task{Payload: 9}) }},
		{"cancel", 2, func(t *testing.T, s *scheduler) {
			tn, _ := s.tenants.Load("a")
			tn.CancelTicket(new(firq.Ticket))
		}},
		{"reclaim", 2, func(t *testing.T, s *scheduler) {
			tn, _ := s.tenants.Load("a")
			tn.shard.reclaim(tn, s.shared.Clock.Now())
		}},
	} {
		t.Run(x.how, func(t *testing.T) {
			cfg := config{MaxInFlightPerTenant: 1, MaxTenants: 1, TenantIdle: time.Nanosecond}
			if x.how == "replace" {
				cfg.MaxPerTenant = x.tasks
			}
			s := build(t, cfg)
			var calls []*producer
			for i := range x.tasks {
				calls = append(calls, published(t, s, "a", task{Payload: i}))
			}
			x.drain(t, s)
			for range s.Len() {
				it, ok := s.TryDequeue()
				if !ok {
					t.Fatalf("nothing delivered with %d tasks queued: Done was lost", s.Len())
				}
				it.Done()
			}
			for _, p := range calls {
				p.announce()
			}
			if err := atRest(s); err != nil {
				t.Error(err)
			}
			if st := s.Stats(); st.Tenants != 0 || st.InFlight != 0 || s.tenants.Size() != 0 {
				t.Errorf("%d tenants and %d in flight are left, %d in the map", st.Tenants, st.InFlight, s.tenants.Size())
			}
		})
	}
}

// A tenant that is new, and whose first task is refused for its ticket, is known
// and forgotten as any other.
func TestRefusedTicketIsKnown(t *testing.T) {
	s := build(t, config{MaxTenants: 2, TenantIdle: time.Nanosecond})
	var tk firq.Ticket
	admit(t, s, "a", task{Payload: 1, Ticket: &tk})
	if err := s.Enqueue("b", task{Ticket: &tk}); err == nil {
		t.Fatal("the ticket was used twice")
	}
	take(t, s, 1)
	if n := s.Stats().Tenants; n != 0 || s.known.Load() != 0 {
		t.Errorf("%d tenants are known, %d counted", n, s.known.Load())
	}
}

// A producer that was stopped inside Push leaves a hole in the activation ring.
// The lease holder takes what is behind it: from then on, until the shard says
// that it is ready, only the ring's slots say that there is work.
func TestActivationBehindHole(t *testing.T) {
	eachStart(t, func(t *testing.T, first uint32) {
		s := buildAt(t, config{}, first)
		sh := s.shards[0]
		late := published(t, s, "late", task{Payload: 2})
		hole := reserve(t, sh)
		admit(t, s, "a", task{Payload: 1})
		sh.lease.Lock()
		sh.begin()
		if !sh.work() {
			t.Error("with the lease held, after L1: no work")
		}
		got := start(func() bool { _, ok := s.TryDequeue(); return ok })
		waits(t, "TryDequeue", got)
		sh.unlock()
		if !result(t, "TryDequeue", got) {
			t.Error("a task was hidden")
		}
		put(&sh.activations.Slots, hole, activation[string, int]{t: late.t, ticket: late.ticket})
		take(t, s, 2)
		nothing(t, s)
	})
}

// L4: the ring is freed after the shard has said whether it is ready, and a tenant
// is made polled after it has. A consumer that looks at any instant sees work.
func TestWorkIsSeenAllTheTime(t *testing.T) {
	s := build(t, config{})
	sh := s.shards[0]
	admit(t, s, "a", task{Payload: 1})
	sh.lock()
	if !sh.work() {
		t.Error("drained, and no consumer is notified")
	}
	sh.unlock()
	if !sh.work() {
		t.Error("queued, and no consumer is notified")
	}
	take(t, s, 1)
	p := published(t, s, "a", task{Payload: 2})
	admit(t, s, "a", task{Payload: 3})
	sh.lock()
	// The tenant is polled now, and its next task is not announced.
	if tn, _ := s.tenants.Load("a"); !tn.polled || !s.rounds.Ready(0) {
		t.Errorf("polled: %t, ready: %t; want both, before the lease is free", tn.polled, s.rounds.Ready(0))
	}
	sh.unlock()
	p.announce()
	take(t, s, 2, 3)
}

// Everything that brings work changes the version, by which a consumer knows that
// it has to look again at shards which it found empty.
func TestVersionMoves(t *testing.T) {
	s := build(t, config{Shards: 2, MaxInFlightPerTenant: 1})
	moves := func(what string, f func()) {
		t.Helper()
		before, _ := s.version()
		f()
		if after, sure := s.version(); after == before || !sure {
			t.Errorf("%s: the version is the same, or in between: %t", what, !sure)
		}
	}
	moves("an activation", func() { admit(t, s, "a", task{Payload: 1}, task{Payload: 2}) })
	moves("ready", func() { touch(s) })
	it := take(t, s, 1)
	nothing(t, s)
	moves("ready again by Done", func() { it.Done() })
	it = take(t, s, 2)
	it.Done()
}

// Between a full activation ring and its first slot, whose producer was stopped,
// announce does not wait for a free slot: it does the lease holder's work.
func TestActivationRingFull(t *testing.T) {
	eachStart(t, func(t *testing.T, first uint32) {
		s := buildAt(t, config{MaxInFlightPerTenant: 1}, first)
		sh := s.shards[0]
		late := published(t, s, "late", task{Payload: -1})
		hole := reserve(t, sh)
		done := start(func() int {
			for i := range 3 * announceSize {
				if err := s.Enqueue("a", task{Payload: i}); err != nil {
					t.Errorf("Enqueue %d: %v", i, err)
				}
				it, ok := s.TryDequeue()
				if !ok || it.Payload != i {
					t.Errorf("dequeued %d, %t; want %d", it.Payload, ok, i)
				}
				it.Done()
			}
			return 0
		})
		result(t, "Enqueue beside a hole in the activation ring", done)
		if err := withStopped(s, 1, 1); err != nil {
			t.Error(err)
		}
		put(&sh.activations.Slots, hole, activation[string, int]{t: late.t, ticket: late.ticket})
		take(t, s, -1)
		nothing(t, s)
	})
}

// A producer that finds the ring full and drains its tenant itself wakes a
// sleeping consumer, as an activation would.
func TestActivationRingFullWakes(t *testing.T) {
	s := build(t, config{})
	sh := s.shards[0]
	a, err := s.lookUp("a", nil)
	if err != nil {
		t.Fatal(err)
	}
	hole := reserve(t, sh)
	stale := activation[string, int]{t: a}
	for push(&sh.activations, stale) {
	}
	touch(s) // takes all of them out; the slots stay behind the hole
	ctx := patient(t)
	got := start(func() error { _, err := s.Dequeue(ctx); return err })
	until(t, "a consumer asleep", func() bool { return s.parker.Parked() == 1 })
	admit(t, s, "a", task{})
	if err := result(t, "Dequeue", got); err != nil {
		t.Errorf("asleep while there is a task: %v", err)
	}
	put(&sh.activations.Slots, hole, stale)
}
