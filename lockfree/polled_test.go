package lockfree

import (
	"testing"

	"github.com/firq-go/firq"
)

// L3, the second look: a producer that saw the polled bit publishes after the last
// look at its inbox and before the bit is cleared. It announces nothing.
func TestUnpolledLooksAgain(t *testing.T) {
	eachStart(t, func(t *testing.T, first uint32) {
		s := buildAt(t, config{}, first)
		tn := polled(t, s, "a", 1, 2)
		sh := tn.shard
		sh.lock()
		for range 2 {
			dt, _, _ := sh.Queue.Next(s.shared.Clock.Now())
			if dt != &tn.Tenant.Tenant {
				t.Fatal("nothing to serve")
			}
			sh.left(tn)
		}
		if tn.Len() != 0 || len(sh.emptied) != 1 {
			t.Fatalf("%d queued, %d tenants to become unpolled", tn.Len(), len(sh.emptied))
		}
		tail := sh.activations.Tail()
		admit(t, s, "a", task{Payload: 3})
		if sh.activations.Tail() != tail {
			t.Fatal("announced, though the tenant is polled")
		}
		sh.unlock()
		if tn.Len() != 1 || !sh.work() {
			t.Errorf("%d queued, work: %t; the task is hidden", tn.Len(), sh.work())
		}
		if tn.polled {
			t.Error("polled with one task: it would be unpolled again soon")
		}
		sh.lease.Lock()
		if err := sh.check(); err != nil {
			t.Error(err)
		}
		sh.lease.Unlock()
		admit(t, s, "a", task{Payload: 4})
		take(t, s, 3, 4)
	})
}

// The same with more tasks than one: the tenant is polled again after the look,
// and the shard is ready.
func TestPolledAgain(t *testing.T) {
	s := build(t, config{})
	tn := polled(t, s, "a", 1, 2)
	sh := tn.shard
	sh.lock()
	for range 2 {
		sh.Queue.Next(s.shared.Clock.Now())
		sh.left(tn)
	}
	admit(t, s, "a", task{Payload: 3}, task{Payload: 4})
	sh.unlock()
	sh.lease.Lock()
	if err := sh.check(); err != nil || !tn.polled {
		t.Errorf("%v; polled: %t", err, tn.polled)
	}
	sh.lease.Unlock()
	admit(t, s, "a", task{Payload: 5})
	take(t, s, 3, 4, 5)
	nothing(t, s)
}

// A polled tenant's tasks are seen by a consumer that looks, although no producer announces
// them, also when they are all that is there.
func TestPolledIsServed(t *testing.T) {
	eachStart(t, func(t *testing.T, first uint32) {
		s := buildAt(t, config{}, first)
		polled(t, s, "a", 0, 1)
		for i := range 3 * inboxSize {
			admit(t, s, "a", task{Payload: i + 2})
			take(t, s, i)
			sh := s.shards[0]
			sh.lease.Lock()
			if err := sh.check(); err != nil {
				t.Fatal(err)
			}
			sh.lease.Unlock()
		}
	})
}

// What comes while a polled tenant is being served belongs to the same turn: its
// inbox is looked at again before the tenant counts as empty.
func TestTurnGoesOn(t *testing.T) {
	s := build(t, config{Quantum: 10})
	tn := polled(t, s, "a", 1, 2)
	admit(t, s, "b", task{Payload: 9})
	sh := tn.shard
	sh.lock()
	for want := 1; want <= 4; want++ {
		if tn.Len() == 0 {
			admit(t, s, "a", task{Payload: want}) // which announces nothing
		}
		_, d, _ := sh.Queue.Next(s.shared.Clock.Now())
		if d.Payload != want {
			t.Errorf("%d is served, want %d", d.Payload, want)
		}
		sh.left(tn)
	}
	sh.unlock()
	take(t, s, 9)
}

// One batch with tasks of several tenants gives each its places back.
func TestBatchGivesPlacesBack(t *testing.T) {
	s := build(t, config{MaxPerTenant: 2})
	for _, k := range []string{"a", "b", "c"} {
		admit(t, s, k, task{}, task{})
	}
	var dst [6]item
	if n, err := s.DequeueBatch(patient(t), dst[:]); n != 6 || err != nil {
		t.Fatalf("DequeueBatch: %d, %v", n, err)
	}
	for _, k := range []string{"a", "b", "c"} {
		admit(t, s, k, task{}, task{})
	}
}

// However a polled tenant loses its last task, it becomes unpolled.
func TestUnpolledWhenEmptied(t *testing.T) {
	for _, x := range []struct {
		how   string
		empty func(t *testing.T, s *scheduler)
	}{
		{"delivered", func(t *testing.T, s *scheduler) { take(t, s, 1, 2) }},
		{"delivered in a batch", func(t *testing.T, s *scheduler) {
			var dst [4]item
			if n, err := s.DequeueBatch(patient(t), dst[:]); n != 2 || err != nil {
				t.Fatalf("DequeueBatch: %d, %v", n, err)
			}
		}},
		{"evicted", func(t *testing.T, s *scheduler) {
			tn, _ := s.tenants.Load("a")
			for tn.Len() > 0 {
				tn.shard.lock()
				tn.shard.Evict(&tn.Tenant, firq.PriorityCritical, false)
				tn.shard.left(tn)
				tn.shard.unlock()
			}
		}},
		{"expired", func(t *testing.T, s *scheduler) {
			s.shards[0].reclaim(nil, 1<<62)
		}},
	} {
		t.Run(x.how, func(t *testing.T) {
			s := build(t, config{})
			admit(t, s, "a", task{Payload: 1, Deadline: far()}, task{Payload: 2, Deadline: far()})
			touch(s)
			tn, _ := s.tenants.Load("a")
			if !tn.polled {
				t.Fatal("unpolled with two tasks")
			}
			x.empty(t, s)
			if err := atRest(s); err != nil {
				t.Error(err)
			}
			if tn.polled {
				t.Error("polled without a task")
			}
			admit(t, s, "a", task{Payload: 3})
			take(t, s, 3)
		})
	}
}

// A polled tenant that is blocked by its in-flight limit makes no shard ready: Done
// does.
func TestPolledAndBlocked(t *testing.T) {
	s := build(t, config{MaxInFlightPerTenant: 1})
	tn := polled(t, s, "a", 1, 2, 3)
	it := take(t, s, 1)
	if s.work() {
		t.Error("work, though the only tenant is blocked")
	}
	if !tn.polled {
		t.Error("unpolled with two tasks queued")
	}
	admit(t, s, "a", task{Payload: 4})
	nothing(t, s)
	if err := atRest(s); err != nil {
		t.Error(err)
	}
	for _, next := range []int{2, 3, 4} {
		it.Done()
		it = take(t, s, next)
	}
	it.Done()
	nothing(t, s)
}
