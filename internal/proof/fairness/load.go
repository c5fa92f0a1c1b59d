package fairness

import (
	"fmt"
	"math/rand/v2"

	"github.com/firq-go/firq"
)

// Mix says what tenants are like.
type Mix struct {
	Name          string
	Least, Most   int64 // quanta
	Cheap, Costly int64 // costs
	Rounds        int64 // every tenant has work for this many
	Enough        int64 // turns that a log has to show, or it says nothing
}

// In Random the costs weigh most; in Cheap the turns do, as every turn is worth
// exactly a quantum; in Costly most turns are empty, and are skipped. Long is Random for
// longer.
var (
	Random = Mix{"random", 1, 100, 1, 50, 60, 10}
	Long   = Mix{"long", 1, 100, 1, 50, 600, 100}
	Cheap  = Mix{"cheap", 10, 20, 1, 1, 24, 6}
	Costly = Mix{"costly", 1, 3, 50, 100, 600, 150}
)

// Load is tenants and the costs of their tasks.
type Load struct {
	Tenants []Tenant
	Costs   [][]int64
}

// Draw makes n tenants with random quanta and costs.
func (m Mix) Draw(r *rand.Rand, n int) Load {
	l := Load{make([]Tenant, n), make([][]int64, n)}
	for i := range n {
		t := Tenant{Quantum: m.Least + r.Int64N(m.Most-m.Least+1)}
		for sum := int64(0); sum < m.Rounds*t.Quantum || t.Tasks < 4; t.Tasks++ {
			cost := m.Cheap + r.Int64N(m.Costly-m.Cheap+1)
			l.Costs[i] = append(l.Costs[i], cost)
			t.Costliest = max(t.Costliest, cost)
			sum += cost
		}
		l.Tenants[i] = t
	}
	return l
}

// Admit queues all tasks of some of the tenants, and returns how many those are.
// The payload of a task is the index of its tenant.
func Admit[K comparable](s firq.Scheduler[K, int], l Load, keys []K, who func(i int) bool) (tasks int, err error) {
	had := s.Stats().QueueLen
	for i, t := range l.Tenants {
		if !who(i) {
			continue
		}
		s.SetQuantum(keys[i], t.Quantum)
		batch := make([]firq.Task[int], t.Tasks)
		for k, cost := range l.Costs[i] {
			batch[k] = firq.Task[int]{Payload: i, Cost: cost}
		}
		n, err := s.EnqueueBatch(keys[i], batch)
		if tasks += n; n < len(batch) || err != nil {
			return tasks, fmt.Errorf("EnqueueBatch(%v): %d of %d, %w", keys[i], n, len(batch), err)
		}
	}
	// Stats looks everywhere where a task may wait, so that all are in the
	// queues before the first one is served.
	if n := s.Stats().QueueLen - had; n != tasks {
		return tasks, fmt.Errorf("QueueLen grew by %d, want %d", n, tasks)
	}
	return tasks, nil
}

// Everybody selects all tenants.
func Everybody(int) bool { return true }
