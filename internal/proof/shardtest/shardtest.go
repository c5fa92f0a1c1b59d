// Package shardtest tests schedulers with several shards in ways that package schedtest
// cannot, as it does not know which shard a tenant lives on.
package shardtest

import (
	"context"
	"math"
	"testing"
	"time"

	"github.com/firq-go/firq"
	"github.com/firq-go/firq/internal/proof/fairness"
)

// Maker builds a scheduler, and tells on which of its shards a tenant lives.
type Maker func(firq.Config[int, int]) (s firq.Scheduler[int, int], shardOf func(tenant int) int, err error)

// Run runs all tests, each after every history.
func Run(t *testing.T, build Maker) {
	for name, test := range map[string]func(*testing.T, Maker){
		"equal shares":                   equalShares,
		"any costs":                      anyCosts,
		"unblocked, joins now":           unblockedJoinsNow,
		"huge rounds":                    hugeRounds,
		"a quantum ends the waiting":     quantumEndsWaiting,
		"a refund, then a newcomer":      refundThenNewcomer,
		"empty turns count":              emptyTurnsCount,
		"a crowd that cancels":           cancellingCrowd,
		"a threshold reclaims elsewhere": thresholdReclaimsElsewhere,
		"an expensive front expires":     expensiveFrontExpires,
	} {
		t.Run(name, func(t *testing.T) {
			for _, h := range fairness.Histories {
				t.Run(h.Name, func(t *testing.T) { within(t, func(t *testing.T) { test(t, after(h, build)) }) })
			}
		})
	}
}

// within fails a test that does not come to its end, long before the package's time
// limit does.
func within(t *testing.T, test func(t *testing.T)) {
	t.Helper()
	done := make(chan struct{})
	go func() {
		defer close(done)
		test(t)
	}()
	select {
	case <-done:
	case <-time.After(30 * time.Second):
		panic("firq: shardtest: " + t.Name() + " does not end: a tenant is not served")
	}
}

type sched = firq.Scheduler[int, int]

// onTwoShards returns a scheduler with two shards, a tenant on each, and another
// one on the first.
func onTwoShards(t *testing.T, build Maker, cfg firq.Config[int, int]) (s sched, a, b, beside int) {
	t.Helper()
	cfg.Shards = 2
	s, shardOf, err := build(cfg)
	if err != nil {
		t.Fatal(err)
	}
	for shardOf(a) != 0 {
		a++
	}
	for shardOf(b) != 1 {
		b++
	}
	for beside = a + 1; shardOf(beside) != 0; {
		beside++
	}
	return s, a, b, beside
}

func enqueue(t *testing.T, s sched, tenant, n int, cost int64) {
	t.Helper()
	for range n {
		if err := s.Enqueue(tenant, firq.Task[int]{Cost: cost}); err != nil {
			t.Fatal(err)
		}
	}
}

// dequeue takes n items and returns how many were each tenant's.
func dequeue(t *testing.T, s sched, n int) map[int]int {
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
// other one at the current round. The tenant has two quanta of the time before, no more.
func unblockedJoinsNow(t *testing.T, build Maker) {
	s, a, b, _ := onTwoShards(t, build, firq.Config[int, int]{MaxInFlightPerTenant: 1})
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
	if got := dequeue(t, s, 400); got[a] > 212 || got[b] > 210 {
		t.Errorf("a got %d and b %d of 400", got[a], got[b])
	}
}

// Rounds that do not fit in a tag do not keep a tenant from being served.
func hugeRounds(t *testing.T, build Maker) {
	s, a, b, _ := onTwoShards(t, build, firq.Config[int, int]{})
	enqueue(t, s, a, 20, math.MaxInt64)
	enqueue(t, s, b, 20, math.MaxInt64)
	dequeue(t, s, 40)
}

// A tenant that is saving up for costly tasks gets a quantum that pays for them.
func quantumEndsWaiting(t *testing.T, build Maker) {
	s, a, b, _ := onTwoShards(t, build, firq.Config[int, int]{})
	enqueue(t, s, a, 5, 1e12)
	enqueue(t, s, b, 5000, 1)
	if got := dequeue(t, s, 500); got[a] > 0 {
		t.Fatal("a costly task was served too early")
	}
	s.SetQuantum(a, 1e12)
	if got := dequeue(t, s, 20); got[a] == 0 {
		t.Error("SetQuantum had no effect in 20 deliveries")
	}
}

// A refund on a shard that waits for a far round does not let newcomers there
// join in the past.
func refundThenNewcomer(t *testing.T, build Maker) {
	s, a, b, z := onTwoShards(t, build, firq.Config[int, int]{})
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

// Expired tasks of the other shard count as held until a call drops them; one that is over
// the threshold does.
func thresholdReclaimsElsewhere(t *testing.T, build Maker) {
	s, a, b, _ := onTwoShards(t, build, firq.Config[int, int]{MaxGlobal: 10, DynamicThreshold: 1})
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
