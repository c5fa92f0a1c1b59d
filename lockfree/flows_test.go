package lockfree

import (
	"math/rand/v2"
	"testing"

	"github.com/firq-go/firq"
	"github.com/firq-go/firq/internal/proof/race"
)

// The two cores deliver in the same order, whatever flows do, although one of them
// queues tasks when it looks at a tenant and the other one when they come.
func TestFlowsAsBaseline(t *testing.T) {
	race.OneGoroutine(t)
	for seed := range uint64(400) {
		r := rand.New(rand.NewPCG(seed, 7))
		cfg := config{
			Shards: 1, Quantum: 1 + r.Int64N(8), Order: firq.Order(r.IntN(3)), LowWater: 3, HighWater: 6,
			MaxInFlightPerTenant: r.IntN(3), PriorityScope: firq.PriorityScope(r.IntN(2)), NewTenantsFirst: r.IntN(4) == 0,
			MaxPerTenant: 40, Backpressure: firq.Backpressure{Policy: firq.Policy(r.IntN(3))},
		}
		one, err := New(cfg)
		if err != nil {
			t.Fatal(err)
		}
		other, err := NewLocked(cfg)
		if err != nil {
			t.Fatal(err)
		}
		asBaseline(t, r, seed, [2]firq.Scheduler[string, int]{one, other})
	}
}

func asBaseline(t *testing.T, r *rand.Rand, seed uint64, cores [2]firq.Scheduler[string, int]) {
	type pair [2]*firq.Ticket
	var tickets []pair
	var out [][2]firq.Item[string, int]
	high := r.IntN(2) * 3
	for step := range 1500 {
		tenant := string(rune('a' + r.IntN(3)))
		switch n := r.IntN(20); {
		case n < 10:
			x := task{Payload: step, Cost: 1 + r.Int64N(12), Flow: uint64(r.IntN(5))}
			if r.IntN(4) == 0 {
				x.Priority = firq.Priority(3 + r.IntN(1+high))
			}
			tk := pair{new(firq.Ticket), new(firq.Ticket)}
			var errs [2]error
			for i, s := range cores {
				x.Ticket = tk[i]
				errs[i] = s.Enqueue(tenant, x)
			}
			if errs[0] != errs[1] {
				t.Fatalf("seed %d, step %d: %v and %v", seed, step, errs[0], errs[1])
			}
			tickets = append(tickets, tk)
		case n < 17:
			var it [2]firq.Item[string, int]
			var ok [2]bool
			for i, s := range cores {
				it[i], ok[i] = s.TryDequeue()
			}
			if ok[0] != ok[1] || it[0].Payload != it[1].Payload || it[0].Flow != it[1].Flow {
				t.Fatalf("seed %d, step %d: delivered %+v %v and %+v %v", seed, step, it[0], ok[0], it[1], ok[1])
			}
			if ok[0] {
				out = append(out, it)
			}
		case n < 18 && len(tickets) > 0:
			at := r.IntN(len(tickets))
			if a, b := tickets[at][0].Cancel(), tickets[at][1].Cancel(); a != b {
				t.Fatalf("seed %d, step %d: cancelled %v and %v", seed, step, a, b)
			}
		case len(out) > 0:
			at, delta := r.IntN(len(out)), r.Int64N(40)-15
			for i := range out[at] {
				if n == 18 {
					out[at][i].Charge(delta)
				} else {
					out[at][i].Done()
				}
			}
		}
	}
	for _, s := range cores {
		if err := s.Close(); err != nil {
			t.Fatal(err)
		}
	}
}
