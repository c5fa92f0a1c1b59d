//go:build firq_failpoints

package lockfree

import (
	"testing"
	"time"

	"github.com/firq-go/firq/internal/core/clock"
)

// drainQuietly is a hold that drains every inbox.
func drainQuietly(sh *shard[string, int]) {
	sh.lock()
	sh.drainPolled()
	sh.unlock()
}

// A task may be announced between the moment the lease is taken and the moment boxDue is
// reset; its producer has said its deadline for the last time by then.
func TestSchedulesDueAnnouncedBeforeReset(t *testing.T) {
	s := build(t, config{})
	sh := s.shards[0]
	admit(t, s, "a", task{Payload: 1, Deadline: far().Add(time.Hour)}) // so that there is something to reset
	deadline := far()
	limit := s.shared.Clock.Due(deadline)
	met, restore := once("drain polled due", func() { admit(t, s, "b", task{Payload: 2, Deadline: deadline}) })
	drainQuietly(sh)
	restore()
	if due := s.NextDue(); !*met || due > limit {
		t.Errorf("met %t: nothing expires before %d, and a task does before %d", *met, due, limit)
	}
	take(t, s, 1, 2)
}

// A hold that takes in a tenant's tasks up to the one that was announced leaves those that
// came later in the inbox, and gives the inbox its deadline back. A caller that has looked at
// the inbox in between looks at the queue next: that keeps the deadline as well, until a hold
// has drained every inbox.
func TestSchedulesDueLeftInInbox(t *testing.T) {
	s := build(t, config{})
	sh := s.shards[0]
	hole := stopped(t, s, "a", task{Payload: 1}) // so that the next ones go into the inbox
	if err := hole.charge(); err != nil {
		t.Fatal(err)
	}
	admit(t, s, "a", task{Payload: 2, Deadline: far().Add(time.Hour)})
	deadline := far()
	limit := s.shared.Clock.Due(deadline)
	met, restore := once("drain due", func() { admit(t, s, "a", task{Payload: 3, Deadline: deadline}) })
	touch(s)
	restore()
	tn, _ := s.tenants.Load("a")
	if !*met || tn.Len() != 1 {
		t.Fatalf("met %t, %d tasks were taken in: this test shows nothing", *met, tn.Len())
	}
	if box, due := tn.boxDue.Load(), sh.due.Load(); box > limit || due > limit {
		t.Errorf("the inbox says %d and the shard %d, a task expires before %d", box, due, limit)
	}
	hole.publish()
	drainQuietly(sh)
	for range 3 {
		if _, ok := s.TryDequeue(); !ok {
			t.Fatal("a task is missing")
		}
	}
	drainQuietly(sh)
	if due := sh.due.Load(); due != clock.Never {
		t.Errorf("nothing is left, and the shard says %d", due)
	}
}

// A call that finds a tenant full looks at what all inboxes say once that has expired: or it would
// take the lease again and again for a time that only drainPolled can take back.
func TestSchedulesDueTakenBackByTenant(t *testing.T) {
	s := build(t, config{MaxPerTenant: 2})
	sh := s.shards[0]
	admit(t, s, "a", task{Payload: 1}, task{Payload: 2})
	now := s.shared.Clock.Now()
	sh.lock()
	sh.kept = now - 1
	sh.unlock()
	if due := sh.due.Load(); due != now-1 {
		t.Fatalf("the shard says %d, want %d: this test shows nothing", due, now-1)
	}
	tn, _ := s.tenants.Load("a")
	if sh.reclaim(tn, now) {
		t.Error("tasks without deadlines were dropped")
	}
	if due := sh.due.Load(); due != clock.Never {
		t.Errorf("nothing expires, and the shard says %d", due)
	}
	take(t, s, 1, 2)
}
