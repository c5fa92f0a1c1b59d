package baseline

import (
	"context"
	"math"
	"testing"
	"time"

	"github.com/firq-go/firq"
)

// onTwoShards returns a scheduler with two shards and a tenant on each.
func onTwoShards(t *testing.T, cfg firq.Config[int, int]) (s *Scheduler[int, int], a, b int) {
	t.Helper()
	cfg.Shards = 2
	s, err := New(cfg)
	if err != nil {
		t.Fatal(err)
	}
	for s.placer.Shard(a) != 0 {
		a++
	}
	for s.placer.Shard(b) != 1 {
		b++
	}
	return s, a, b
}

func enqueue(t *testing.T, s *Scheduler[int, int], tenant, n int, cost int64) {
	t.Helper()
	for range n {
		if err := s.Enqueue(tenant, firq.Task[int]{Cost: cost}); err != nil {
			t.Fatal(err)
		}
	}
}

// dequeue returns how many of the next n items are whose.
func dequeue(t *testing.T, s *Scheduler[int, int], n int) map[int]int {
	t.Helper()
	whose := map[int]int{}
	for range n {
		it, ok := s.TryDequeue()
		if !ok {
			t.Fatal("nothing is delivered")
		}
		whose[it.Tenant]++
		it.Done()
	}
	return whose
}

// A shard that was idle because its tenant was at its in-flight limit joins the
// other one at the current round.
func TestUnblockedJoinsNow(t *testing.T) {
	s, a, b := onTwoShards(t, firq.Config[int, int]{MaxInFlightPerTenant: 1})
	enqueue(t, s, a, 1500, 1)
	enqueue(t, s, b, 1500, 1)
	var held firq.Item[int, int]
	for held.Tenant != a || held.Cost == 0 {
		if it, _ := s.TryDequeue(); it.Tenant == a {
			held = it
		} else {
			it.Done()
		}
	}
	if got := dequeue(t, s, 1000); got[a] > 0 {
		t.Fatal("a tenant at its limit was served")
	}
	held.Done()
	if got := dequeue(t, s, 400); got[a] > 210 || got[b] > 210 {
		t.Errorf("a got %d and b %d of 400", got[a], got[b])
	}
}

// Rounds that do not fit in a tag do not keep anybody from being served.
func TestHugeRounds(t *testing.T) {
	s, a, b := onTwoShards(t, firq.Config[int, int]{})
	enqueue(t, s, a, 20, math.MaxInt64)
	enqueue(t, s, b, 20, math.MaxInt64)
	dequeue(t, s, 40)
}

// A tenant that is saving up for dear tasks gets a quantum that pays for them.
func TestQuantumEndsWaiting(t *testing.T) {
	s, a, b := onTwoShards(t, firq.Config[int, int]{})
	enqueue(t, s, a, 5, 1e12)
	enqueue(t, s, b, 5000, 1)
	if got := dequeue(t, s, 500); got[a] > 0 {
		t.Fatal("a dear task was served too early")
	}
	s.SetQuantum(a, 1e12)
	if got := dequeue(t, s, 20); got[a] == 0 {
		t.Error("SetQuantum had no effect in 20 deliveries")
	}
}

// A refund on a shard that waits for a far round does not let newcomers there
// join in the past.
func TestRefundThenNewcomer(t *testing.T) {
	s, a, b := onTwoShards(t, firq.Config[int, int]{})
	z := a + 1
	for s.placer.Shard(z) != 0 {
		z++
	}
	enqueue(t, s, a, 1, 1)
	first, _ := s.TryDequeue()
	enqueue(t, s, a, 5, 1e12)
	enqueue(t, s, b, 5000, 1)
	dequeue(t, s, 10)
	first.Charge(-2)
	dequeue(t, s, 1000)
	enqueue(t, s, z, 2000, 1)
	if got := dequeue(t, s, 400); got[z] > got[b]+10 {
		t.Errorf("the newcomer got %d of 400, the other shard %d", got[z], got[b])
	}
}

// Expired tasks of the other shard count as held until somebody looks; who is
// over the threshold looks.
func TestThresholdReclaimsElsewhere(t *testing.T) {
	s, a, b := onTwoShards(t, firq.Config[int, int]{MaxGlobal: 10, DynamicThreshold: 1})
	enqueue(t, s, a, 1, 1)
	for range 8 {
		_ = s.Enqueue(b, firq.Task[int]{Deadline: time.Now().Add(-time.Millisecond)})
	}
	for s.Enqueue(a, firq.Task[int]{}) == nil && s.Len() < 5 {
	}
	ctx, cancel := context.WithTimeout(context.Background(), 5*time.Second)
	defer cancel()
	if err := s.EnqueueWait(ctx, a, firq.Task[int]{}); err != nil {
		t.Errorf("all of the other tenant's tasks have expired: %v", err)
	}
}
