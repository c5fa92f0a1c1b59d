package schedtest

import (
	"strconv"
	"sync/atomic"
	"testing"
)

// TryDequeue reports false only when nothing deliverable is queued. Each check
// queues as many tasks as there will be calls, so that each call must deliver.
var neverEmptyChecks = []check{
	{name: "one tenant", run: func(t *testing.T, m maker) { neverEmpty(t, m, config{}, 1, 1) }},
	{name: "few tenants", run: func(t *testing.T, m maker) { neverEmpty(t, m, config{}, 5, 1) }},
	{name: "many tenants", run: func(t *testing.T, m maker) { neverEmpty(t, m, config{}, 400, 1) }},
	{name: "costs above the quantum", run: func(t *testing.T, m maker) { neverEmpty(t, m, config{}, 10, 1000) }},
	{name: "new tenants first", run: func(t *testing.T, m maker) { neverEmpty(t, m, config{NewTenantsFirst: true}, 10, 3) }},
	{name: "priorities across", run: func(t *testing.T, m maker) { neverEmpty(t, m, across(config{}), 10, 3) }},
	{name: "while others enqueue", run: sharded(neverEmptyBeside, 1, 2, 8)},
}

func neverEmpty(t *testing.T, newSched maker, cfg config, nTenants int, cost int64) {
	const consumers, each = 4, 100
	names := tenants(nTenants)
	for _, shards := range []int{1, 2, 8} {
		cfg.Shards = shards
		s := open(t, newSched, cfg)
		for round := range reps(20) {
			for i := range consumers * each {
				admit(t, s, names[i%nTenants], task{Payload: i, Cost: 1 + cost*int64(i%3)})
			}
			var empty atomic.Int64
			together(consumers, func(int) {
				for range each {
					if _, ok := s.TryDequeue(); !ok {
						empty.Add(1)
					}
				}
			})
			if n := empty.Load(); n > 0 {
				t.Fatalf("shards %d, round %d: TryDequeue reported false %d times with tasks queued", shards, round, n)
			}
			idle(t, s)
		}
	}
}

// neverEmptyBeside: each goroutine enqueues a task before each of its calls, so
// that there is always one for it, though perhaps not its own.
func neverEmptyBeside(t *testing.T, newSched maker, shards int) {
	s := open(t, newSched, config{Shards: shards})
	together(4, func(g int) {
		for i := range reps(2000) {
			if err := s.Enqueue("t"+strconv.Itoa((i*3+g)%13), task{Cost: int64(i % 5)}); err != nil {
				t.Errorf("Enqueue: %v", err)
				return
			}
			if _, ok := s.TryDequeue(); !ok {
				t.Errorf("shards %d: TryDequeue reported false right after Enqueue", shards)
				return
			}
		}
	})
	length(t, s, 0)
}
