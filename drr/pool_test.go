package drr

import (
	"testing"

	"github.com/firq-go/firq"
)

// quiet is a host that has nothing to say.
type quiet[K comparable, T any] struct{}

func (quiet[K, T]) Fill(*Tenant[K, T])              {}
func (quiet[K, T]) Expired(*Tenant[K, T], *Task[T]) {}

// makeTenants returns a Queue and n tenants of it with the given quantum.
func makeTenants(cfg Config, n int, quantum int64) (*Queue[int, int], []*Tenant[int, int]) {
	q := New[int, int](cfg, quiet[int, int]{})
	tenants := make([]*Tenant[int, int], n)
	for key := range tenants {
		tenants[key] = new(Tenant[int, int])
		tenants[key].Init(key, quantum)
	}
	return q, tenants
}

func plainTask(payload int, cost int64) Task[int] {
	return Task[int]{Payload: payload, Cost: cost, Due: NoDeadline, Priority: firq.PriorityNormal}
}

// mustNext delivers one task.
func mustNext[K comparable, T any](t testing.TB, q *Queue[K, T], now int64) (*Tenant[K, T], Task[T]) {
	t.Helper()
	for range 1000 {
		switch tenant, task, verdict := q.Next(now); verdict {
		case Delivered:
			return tenant, task
		case Empty:
			t.Fatalf("empty, %d tasks held", q.Len())
		}
	}
	t.Fatalf("nothing delivered in 1000 calls, %d tasks held", q.Len())
	return nil, Task[T]{}
}

func TestPoolZeroesPayload(t *testing.T) {
	q := New[int, *int](Config{}, quiet[int, *int]{})
	var a Tenant[int, *int]
	a.Init(1, 1)
	for range 10 {
		push(q, &a, Task[*int]{Payload: new(int), Cost: 1, Due: 5, Priority: firq.PriorityLow, Ticket: newTicket()})
	}
	for range 4 {
		mustNext(t, q, 0)
	}
	q.Reclaim(6, 10)
	if q.pool.n != 10 {
		t.Fatalf("%d free entries, want 10", q.pool.n)
	}
	for e := q.pool.free; e != nil; e = e.next {
		blank := *e
		blank.next = nil
		if blank != (entry[int, *int]{}) {
			t.Fatalf("a free entry holds %+v", blank)
		}
	}
}

// TestPoolShrinks: the free entries of a burst are let go while it drains, and
// all but a few once the load has been small for a while.
func TestPoolShrinks(t *testing.T) {
	const burst = 100_000
	q, tenants := makeTenants(Config{}, 4, 1)
	for range 2 {
		for i := range burst {
			push(q, tenants[i%4], plainTask(i, 1))
		}
		for q.Len() > 0 {
			mustNext(t, q, 0)
			if held := q.pool.n + q.pool.used; held > burst+2*poolWindow {
				t.Fatalf("%d entries held for a burst of %d", held, burst)
			}
		}
		if q.pool.n > 3*poolWindow {
			t.Fatalf("%d free entries after the burst", q.pool.n)
		}
		for range 4 * poolWindow {
			push(q, tenants[0], plainTask(0, 1))
			mustNext(t, q, 0)
		}
		if q.pool.n > keepFree {
			t.Fatalf("%d free entries long after the burst, want at most %d", q.pool.n, keepFree)
		}
	}
	free := 0
	for e := q.pool.free; e != nil; e = e.next {
		free++
	}
	if free != q.pool.n {
		t.Fatalf("%d free entries, counted %d", q.pool.n, free)
	}
}

// TestPoolKeeps: filling and emptying over and over allocates nothing once the
// pool has seen it.
func TestPoolKeeps(t *testing.T) {
	q, tenants := makeTenants(Config{}, 1, 1)
	cycle := func() {
		for i := range 1000 {
			push(q, tenants[0], plainTask(i, 1))
		}
		for range 1000 {
			mustNext(t, q, 0)
		}
	}
	for range 10 {
		cycle()
	}
	if n := testing.AllocsPerRun(20, cycle); n > 0 {
		t.Fatalf("%v allocations per 1000 tasks", n)
	}
}

func TestNextAllocatesNothing(t *testing.T) {
	for name, cfg := range map[string]Config{
		"plain":    {},
		"lifo":     {Order: firq.AdaptiveLIFO, LowWater: 2, HighWater: 4},
		"aging":    {Aging: 10},
		"across":   {Across: true},
		"newFirst": {NewFirst: true, Across: true, Aging: 10},
	} {
		q, tenants := makeTenants(cfg, 10, 3)
		now, tk := int64(0), new(firq.Ticket)
		step := func() {
			now++
			task := plainTask(int(now), 1+now%5)
			task.Priority = firq.Priority(1 + now%6)
			if now%2 == 0 {
				task.Due = now + 50
			}
			if tk.Acquire(&testOwner) {
				task.Ticket = tk
			}
			push(q, tenants[now%10], task)
			if q.Len() > 40 {
				mustNext(t, q, now)
				q.Reclaim(now, 1)
			}
		}
		for range 5000 {
			step()
		}
		if n := testing.AllocsPerRun(2000, step); n > 0 {
			t.Errorf("%s: %v allocations per task", name, n)
		}
	}
}
