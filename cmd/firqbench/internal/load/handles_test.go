package load

import (
	"slices"
	"sync/atomic"
	"testing"

	"github.com/firq-go/firq/cmd/firqbench/internal/contest"
	"github.com/firq-go/firq/cmd/firqbench/internal/scenario"
	"github.com/firq-go/firq/lockfree"
)

// byKey counts the calls by key.
type byKey struct {
	*lockfree.Scheduler[string, uint64]
	calls atomic.Int64
}

func (q *byKey) Enqueue(tenant string, t contest.Task) error {
	q.calls.Add(1)
	return q.Scheduler.Enqueue(tenant, t)
}

func (q *byKey) EnqueueBatch(tenant string, ts []contest.Task) (int, error) {
	q.calls.Add(1)
	return q.Scheduler.EnqueueBatch(tenant, ts)
}

// TestHandles: with Handles no task is enqueued by key, and without all are.
func TestHandles(t *testing.T) {
	all := scenario.All()
	s := small(all[slices.IndexFunc(all, func(s scenario.Scenario) bool { return s.Name == "many_tenants_by_handle" })])
	for _, s.Handles = range []bool{true, false} {
		for _, s.Batch = range []int{1, 7} {
			var q *byKey
			c := contest.Contestant{Name: "by key", New: func(cfg contest.Config) (contest.Queue, error) {
				inner, err := lockfree.New(cfg)
				q = &byKey{Scheduler: inner}
				return q, err
			}}
			check(t, Spec{Scenario: s, Contestant: c, Warmup: tick, Measure: 2 * tick, Probe: -1})
			if n := q.calls.Load(); (n == 0) != s.Handles {
				t.Errorf("handles: %v, batches of %d: %d calls by key", s.Handles, s.Batch, n)
			}
		}
	}
}
