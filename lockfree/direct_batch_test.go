package lockfree

import (
	"testing"
	"testing/synctest"
	"time"

	"github.com/firq-go/firq"
	"github.com/firq-go/firq/internal/core/waitq"
)

// Plain tasks of a batch pass by the inbox together, as many as there is room for, in their
// order and at their cost; a batch with another task among them goes through it.
func TestBatchDirect(t *testing.T) {
	for _, test := range []struct {
		name   string
		cfg    config
		tasks  []task
		direct int // how many pass by the inbox
		err    error
	}{
		{"two", config{}, tasks(2, 2), 2, nil},
		{"as many as a message holds", config{}, tasks(2, batchSize), batchSize, nil},
		{"more", config{}, tasks(2, 2*batchSize+3), 2*batchSize + 3, nil},
		{"more than the tenant may hold", config{MaxPerTenant: 5}, tasks(2, 8), 5, firq.ErrTenantFull},
		{"more than there are credits", config{MaxGlobal: 5}, tasks(2, 8), 5, firq.ErrGlobalFull},
		{"one is urgent", config{}, append(tasks(2, 3), task{Payload: 1, Priority: firq.PriorityHigh}), 0, nil},
		{"one has a deadline", config{}, append(tasks(2, 3), task{Payload: 5, Deadline: far()}), 0, nil},
		{"one is of a flow", config{}, append(tasks(2, 3), task{Payload: 5, Flow: 1}), 0, nil},
		{"one is not valid", config{}, append(tasks(2, 3), task{Payload: 5, Cost: -1}), 3, firq.ErrInvalidTask},
		{"an age limit", config{MaxQueueAge: time.Hour}, tasks(2, 3), 0, nil},
		{"newest first", config{Order: firq.LIFO}, []task{{Payload: 2}, {Payload: 1}}, 0, nil},
		{"newest first under load", config{Order: firq.AdaptiveLIFO}, tasks(2, 3), 0, nil},
		{"priorities across tenants", config{PriorityScope: firq.PriorityAcrossTenants}, tasks(2, 3), 0, nil},
	} {
		t.Run(test.name, func(t *testing.T) {
			s := direct(t, test.cfg)
			tn, _ := s.tenants.Load("a")
			before, enqueued := tailOf(tn.word.Load()), s.Stats().Enqueued
			n, err := s.EnqueueBatch("a", test.tasks)
			if err != test.err && (err == nil || test.err == nil) || err == nil && n != len(test.tasks) {
				t.Fatalf("%d, %v; want %v", n, err, test.err)
			}
			if test.direct > 0 && n != test.direct {
				t.Errorf("%d were accepted, want %d", n, test.direct)
			}
			word := tn.word.Load() + tn.missing()
			if past := usedIn(word) == 0 && tailOf(word) != before && tn.shard.Queue.Len() == n; past != (test.direct > 0) {
				t.Errorf("past the inbox: %v", past)
			}
			if h := tn.holds(); h != n || s.Len() != n {
				t.Errorf("the tenant holds %d, %d are queued; want %d", h, s.Len(), n)
			}
			if got := s.Stats().Enqueued - enqueued; got != uint64(n) {
				t.Errorf("%d were counted, want %d", got, n)
			}
			for i := range n {
				if it, ok := s.TryDequeue(); !ok || test.direct > 0 && it.Payload != 2+i {
					t.Fatalf("number %d: %+v, %v", i, it, ok)
				} else if aged := test.cfg.MaxQueueAge > 0; it.Deadline.IsZero() == aged && test.name != "one has a deadline" {
					t.Errorf("number %d has the deadline %v", i, it.Deadline)
				}
			}
			nothing(t, s)
		})
	}
}

// What a task of a batch costs counts, and one of no cost costs 1.
func TestBatchCost(t *testing.T) {
	for _, past := range []bool{true, false} {
		s := direct(t, config{})
		s.direct = past
		batched(t, s, "a", 3, nil, task{Payload: 2, Cost: 3}, task{Payload: 3}, task{Payload: 4, Cost: 2})
		for i, cost := range []int64{3, 1, 2} {
			if it, ok := s.TryDequeue(); !ok || it.Cost != cost || it.Payload != i+2 || it.Wait < 0 || it.Priority != firq.PriorityNormal {
				t.Errorf("direct %v: %+v, want a cost of %d", past, it, cost)
			}
		}
	}
}

// Places that a batch has taken and not got credits for come back, and as many producers that
// wait for one are woken.
func TestBatchGivesBack(t *testing.T) {
	for _, past := range []bool{true, false} {
		s := direct(t, config{MaxPerTenant: 8, MaxGlobal: 3})
		s.direct = past
		waiters := make([]waitq.Waiter[string], 3)
		for i := range waiters {
			s.shared.Waiters.Enter(&waiters[i], "a", waitq.Tenant)
		}
		n := s.admitBatch("a", nil, tasks(2, 6), s.shared.Clock.Now())
		if n < 1 || n > 3 {
			t.Fatalf("%d were admitted", n)
		}
		for i := range waiters {
			woken(t, s, &waiters[i])
		}
		slots := uint32(6) // what was refused is void
		if past {
			slots = 0
		}
		if tn, _ := s.tenants.Load("a"); tn.holds() != n || usedIn(tn.word.Load()) != slots {
			t.Errorf("direct %v: the tenant holds %d, and %d slots", past, tn.holds(), usedIn(tn.word.Load()))
		}
		take(t, s, count(2, n)...)
	}
}

// A batch does not wait for the lease, nor pass by a task whose ticket is out.
func TestBatchDirectYields(t *testing.T) {
	s := direct(t, config{})
	tn, _ := s.tenants.Load("a")
	tn.shard.lock()
	batched(t, s, "a", 3, nil, tasks(2, 3)...)
	if usedIn(tn.word.Load()) != 3 {
		t.Error("not through the inbox while the lease was taken")
	}
	tn.shard.unlock()
	tn.shard.contention.at.Store(never)
	batched(t, s, "a", 2, nil, tasks(5, 2)...)
	take(t, s, 2, 3, 4, 5, 6)
}

// A tenant that becomes active by a batch has the quantum that the config says then, on either
// way.
func TestBatchAsks(t *testing.T) {
	for _, past := range []bool{true, false} {
		quantum := int64(2)
		s := direct(t, config{QuantumFor: func(string) int64 { return quantum }})
		s.direct = past
		quantum = 9
		batched(t, s, "a", 3, nil, tasks(2, 3)...)
		take(t, s, 2, 3, 4)
		if tn, _ := s.tenants.Load("a"); tn.Quantum() != 9 {
			t.Errorf("direct %v: the quantum is %d, want 9", past, tn.Quantum())
		}
	}
}

// An item says how long it has waited, whichever way its batch came, and whatever the pool's
// batch has been before.
func TestBatchWaits(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		for _, past := range []bool{true, false} {
			s := direct(t, config{})
			s.direct = past
			for range 3 {
				time.Sleep(time.Hour)
				batched(t, s, "a", 3, nil, tasks(2, 3)...)
				time.Sleep(time.Minute)
				for range 3 {
					if it, ok := s.TryDequeue(); !ok || it.Wait != time.Minute {
						t.Errorf("direct %v: %+v, want one that has waited for a minute", past, it)
					}
				}
			}
		}
	})
}

// A shard that was idle while others were served joins their round, also by a task that goes
// past the inbox: it has no turns to make up for.
func TestDirectJoins(t *testing.T) {
	for name, enqueue := range map[string]func(s *scheduler, k string){
		"task": func(s *scheduler, k string) { pushed(t, s, k, task{Payload: 2}) },
		"batch": func(s *scheduler, k string) {
			if got := s.admitBatch(k, nil, tasks(2, 2), s.shared.Clock.Now()); got != 2 {
				t.Fatalf("%d were admitted", got)
			}
		},
	} {
		t.Run(name, func(t *testing.T) {
			s, k := twoShards(t)
			// Not further than the slack, or the shard would follow when it says that it is ready.
			current := s.shards[0].Queue.Round() + uint64(s.shared.Config.FairnessSlack)
			s.rounds.Publish(1, current, true)
			s.rounds.Served(current)
			enqueue(s, k)
			if tn, _ := s.tenants.Load(k); usedIn(tn.word.Load()+tn.missing()) != 0 {
				t.Fatal("not past the inbox")
			}
			if got := s.shards[0].Queue.Round(); got != current {
				t.Errorf("the shard is in round %d, the current one is %d", got, current)
			}
			s.rounds.Publish(1, 0, false)
		})
	}
}
