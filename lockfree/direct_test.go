package lockfree

import (
	"errors"
	"testing"
	"time"

	"github.com/firq-go/firq"
)

// direct makes a scheduler whose tasks may pass by the inboxes, with one tenant, "a",
// that is known and idle.
func direct(t *testing.T, cfg config) *scheduler {
	t.Helper()
	s := buildAt(t, cfg, lendSize)
	s.direct = s.bare
	admit(t, s, "a", task{Payload: 1})
	it, ok := s.TryDequeue()
	if !ok {
		t.Fatal("nothing is delivered")
	}
	it.Done()
	nothing(t, s)
	return s
}

// A task passes by the inbox if nothing is in its way; else nothing has changed, and the
// other way admits it or says why not.
func TestDirect(t *testing.T) {
	hour := time.Now().Add(time.Hour)
	nop := func(t *testing.T, s *scheduler) (undo func()) { return func() {} }
	for _, test := range []struct {
		name   string
		cfg    config
		before func(t *testing.T, s *scheduler) (undo func())
		task   task
		want   bool
		err    error // of Enqueue, if not direct
	}{
		{"plain", config{}, nop, task{}, true, nil},
		{"plain, one of two shards", config{Shards: 2}, nop, task{}, true, nil},
		{"with its own quantum and limit", config{
			QuantumFor: func(string) int64 { return 7 }, MaxPerTenantFor: func(string) int { return 3 },
		}, nop, task{}, true, nil},
		{"of a cost", config{}, nop, task{Cost: 3}, true, nil},
		{"of a negative cost", config{}, nop, task{Cost: -1}, false, firq.ErrInvalidTask},
		{"with a deadline", config{}, nop, task{Deadline: hour}, false, nil},
		{"with a priority", config{}, nop, task{Priority: firq.PriorityHigh}, false, nil},
		{"of a flow", config{}, nop, task{Flow: 1}, false, nil},
		{"with a ticket", config{}, nop, task{Ticket: new(firq.Ticket)}, false, nil},
		{"an age limit", config{MaxQueueAge: time.Hour}, nop, task{}, false, nil},
		{"newest first", config{Order: firq.LIFO}, nop, task{}, false, nil},
		{"a threshold", config{DynamicThreshold: 1}, nop, task{}, false, nil},
		{"a full tenant", config{MaxPerTenant: 1}, func(t *testing.T, s *scheduler) func() {
			admit(t, s, "a", task{Payload: 2})
			return func() { take(t, s, 2) }
		}, task{}, false, firq.ErrTenantFull},
		{"no credit", config{}, func(_ *testing.T, s *scheduler) func() { return exhaust(s) }, task{}, false, firq.ErrGlobalFull},
		{"a task in the inbox", config{}, func(t *testing.T, s *scheduler) func() {
			p := stopped(t, s, "a", task{Payload: 2})
			if err := p.charge(); err != nil {
				t.Fatal(err)
			}
			return func() { p.publish() }
		}, task{}, false, nil},
		{"the lease is taken", config{}, func(t *testing.T, s *scheduler) func() {
			sh := s.shards[0]
			sh.lock()
			return sh.unlock
		}, task{}, false, nil},
		{"the lease was contended", config{}, func(t *testing.T, s *scheduler) func() {
			s.shards[0].contention.at.Store(s.shared.Clock.Now())
			return func() {}
		}, task{}, false, nil},
	} {
		t.Run(test.name, func(t *testing.T) {
			s := direct(t, test.cfg)
			tenant, _ := s.tenants.Load("a")
			undo := test.before(t, s)
			held, queued := tenant.holds(), s.Len()
			got := s.enqueueDirect(s.find("a", nil), &test.task, s.shared.Clock.Now())
			if got != test.want {
				t.Fatalf("direct: %v, want %v", got, test.want)
			}
			if got {
				held, queued = held+1, queued+1
			}
			if h, n := tenant.holds(), s.Len(); h != held || n != queued {
				t.Errorf("the tenant holds %d, and %d are queued; want %d and %d", h, n, held, queued)
			}
			if tenant.shard.lease.TryLock() {
				if err := tenant.shard.check(); err != nil && got {
					t.Fatal(err)
				}
				tenant.shard.lease.Unlock()
			} else if test.name != "the lease is taken" {
				t.Error("the lease is taken")
			}
			switch {
			case got:
				undo()
			case test.err != nil:
				if err := s.Enqueue("a", test.task); !errors.Is(err, test.err) {
					t.Errorf("Enqueue: %v, want %v", err, test.err)
				}
				undo()
			default:
				undo()
				admit(t, s, "a", test.task)
			}
			for s.Len() > 0 {
				if _, ok := s.TryDequeue(); !ok {
					t.Fatal("nothing is delivered")
				}
			}
		})
	}
}

// What a tenant's word has to say for a task to pass by its inbox.
func TestCanSkip(t *testing.T) {
	const fine = 3*tailUnit*slotsEvery + lendSize*tailUnit + roomBit
	for word, want := range map[uint64]bool{
		fine: true, fine | polledBit: true, fine | deadBit: false, fine | usedUnit: true, fine | 2*usedUnit: false, fine &^ roomBit: false,
		fine - tailUnit: false,
	} {
		if got := canSkip(word); got != want {
			t.Errorf("%#x: %v, want %v", word, got, want)
		}
	}
}

// A tenant that becomes active by a task which passes by its inbox has the quantum and
// the limits that the config says then.
func TestDirectAsks(t *testing.T) {
	quantum := int64(2)
	s := direct(t, config{QuantumFor: func(string) int64 { return quantum }, MaxInFlightFor: func(string) int { return 1 }})
	tenant, _ := s.tenants.Load("a")
	quantum = 9
	if !s.enqueueDirect(s.find("a", nil), &task{Payload: 2}, s.shared.Clock.Now()) || !s.enqueueDirect(s.find("a", nil), &task{Payload: 3}, s.shared.Clock.Now()) {
		t.Fatal("not direct")
	}
	if q := tenant.Quantum(); q != 9 {
		t.Errorf("the quantum is %d, want 9", q)
	}
	it, ok := s.TryDequeue()
	if !ok || it.Payload != 2 {
		t.Fatalf("%v, %v", it.Payload, ok)
	}
	if _, ok := s.TryDequeue(); ok {
		t.Error("a tenant at its in-flight limit was served")
	}
	it.Done()
	take(t, s, 3)
}

// A tenant that was forgotten is not given tasks.
func TestDirectForgotten(t *testing.T) {
	s := direct(t, config{TenantIdle: time.Hour})
	h := s.Tenant("a").(*handle[string, int])
	dead := h.tenant()
	if dead == nil {
		t.Fatal("the tenant is not known")
	}
	sh := s.shards[0]
	sh.lock()
	sh.SweepSome(s.shared.Clock.Now()+int64(2*time.Hour), true, 10, sh.forget)
	sh.unlock()
	if s.tenants.Size() != 0 {
		t.Fatal("the tenant was not forgotten")
	}
	now := s.shared.Clock.Now()
	if s.enqueueDirect(h.tenant(), &task{Payload: 2}, now) {
		t.Fatal("a task went to an unknown tenant")
	}
	// By a call that has found it before that, neither.
	if s.enqueueDirect(dead, &task{Payload: 2}, now) {
		t.Fatal("a task went to a forgotten tenant")
	}
	if err := s.enqueueInbox("a", dead, &task{Payload: 2}, now); err != nil {
		t.Fatal(err)
	}
	take(t, s, 2)
	if again := h.tenant(); again == nil || again == dead {
		t.Fatal("the task was not the new tenant's")
	}
}

// What takeFast leaves to the other way: shards that have nothing, a lease that is
// taken, and all if another shard has news.
func TestFastPath(t *testing.T) {
	for _, test := range []struct {
		name   string
		shards int
		before func(t *testing.T, s *scheduler, there, other string) (undo func())
		want   bool
	}{
		{"one task", 1, func(t *testing.T, s *scheduler, there, _ string) func() {
			admit(t, s, there, task{})
			return func() {}
		}, true},
		{"nothing", 2, func(*testing.T, *scheduler, string, string) func() { return func() {} }, false},
		{"the cursor is elsewhere", 2, func(t *testing.T, s *scheduler, _, other string) func() {
			admit(t, s, other, task{})
			return func() {}
		}, true},
		{"news elsewhere", 2, func(t *testing.T, s *scheduler, there, other string) func() {
			admit(t, s, there, task{})
			s.direct = false
			admit(t, s, other, task{})
			return func() {}
		}, false},
		{"the lease is taken", 2, func(t *testing.T, s *scheduler, there, _ string) func() {
			admit(t, s, there, task{})
			s.shards[0].lock()
			return s.shards[0].unlock
		}, false},
	} {
		t.Run(test.name, func(t *testing.T) {
			s := buildAt(t, config{Shards: test.shards}, lendSize)
			s.direct = true
			there, other := "a", "b"
			for ; s.placer.Shard(there) != 0; there += "a" {
			}
			for ; test.shards > 1 && s.placer.Shard(other) != 1; other += "b" {
			}
			for _, k := range []string{there, other} {
				admit(t, s, k, task{})
				take(t, s, 0)
			}
			nothing(t, s)
			for i := range 64 {
				s.cursors.At(i).Store(0)
			}
			queued := s.Len()
			undo := test.before(t, s, there, other)
			admitted := s.Len() - queued
			var it firq.Item[string, int]
			if got := s.takeFast(&it); got != test.want {
				t.Errorf("fast path: %v, want %v", got, test.want)
			} else if got {
				admitted--
			}
			undo()
			if s.Len() != admitted {
				t.Errorf("%d are queued, want %d", s.Len(), admitted)
			}
			for s.Len() > 0 {
				if _, ok := s.TryDequeue(); !ok {
					t.Fatal("nothing is delivered")
				}
			}
		})
	}
}
