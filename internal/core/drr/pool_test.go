package drr

import (
	"math/rand/v2"
	"testing"

	"github.com/firq-go/firq"
	"github.com/firq-go/firq/internal/proof/race"
)

// quiet is a host that has nothing to say.
type quiet[K comparable, T any] struct{}

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
	for e := q.pool.entries; e != nil; e = e.next {
		blank := *e
		blank.next = nil
		if blank != (entry[int, *int]{bucket: noBucket}) {
			t.Fatalf("a free entry holds %+v", blank)
		}
	}
}

// TestRowZeroesPayload: a payload is not kept alive by the slot that it was in,
// whichever way it leaves.
func TestRowZeroesPayload(t *testing.T) {
	q := New[int, *int](Config{}, quiet[int, *int]{})
	var a Tenant[int, *int]
	a.Init(1, 1)
	for range 100 {
		push(q, &a, Task[*int]{Payload: new(int), Cost: 1, Due: NoDeadline, Priority: firq.PriorityNormal})
	}
	for range 30 {
		mustNext(t, q, 0)
	}
	for i := range 40 {
		if task, ok := q.Evict(&a, firq.PriorityNormal, i%2 == 0); !ok || task.Payload == nil {
			t.Fatalf("evicted %v, %v", task, ok)
		}
	}
	for range 30 {
		if _, task, ok := q.Drain(); !ok || task.Payload == nil {
			t.Fatalf("drained %v, %v", task, ok)
		}
	}
	if q.Len() != 0 || !a.line.row.empty() || a.line.row.first != nil || q.pool.used != 0 {
		t.Fatalf("%d tasks, %d slots in use", q.Len(), q.pool.used)
	}
	for _, s := range q.pool.segments {
		for ; s != nil; s = s.next {
			for _, slot := range s.slots {
				if slot.Payload != nil {
					t.Fatal("a free slot holds a payload")
				}
			}
		}
	}
}

// TestRowOrder: a tenant's tasks of one priority leave in the order in which they came,
// be they in its row or in entries, and at either end.
func TestRowOrder(t *testing.T) {
	for seed := range uint64(200) {
		r := rand.New(rand.NewPCG(seed, 1))
		q, tenants := makeTenants(Config{}, 1, 1)
		a, next, oldest := tenants[0], 0, 0
		for range 400 {
			switch r.IntN(5) {
			case 0, 1, 2:
				task := plainTask(next, 1)
				if r.IntN(3) == 0 {
					task.Due = 1 << 40
				}
				push(q, a, task)
				next++
			case 3:
				if q.Len() == 0 {
					continue
				}
				if _, task := mustNext(t, q, 0); task.Payload != oldest {
					t.Fatalf("seed %d: served %d, want %d", seed, task.Payload, oldest)
				}
				oldest++
			case 4:
				newest := r.IntN(2) == 0
				task, ok := q.Evict(a, firq.PriorityCritical, newest)
				switch {
				case !ok && oldest != next || ok && oldest == next:
					t.Fatalf("seed %d: Evict %v, and %d are queued", seed, ok, next-oldest)
				case ok && newest:
					next--
					if task.Payload != next {
						t.Fatalf("seed %d: evicted %d, want %d", seed, task.Payload, next)
					}
				case ok:
					if task.Payload != oldest {
						t.Fatalf("seed %d: evicted %d, want %d", seed, task.Payload, oldest)
					}
					oldest++
				}
			}
			if err := invariants(q, tenants); err != nil {
				t.Fatalf("seed %d: %v", seed, err)
			}
		}
	}
}

// TestPoolShrinks: what was allocated for a burst is let go while it drains, and
// all but a little once the load has been small for a while, be it of the same kind or
// not.
func TestPoolShrinks(t *testing.T) {
	race.OneGoroutine(t)
	const burst = 100_000
	later := func(i int) Task[int] {
		task := plainTask(i, 1)
		task.Due = 1 << 40
		return task
	}
	plain := func(i int) Task[int] { return plainTask(i, 1) }
	for name, c := range map[string]struct{ burst, after func(int) Task[int] }{
		"plain":                   {plain, plain},
		"deadlines":               {later, later},
		"deadlines, then without": {later, plain},
		"plain, then deadlines":   {plain, later},
	} {
		q, tenants := makeTenants(Config{}, 4, 1)
		for range 2 {
			for i := range burst {
				push(q, tenants[i%4], c.burst(i))
			}
			for q.Len() > 0 {
				mustNext(t, q, 0)
				if held := q.pool.n + q.pool.used; held > burst+2*poolWindow {
					t.Fatalf("%s: room for %d held for a burst of %d", name, held, burst)
				}
			}
			if q.pool.n > 3*poolWindow+keepFree {
				t.Fatalf("%s: room for %d free after the burst", name, q.pool.n)
			}
			for i := range 4 * poolWindow {
				push(q, tenants[0], c.after(i))
				mustNext(t, q, 0)
			}
			if q.pool.n > keepFree {
				t.Fatalf("%s: room for %d free long after the burst, want at most %d", name, q.pool.n, keepFree)
			}
		}
		if free := countFree(&q.pool); free != q.pool.n {
			t.Fatalf("%s: room for %d free, counted %d", name, free, q.pool.n)
		}
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

// A tenant's first task allocates once: header and slots are one piece of memory.
func TestFirstSegmentInOnePiece(t *testing.T) {
	var s *segment[int]
	if n := testing.AllocsPerRun(100, func() {
		var p pool[int, int]
		s = p.segment(0)
	}); n != 1 || len(s.slots) != firstSegment {
		t.Errorf("%v allocations for %d slots", n, len(s.slots))
	}
}
