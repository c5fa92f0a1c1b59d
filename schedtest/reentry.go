package schedtest

import (
	"fmt"
	"sync/atomic"
	"testing"
	"time"

	"github.com/firq-go/firq"
)

// User code may call the scheduler that calls it.
var reentryChecks = []check{
	{name: "OnDrop, expired at a dequeue", run: reentryExpired},
	{name: "OnDrop, expired at an enqueue", run: reentryReclaimed},
	{name: "OnDrop, evicted", run: reentryEvicted},
	{name: "OnDrop, cancelled", run: reentryCancelled},
	{name: "OnDrop, closed", run: reentryClosed},
	{name: "QuantumFor", run: reentryQuantum},
	{name: "BackpressureFor", run: reentryPolicy},
	{name: "OnDrop enqueues what was dropped again", run: reentryRetry},
}

// nosy returns a callback that calls all methods which do not block. It does nothing when
// its own calls make the scheduler call it again.
func nosy(s *sched, calls *atomic.Int64) func() {
	var inside atomic.Bool
	var tk firq.Ticket
	return func() {
		calls.Add(1)
		if *s == nil || !inside.CompareAndSwap(false, true) {
			return
		}
		defer inside.Store(false)
		(*s).Len()
		(*s).Stats()
		(*s).SetQuantum("a", 2)
		(*s).ResetQuantum("a")
		for _, tenant := range []string{"a", "b", fmt.Sprint("new", calls.Load()%5)} {
			_ = (*s).Enqueue(tenant, task{Ticket: &tk})
			tk.Cancel()
		}
		if it, ok := (*s).TryDequeue(); ok {
			it.Charge(1)
			it.Done()
			_ = (*s).Enqueue(it.Tenant, task{Payload: it.Payload})
		}
	}
}

// called fails unless user code was called.
func called(t *testing.T, calls *atomic.Int64) {
	t.Helper()
	if calls.Load() == 0 {
		t.Error("user code was not called")
	}
}

// openNosy opens a scheduler whose OnDrop calls it back.
func openNosy(t *testing.T, newSched maker, cfg config) (sched, *atomic.Int64) {
	t.Helper()
	var s sched
	var calls atomic.Int64
	ask := nosy(&s, &calls)
	cfg.OnDrop = func(string, int, firq.DropReason) { ask() }
	s = open(t, newSched, cfg)
	return s, &calls
}

func reentryExpired(t *testing.T, newSched maker) {
	s, calls := openNosy(t, newSched, config{Shards: 1})
	for i := range 100 {
		admit(t, s, "a", expired(i))
	}
	drain(t, s)
	called(t, calls)
}

func reentryReclaimed(t *testing.T, newSched maker) {
	s, calls := openNosy(t, newSched, config{Shards: 1, MaxPerTenant: 4})
	for i := range 100 {
		admit(t, s, "a", expired(i))
	}
	called(t, calls)
}

func reentryEvicted(t *testing.T, newSched maker) {
	for _, p := range []firq.Policy{firq.DropOldest, firq.DropNewest} {
		s, calls := openNosy(t, newSched, config{Shards: 1, MaxPerTenant: 2, Backpressure: policy(p)})
		for i := range 100 {
			admit(t, s, "a", task{Payload: i})
		}
		admitBatch(t, s, "a", make([]task, 10), 10, nil)
		called(t, calls)
	}
}

func reentryCancelled(t *testing.T, newSched maker) {
	s, calls := openNosy(t, newSched, config{Shards: 2})
	for i := range 100 {
		var tk firq.Ticket
		admit(t, s, "a", task{Payload: i, Ticket: &tk})
		tk.Cancel()
	}
	called(t, calls)
}

func reentryClosed(t *testing.T, newSched maker) {
	s, calls := openNosy(t, newSched, config{Shards: 4})
	for i := range 100 {
		admit(t, s, fmt.Sprint("t", i%9), task{Payload: i})
	}
	s.Close()
	if n := calls.Load(); n != 100 {
		t.Errorf("OnDrop was called %d times, want 100", n)
	}
}

func reentryQuantum(t *testing.T, newSched maker) {
	var s sched
	var calls atomic.Int64
	ask := nosy(&s, &calls)
	s = open(t, newSched, config{Shards: 1, NewTenantsFirst: true, QuantumFor: func(string) int64 { ask(); return 3 }})
	for i := range 100 {
		admit(t, s, fmt.Sprint("t", i%20), task{Payload: i})
		if i%3 == 0 {
			s.TryDequeue()
		}
		if i%10 == 0 {
			s.ResetQuantum(fmt.Sprint("t", i%20))
		}
	}
	drain(t, s)
	called(t, &calls)
}

func reentryPolicy(t *testing.T, newSched maker) {
	for _, bp := range []firq.Backpressure{
		policy(firq.Reject), policy(firq.DropOldest), policy(firq.DropNewest), {Policy: firq.Wait, Wait: time.Microsecond},
	} {
		var s sched
		var calls atomic.Int64
		ask := nosy(&s, &calls)
		s = open(t, newSched, config{
			Shards: 1, MaxGlobal: 6, MaxPerTenant: 2,
			BackpressureFor: func(string) firq.Backpressure { ask(); return bp },
		})
		for i := range 200 {
			_ = s.Enqueue(fmt.Sprint("t", i%5), task{Payload: i})
		}
		called(t, &calls)
	}
}

// reentryRetry is what users write: an OnDrop that enqueues a dropped task again.
func reentryRetry(t *testing.T, newSched maker) {
	var s sched
	var dropped atomic.Int64
	s = open(t, newSched, config{Shards: 1, OnDrop: func(tenant string, payload int, why firq.DropReason) {
		dropped.Add(1)
		if err := s.Enqueue(tenant, task{Payload: payload}); err != nil && why != firq.DropClosed {
			t.Errorf("Enqueue from OnDrop (%v): %v", why, err)
		}
	}})
	for i := range 10 {
		admit(t, s, "a", expired(i))
	}
	got := map[int]bool{}
	await(t, "all ten to be delivered at the second try", func() bool {
		// A call that finds only expired tasks may say so, although OnDrop has
		// enqueued them again by then.
		if it, ok := s.TryDequeue(); ok {
			got[it.Payload] = true
		}
		return len(got) == 10
	})
	idle(t, s)
	if n := dropped.Load(); n != 10 {
		t.Errorf("%d were dropped, want 10", n)
	}
}
