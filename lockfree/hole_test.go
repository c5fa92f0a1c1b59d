package lockfree

import (
	"testing"

	"github.com/firq-go/firq"
)

// A producer that was stopped between E1 and E4 hides its own task only.
func TestInboxBehindHole(t *testing.T) {
	eachStart(t, func(t *testing.T, first uint32) {
		s := buildAt(t, config{}, first)
		p := stopped(t, s, "a", task{Payload: 0})
		if err := p.charge(); err != nil {
			t.Fatal(err)
		}
		admit(t, s, "a", task{Payload: 1}, task{Payload: 2}, task{Payload: 3})
		take(t, s, 1, 2, 3)
		nothing(t, s)
		if err := withStopped(s, 1, 1); err != nil {
			t.Error(err)
		}
		admit(t, s, "a", task{Payload: 4})
		p.publish()
		admit(t, s, "a", task{Payload: 5})
		take(t, s, append(inTurn(p, 0, 4), 5)...)
		nothing(t, s)
	})
}

// With the inbox full behind a hole, producers queue under the lease: as many as
// there are places, in order, and the stopped one's task still comes.
func TestInboxFullBehindHole(t *testing.T) {
	eachStart(t, func(t *testing.T, first uint32) {
		const limit = 3 * inboxSize
		s := buildAt(t, config{MaxPerTenant: limit}, first)
		p := stopped(t, s, "a", task{Payload: -1})
		if err := p.charge(); err != nil {
			t.Fatal(err)
		}
		var want []int
		for i := range limit - 1 {
			admit(t, s, "a", task{Payload: i})
			want = append(want, i)
		}
		refused := start(func() error { return s.Enqueue("a", task{}) })
		waits(t, "Enqueue", refused) // as long as the stopped call may be refused
		take(t, s, want[:2*inboxSize]...)
		if err := result(t, "Enqueue", refused); err != nil {
			t.Errorf("after %d places came free: %v", 2*inboxSize, err)
		}
		if err := withStopped(s, 1, 1); err != nil {
			t.Error(err)
		}
		p.publish()
		for _, k := range want[2*inboxSize:] {
			take(t, s, k)
		}
		if n := s.Len(); n != 2 {
			t.Errorf("%d left, want 2", n)
		}
		s.TryDequeue()
		s.TryDequeue()
		nothing(t, s)
		if used := usedIn(p.t.word.Load()); used != 0 {
			t.Errorf("%d of %d slots are in use", used, inboxSize)
		}
	})
}

// Two holes, filled in either order.
func TestTwoHoles(t *testing.T) {
	for _, lastFirst := range []bool{false, true} {
		eachStart(t, func(t *testing.T, first uint32) {
			s := buildAt(t, config{}, first)
			holes := []*producer{stopped(t, s, "a", task{Payload: 1})}
			admit(t, s, "a", task{Payload: 2})
			holes = append(holes, stopped(t, s, "a", task{Payload: 3}))
			admit(t, s, "a", task{Payload: 4})
			take(t, s, 2, 4)
			if lastFirst {
				holes[0], holes[1] = holes[1], holes[0]
			}
			for _, p := range holes {
				if err := p.charge(); err != nil {
					t.Fatal(err)
				}
				p.publish()
				take(t, s, p.task.Payload)
			}
			nothing(t, s)
		})
	}
}

// Across tenants an activation brings in one task, so that they arrive in the
// order of their announcements; a hole costs its own activation nothing.
func TestAcrossBehindHole(t *testing.T) {
	s := build(t, config{PriorityScope: firq.PriorityAcrossTenants})
	p := stopped(t, s, "a", task{Payload: 9, Priority: firq.PriorityCritical})
	if err := p.charge(); err != nil {
		t.Fatal(err)
	}
	admit(t, s, "a", task{Payload: 1})
	admit(t, s, "b", task{Payload: 2})
	admit(t, s, "a", task{Payload: 3})
	take(t, s, 1, 2)
	p.publish()
	take(t, s, 9, 3)
	if p.t.polled {
		t.Error("polled, though each activation counts")
	}
}

// Cancel finds its task behind a hole; the task in the hole is not queued yet.
func TestCancelBehindHole(t *testing.T) {
	s := build(t, config{})
	var early, late firq.Ticket
	p := stopped(t, s, "a", task{Payload: 1, Ticket: &early})
	if err := p.charge(); err != nil {
		t.Fatal(err)
	}
	admit(t, s, "a", task{Payload: 2, Ticket: &late}, task{Payload: 3})
	if early.Cancel() {
		t.Error("cancelled a task that is not queued")
	}
	if !late.Cancel() || late.Cancel() {
		t.Error("the task behind the hole must be cancelled, once")
	}
	p.publish()
	if !early.Cancel() {
		t.Error("not cancelled, though Enqueue has returned")
	}
	take(t, s, 3)
	nothing(t, s)
}
