package schedtest

import (
	"runtime"
	"sync/atomic"
	"testing"

	"github.com/firq-go/firq"
)

// Limits that change under load.
var newLimitRaceChecks = []check{
	{name: "SetMaxGlobal is strict for later calls", run: func(t *testing.T, m maker) {
		strictlyLater(t, m, firq.ErrGlobalFull, sched.SetMaxGlobal)
	}},
	{name: "SetLimit is strict for later calls", run: func(t *testing.T, m maker) {
		strictlyLater(t, m, firq.ErrTenantFull, func(s sched, n int) { s.SetLimit("a", n) })
	}},
	{name: "limits that change all the time", run: sharded(limitsChurn)},
}

// strictlyLater lowers a limit while a crowd of producers enqueues. Then a consumer takes
// until less than the new limit is left, while producers go on: in the end exactly as
// many tasks are queued as the new limit allows. More would mean that a task was admitted
// above it, fewer that one was refused without reason.
func strictlyLater(t *testing.T, newSched maker, full error, set func(s sched, n int)) {
	const producers, low, high = 4, 3, 40
	for _, shards := range []int{1, 8} {
		s := open(t, newSched, config{Shards: shards, MaxGlobal: 1000})
		for round := range reps(200) {
			set(s, high)
			together(producers+1, func(i int) {
				if i == producers {
					set(s, low)
					return
				}
				for range high {
					_ = s.Enqueue("a", task{})
				}
			})
			n := s.Len()
			if n > high || n < low {
				t.Fatalf("round %d: %d queued, with limits of %d and then %d", round, n, high, low)
			}
			if err := s.Enqueue("a", task{}); err != full {
				t.Fatalf("round %d: %v, with %d of %d queued", round, err, s.Len(), low)
			}
			var taken atomic.Bool
			together(producers+1, func(i int) {
				if i == producers {
					for range n - low + 2 {
						s.TryDequeue()
					}
					taken.Store(true)
					return
				}
				for last := false; ; {
					if s.Enqueue("a", task{}) == nil {
						continue
					}
					if last {
						return
					}
					last = taken.Load()
					runtime.Gosched()
				}
			})
			if n := s.Len(); n != low {
				t.Fatalf("round %d: %d queued in the end, want %d", round, n, low)
			}
		}
	}
}

// limitsChurn: whatever the limits have been, in the end every tenant has as much room as
// the last ones allow.
func limitsChurn(t *testing.T, newSched maker, shards int) {
	names := tenants(5)
	s := open(t, newSched, config{Shards: shards, MaxGlobal: 10})
	for round := range reps(20) {
		together(5, func(g int) {
			var tk firq.Ticket
			for i := range 200 {
				name := names[(g+i)%5]
				switch g {
				case 0:
					s.SetMaxGlobal(1 + i*7%30)
				case 1:
					s.SetLimit(name, i*5%9)
				default:
					_ = s.Enqueue(name, task{})
					_, _ = s.EnqueueBatch(name, make([]task, 3))
					_ = s.Enqueue(name, task{Ticket: &tk})
					s.TryDequeue()
					s.TryDequeue()
					tk.Cancel()
				}
			}
		})
		s.SetMaxGlobal(12)
		for _, name := range names {
			s.SetLimit(name, 3)
		}
		for s.Len() > 0 {
			take(t, s)
		}
		for i, name := range names {
			for range min(3, 12-3*i) {
				if err := s.Enqueue(name, task{}); err != nil {
					t.Fatalf("shards %d, round %d: %v with %d of 12 queued", shards, round, err, s.Len())
				}
			}
			if err := s.Enqueue(name, task{}); err == nil {
				t.Fatalf("shards %d, round %d: one more of %d", shards, round, i)
			}
		}
		for s.Len() > 0 {
			take(t, s)
		}
	}
	balanced(t, s.Stats())
}
