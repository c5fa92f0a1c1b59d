package lockfree

import (
	"errors"
	"math"
	"testing"
	"time"

	"github.com/firq-go/firq"
	"github.com/firq-go/firq/internal/core/clock"
)

// A task that came in by Replace can expire too.
func TestReplaceNotesDeadline(t *testing.T) {
	s := build(t, config{MaxPerTenant: 1, Backpressure: firq.Backpressure{Policy: firq.DropOldest}})
	admit(t, s, "a", task{Payload: 1})
	admit(t, s, "a", task{Payload: 2, Priority: firq.PriorityHigh, Deadline: past()})
	// Nothing that is queued may be evicted for a task of this priority.
	admit(t, s, "a", task{Payload: 3, Priority: firq.PriorityLow})
	take(t, s, 3)
	if st := s.Stats(); st.Expired != 1 || st.DroppedPolicy != 1 {
		t.Errorf("Expired %d, DroppedPolicy %d; want 1, 1", st.Expired, st.DroppedPolicy)
	}
}

// The same for put.
func TestPutNotesDeadline(t *testing.T) {
	s := build(t, config{MaxPerTenant: inboxSize + 1})
	for range inboxSize {
		published(t, s, "a", task{})
	}
	admit(t, s, "a", task{Deadline: past()})
	admit(t, s, "a", task{Payload: 1})
	if st := s.Stats(); st.Expired != 1 {
		t.Errorf("Expired %d, want 1", st.Expired)
	}
}

// Expired tasks make room wherever the lease holder is on its way with them: at
// each instant either the inbox or the shard says that something is due.
func TestExpiredOnTheWay(t *testing.T) {
	s := build(t, config{MaxPerTenant: 2})
	due := func(at string) {
		t.Helper()
		if when := s.NextDueOf("a"); when >= s.shared.Clock.Now() {
			t.Errorf("%s: due at %d, now is %d", at, when, s.shared.Clock.Now())
		}
	}
	p := published(t, s, "a", task{Payload: 1, Deadline: past()})
	due("published")
	admit(t, s, "a", task{Payload: 2, Deadline: past()})
	due("announced")
	sh := p.t.shard
	sh.lease.Lock()
	sh.begin()
	due("drained")
	enqueue := start(func() error { return s.Enqueue("a", task{Payload: 3}) })
	waits(t, "Enqueue", enqueue) // for the lease
	sh.unlock()
	if err := result(t, "Enqueue", enqueue); err != nil {
		t.Errorf("only expired tasks are queued: %v", err)
	}
	p.announce()
	take(t, s, 3)
}

// Expired tasks that wait in a polled tenant's inbox, which are not announced,
// make room for all tenants.
func TestExpiredInPolledInbox(t *testing.T) {
	s := build(t, config{MaxGlobal: 4})
	polled(t, s, "a", 1, 2)
	admit(t, s, "a", task{Deadline: past()}, task{Deadline: past()})
	admit(t, s, "b", task{Payload: 3}, task{Payload: 4})
	take(t, s, 1)
	if st := s.Stats(); st.Expired != 2 {
		t.Errorf("Expired %d, want 2", st.Expired)
	}
}

// [E4] publishes between two calls of deadline. A lease holder that resets boxDue
// before the task is published does not see it, and the second call lowers boxDue
// again.
func TestDeadlineAroundPut(t *testing.T) {
	s := build(t, config{MaxPerTenant: 1})
	p := stopped(t, s, "a", task{Deadline: past()})
	if err := p.charge(); err != nil {
		t.Fatal(err)
	}
	p.t.deadline(p.task.Due)
	p.t.shard.lock()
	p.t.shard.drainAll(p.t)
	p.t.shard.unlock()
	p.publish()
	if due := p.t.boxDue.Load(); due > p.task.Due {
		t.Errorf("boxDue %d, the task is due at %d", due, p.task.Due)
	}
	admit(t, s, "a", task{Payload: 1})
	take(t, s, 1)
}

// With priorities across tenants an activation brings in one task; what other
// producers have published, and not yet announced, is looked at all the same.
func TestExpiredUnannounced(t *testing.T) {
	s := build(t, config{MaxPerTenant: 3, PriorityScope: firq.PriorityAcrossTenants})
	late := []*producer{
		published(t, s, "a", task{Deadline: past()}),
		published(t, s, "a", task{Deadline: past()}),
	}
	admit(t, s, "a", task{Deadline: past()}) // announces one
	tn := late[0].t
	if !tn.shard.reclaim(nil, s.shared.Clock.Now()) {
		t.Fatal("nothing has expired")
	}
	if held := tn.held(tn.word.Load()); held != 0 {
		t.Fatalf("%d places are taken, want none", held)
	}
	for i := range 3 {
		admit(t, s, "a", task{Payload: 1 + i})
	}
	for _, p := range late {
		p.announce()
	}
	take(t, s, 1, 2, 3)
}

// boxDue goes up again when inboxes are drained, even if there was nothing in
// them: else each rejection would take the lease to look for expired tasks.
func TestRejectionTakesNoLease(t *testing.T) {
	for _, x := range []struct {
		cfg  config
		by   string
		want error
	}{
		{config{MaxPerTenant: 2}, "a", firq.ErrTenantFull},
		{config{MaxGlobal: 2}, "b", firq.ErrGlobalFull},
		{config{MaxTenants: 1}, "b", firq.ErrTooManyTenants}, // a flood of names waits for no lease
	} {
		s := build(t, x.cfg)
		tn := polled(t, s, "a", 1, 2)
		tn.deadline(s.shared.Clock.Due(past())) // the second call, late
		s.sawDeadline()
		refuse(t, s, x.by, x.want)
		due := s.NextDueOf(x.by)
		if errors.Is(x.want, firq.ErrGlobalFull) {
			due = s.NextDue()
		}
		if due != clock.Never {
			t.Errorf("due at %d, with nothing that can expire", due)
		}
		sh := tn.shard
		sh.lease.Lock()
		refused := start(func() error { return s.Enqueue(x.by, task{}) })
		err := result(t, "a rejection", refused)
		sh.lease.Unlock()
		if !errors.Is(err, x.want) {
			t.Errorf("Enqueue: %v, want %v", err, x.want)
		}
	}
}

// now may be read before a task comes in whose deadline has just passed: it is
// expired already, if not by that now.
func TestExpiredBeforeItCame(t *testing.T) {
	s := build(t, config{})
	tn := polled(t, s, "a", 1, 2)
	sh := tn.shard
	sh.lease.Lock()
	sh.begin()
	now := s.shared.Clock.Now()
	deadline := time.Now()
	for s.shared.Clock.Now() <= max(now, s.shared.Clock.Due(deadline)) {
		time.Sleep(time.Microsecond)
	}
	for i := range 3 {
		admit(t, s, "a", task{Payload: 3 + i, Deadline: deadline})
	}
	var dst [8]item
	for n := range dst {
		if t, _ := sh.Next(&dst[n], now, math.MaxUint64); t == nil {
			break
		}
		sh.left(tn)
		if dst[n].Payload > 2 {
			t.Errorf("delivered %d, which was late when it came", dst[n].Payload)
		}
	}
	sh.unlock()
	if st := s.Stats(); st.Expired != 3 || st.Dequeued != 2 {
		t.Errorf("Expired %d, Dequeued %d; want 3, 2", st.Expired, st.Dequeued)
	}
}

// A producer waits, no consumer dequeues, and a task in its way expires.
func TestExpiryWakesProducer(t *testing.T) {
	perTenant := config{MaxPerTenant: 2}
	global := config{MaxGlobal: 2, MaxPerTenant: 2}
	late := func(t *testing.T, s *scheduler) { admit(t, s, "a", task{Deadline: far()}, task{Deadline: ahead()}) }
	drained := func(t *testing.T, s *scheduler) { late(t, s); touch(s) }
	for _, x := range []struct {
		what    string
		cfg     config
		by      string
		arrange func(t *testing.T, s *scheduler)
	}{
		{"in the inbox", perTenant, "a", late},
		{"in the queue", perTenant, "a", drained},
		{"in the activation ring, another tenant's", global, "b", late},
		{"in the queue, another tenant's", global, "b", drained},
		{"in the inbox of a polled tenant", config{MaxGlobal: 4}, "b", func(t *testing.T, s *scheduler) {
			polled(t, s, "a", 1, 2)
			late(t, s)
		}},
		{"in the queue, blocked", config{MaxPerTenant: 2, MaxInFlightPerTenant: 1}, "a", func(t *testing.T, s *scheduler) {
			late(t, s)
			s.TryDequeue()
			admit(t, s, "a", task{Deadline: far()})
		}},
	} {
		t.Run(x.what, func(t *testing.T) {
			s := build(t, x.cfg)
			x.arrange(t, s)
			ctx := patient(t)
			if err := s.EnqueueWait(ctx, x.by, task{}); err != nil {
				t.Errorf("EnqueueWait: %v", err)
			}
			if st := s.Stats(); st.Expired != 1 {
				t.Errorf("Expired %d, want 1", st.Expired)
			}
		})
	}
}
