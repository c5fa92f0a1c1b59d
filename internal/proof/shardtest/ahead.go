package shardtest

import (
	"testing"
	"time"

	"github.com/firq-go/firq"
)

// onShards returns a scheduler with the given number of shards, and a function that returns another
// tenant of a shard each time.
func onShards(t *testing.T, build Maker, cfg firq.Config[int, int]) (s sched, another func(shard int) int) {
	t.Helper()
	s, shardOf, err := build(cfg)
	if err != nil {
		t.Fatal(err)
	}
	next := 0
	return s, func(shard int) int {
		for next++; shardOf(next) != shard; next++ {
		}
		return next
	}
}

// ticketed enqueues a task that can be cancelled.
func ticketed(t *testing.T, s sched, tenant int, cost int64) *firq.Ticket {
	t.Helper()
	tk := new(firq.Ticket)
	if err := s.Enqueue(tenant, firq.Task[int]{Cost: cost, Ticket: tk}); err != nil {
		t.Fatal(err)
	}
	return tk
}

func cancel(t *testing.T, tk *firq.Ticket) {
	t.Helper()
	if !tk.Cancel() {
		t.Fatal("not cancelled")
	}
}

// apart dequeues n tasks of cost 1, and returns by how many the tenants a and b, of
// quantum 1, come apart.
func apart(t *testing.T, s sched, n, a, b int) int {
	t.Helper()
	d, low, high := 0, 0, 0
	for range n {
		it, ok := s.TryDequeue()
		if !ok {
			t.Fatal("nothing is delivered")
		}
		switch it.Tenant {
		case a:
			d++
		case b:
			d--
		}
		low, high = min(low, d), max(high, d)
	}
	return high - low
}

// A shard has turns in which no tenant can pay, and so comes to the limit without a
// delivery. A shard that was idle then joins at that round, so that theorem 2 holds.
func emptyTurnsCount(t *testing.T, build Maker) {
	for _, shards := range [][3]int{{0, 1, 3}, {0, 2, 3}, {0, 1, 2}, {3, 1, 0}, {1, 0, 3}, {2, 1, 0}} {
		s, another := onShards(t, build, firq.Config[int, int]{Shards: 4})
		slow, saver := another(shards[2]), another(shards[1])
		s.SetQuantum(slow, 20)
		enqueue(t, s, saver, 1, 1)
		enqueue(t, s, saver, 1, 1e6)
		cancel(t, ticketed(t, s, another(shards[1]), 1)) // found out between two turns of saver
		enqueue(t, s, slow, 1000, 1)
		for got := 0; got == 0; {
			got = dequeue(t, s, 1)[saver]
		}
		dequeue(t, s, 1)
		idle, beside := another(shards[0]), another(shards[1])
		enqueue(t, s, idle, 200, 1)
		enqueue(t, s, beside, 200, 1)
		if got := apart(t, s, 150, idle, beside); got > 4 {
			t.Errorf("shards %v: tenants on the first two come %d apart, the bound is 4", shards, got)
		}
	}
}

// Tenants that enqueue and cancel in turn, so that their shard is never idle, do not
// take it ahead: tenants that come to it wait as theorem 3 says.
func cancellingCrowd(t *testing.T, build Maker) {
	most := 100
	if testing.Short() {
		most = 20
	}
	for _, group := range []int{1, most} {
		for _, shard := range []int{0, 1} {
			s, another := onShards(t, build, firq.Config[int, int]{Shards: 2})
			slow, victim := another(1-shard), another(shard)
			s.SetQuantum(slow, 300)
			enqueue(t, s, slow, 3000, 1)
			var crowd [2][]int
			for i := range crowd {
				for range group {
					crowd[i] = append(crowd[i], another(shard))
				}
			}
			come := func(half int) (tks []*firq.Ticket) {
				for _, tenant := range crowd[half] {
					tks = append(tks, ticketed(t, s, tenant, 1e6))
				}
				return tks
			}
			tks := come(0)
			for i := range 200 {
				next := come((i + 1) % 2)
				for _, tk := range tks {
					cancel(t, tk)
				}
				tks = next
				dequeue(t, s, 1)
			}
			enqueue(t, s, victim, 1, 1)
			for n := 0; ; n++ {
				if it, _ := s.TryDequeue(); it.Tenant == victim {
					break
				}
				if n == 4*300 {
					t.Errorf("crowd of %d on shard %d: a newcomer there has seen %d served elsewhere, %d at most are allowed", group, shard, n+1, 4*300)
					break
				}
			}
		}
	}
}

// A tenant whose expensive task expires while its shard waits for the round in which it
// can be paid is served with what is behind that, and does not wait for that round; nor
// for another tenant of its shard, which is before it and goes on waiting.
func expensiveFrontExpires(t *testing.T, build Maker) {
	s, a, b, neighbour := onTwoShards(t, build, firq.Config[int, int]{})
	enqueue(t, s, b, 3000, 1)
	dequeue(t, s, 10)
	enqueue(t, s, neighbour, 1, 1<<40)
	deadline := time.Now().Add(2 * time.Millisecond)
	if err := s.Enqueue(a, firq.Task[int]{Cost: 1 << 40, Deadline: deadline}); err != nil {
		t.Fatal(err)
	}
	enqueue(t, s, a, 1000, 1)
	if got := dequeue(t, s, 20); got[a] > 0 && time.Now().Before(deadline) {
		t.Fatal("a task was served that no tenant can have paid for")
	}
	time.Sleep(time.Until(deadline) + time.Millisecond)
	if got := dequeue(t, s, 1000); got[a] < 490 {
		t.Errorf("of 1,000 items after its task expired the tenant got %d, want a half", got[a])
	}
}
