package fairness

import (
	"errors"
	"fmt"
	"math"

	"github.com/firq-go/firq"
)

// History is what a scheduler has been through before a test begins. A scheduler
// that is fair only when it is new is not fair.
type History struct {
	Name   string
	Phases [][]Burst // each is served to its end before the next one begins
}

// String is the name.
func (h History) String() string { return h.Name }

// Burst is some tasks of one tenant.
type Burst struct {
	Tenant, Tasks int
	Cost          int64
}

// Histories are those that could leave rounds and tags in a bad state: expensive tasks, alone
// and among others, up to where the counters wrap around.
var Histories = []History{
	{Name: "none"},
	{"one huge cost", [][]Burst{{{0, 1, math.MaxInt64}}}},
	{"four costs that add up", [][]Burst{{{0, 4, 1 << 61}}}},
	{"a long time alone", [][]Burst{{{0, 20, 1e12}}, {{1, 20, 1e17}}, {{2, 20, 1e18}}}},
	{"huge costs everywhere", [][]Burst{everywhere(1, math.MaxInt64)}},
	{"huge costs everywhere, again and again", [][]Burst{everywhere(3, math.MaxInt64), everywhere(1, 1<<62+5), {{3, 1, math.MaxInt64}}, everywhere(2, 1<<61+77)}},
	{"up to half of all rounds", [][]Burst{everywhere(1, 1<<62-3)}},
	{"just before the last round", [][]Burst{everywhere(1, 1<<62-9), everywhere(1, 1<<62-9)}},
	{"cheap beside huge", [][]Burst{append(everywhere(1, math.MaxInt64), everywhere(50, 1)...)}},
}

// everywhere returns bursts of 16 tenants, so that each of a few shards has some of them.
func everywhere(tasks int, cost int64) (bursts []Burst) {
	for tenant := range 16 {
		bursts = append(bursts, Burst{tenant, tasks, cost})
	}
	return bursts
}

// Live has the scheduler go through the history, up to what its limits let in. key
// gives the names of the history's tenants.
func Live[K comparable](s firq.Scheduler[K, int], h History, key func(tenant int) K) error {
	for _, phase := range h.Phases {
		for _, b := range phase {
			for range b.Tasks {
				if err := s.Enqueue(key(b.Tenant), firq.Task[int]{Payload: -1, Cost: b.Cost}); err != nil && !errors.Is(err, firq.ErrRejected) {
					return fmt.Errorf("history %q: %w", h.Name, err)
				}
			}
		}
		for n := s.Len(); n > 0; n-- {
			it, ok := s.TryDequeue()
			if !ok {
				return fmt.Errorf("history %q: nothing is delivered, with %d queued", h.Name, s.Len())
			}
			it.Done()
		}
		s.TryDequeue() // sees off the tenant that was served last
	}
	return nil
}
