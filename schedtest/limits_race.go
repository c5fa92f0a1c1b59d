package schedtest

import (
	"runtime"
	"strconv"
	"sync"
	"sync/atomic"
	"testing"
	"time"

	"github.com/firq-go/firq"
)

// Limits are strict, and no task is rejected while there is capacity, whatever
// other goroutines do.
var limitRaceChecks = []check{
	{name: "MaxGlobal, filled by many together", run: sharded(fillGlobal)},
	{name: "MaxPerTenant, filled by many together", run: sharded(fillTenant)},
	{name: "MaxTenants, filled by many together", run: fillTenants},
	{name: "filled by batches", run: sharded(fillBatches)},
	{name: "never exceeded under churn", run: sharded(limitChurn)},
	{name: "no false reject after churn", run: sharded(limitAfterChurn, 1, 2, 8)},
	{name: "DropOldest at the limit never exceeds it", run: limitEvictChurn},
}

// fillGlobal: many producers race for the last places, and no consumer runs. Fewer than
// MaxGlobal accepted tasks mean that one was rejected although the scheduler was never
// full; more mean that the limit is not strict.
func fillGlobal(t *testing.T, newSched maker, shards int) {
	const producers = 4
	names := tenants(16)
	for _, most := range []int{1, 2, 3, 50} {
		s := open(t, newSched, config{Shards: shards, MaxGlobal: most})
		for round := range reps(100) {
			var accepted atomic.Int64
			together(producers, func(p int) {
				for i := range most + 1 {
					if s.Enqueue(names[(p*5+i+round)%16], task{}) == nil {
						accepted.Add(1)
					}
				}
			})
			if n := int(accepted.Load()); n != most || s.Len() != most {
				t.Fatalf("shards %d, round %d: %d accepted and Len %d, want %d", shards, round, n, s.Len(), most)
			}
			var got atomic.Int64
			together(2, func(int) {
				for {
					if _, ok := s.TryDequeue(); !ok {
						return
					}
					got.Add(1)
				}
			})
			if n := int(got.Load()); n != most {
				t.Fatalf("shards %d, round %d: %d delivered of %d", shards, round, n, most)
			}
		}
	}
}

func fillTenant(t *testing.T, newSched maker, shards int) {
	const producers = 4
	for _, most := range []int{1, 2, 3, 20} {
		s := open(t, newSched, config{Shards: shards, MaxPerTenant: most, MaxGlobal: 5 * most})
		for round := range reps(100) {
			var accepted [3]atomic.Int64
			together(producers, func(p int) {
				for i := range 3 * (most + 1) {
					which := (p + i) % 3
					if s.Enqueue("t"+strconv.Itoa(which), task{}) == nil {
						accepted[which].Add(1)
					}
				}
			})
			for which := range accepted {
				if n := int(accepted[which].Load()); n != most {
					t.Fatalf("shards %d, round %d: tenant %d had %d accepted, want %d", shards, round, which, n, most)
				}
			}
			for range 3 * most {
				take(t, s)
			}
			idle(t, s)
		}
	}
}

func fillTenants(t *testing.T, newSched maker) {
	const most = 10
	for round := range reps(50) {
		s := open(t, newSched, config{Shards: 8, MaxTenants: most})
		var known sync.Map
		var n atomic.Int64
		together(4, func(p int) {
			for i := range 40 {
				name := "t" + strconv.Itoa((p*10+i)%40)
				if s.Enqueue(name, task{}) == nil {
					if _, twice := known.LoadOrStore(name, true); !twice {
						n.Add(1)
					}
				}
			}
		})
		if n.Load() != most || s.Stats().Tenants != most {
			t.Fatalf("round %d: tasks of %d tenants were accepted, Stats().Tenants is %d, want %d", round, n.Load(), s.Stats().Tenants, most)
		}
	}
}

func fillBatches(t *testing.T, newSched maker, shards int) {
	const most = 100
	batch := make([]task, 7)
	s := open(t, newSched, config{Shards: shards, MaxGlobal: most})
	for round := range reps(100) {
		var accepted atomic.Int64
		together(4, func(p int) {
			for i := range most / 7 {
				n, err := s.EnqueueBatch("t"+strconv.Itoa((p+i)%5), batch)
				if n < len(batch) && err == nil {
					t.Errorf("EnqueueBatch accepts %d of %d without an error", n, len(batch))
				}
				accepted.Add(int64(n))
			}
		})
		if n := int(accepted.Load()); n != most {
			t.Fatalf("shards %d, round %d: %d accepted, want %d", shards, round, n, most)
		}
		for range most {
			take(t, s)
		}
	}
}

// limitChurn samples Len, and does the accounts: what was seen accepted, minus
// what may have been delivered by then, cannot exceed the limit.
func limitChurn(t *testing.T, newSched maker, shards int) {
	const producers, consumers = 3, 1
	names := tenants(10)
	for _, most := range []int{1, 2, 3, 40} {
		s := open(t, newSched, config{Shards: shards, MaxGlobal: most})
		var accepted, delivered atomic.Int64
		var stop atomic.Bool
		end := int64(reps(4000))
		deadline := time.Now().Add(patience)
		together(producers+consumers+1, func(i int) {
			for k := i; !stop.Load(); k++ {
				switch {
				case i < producers:
					if s.Enqueue(names[k%10], task{}) == nil {
						accepted.Add(1)
					} else {
						runtime.Gosched()
					}
				case i < producers+consumers:
					if _, ok := s.TryDequeue(); !ok {
						runtime.Gosched()
					} else if delivered.Add(1) == end {
						stop.Store(true)
					}
				default:
					before := accepted.Load()
					if n := s.Len(); n > most || n < 0 {
						t.Errorf("Len is %d, the limit %d", n, most)
						stop.Store(true)
					}
					// Each consumer may have one that it has not counted yet.
					if held := before - delivered.Load() - consumers; held > int64(most) {
						t.Errorf("at least %d tasks are held, the limit is %d", held, most)
						stop.Store(true)
					}
					if time.Now().After(deadline) {
						t.Error("the churn does not get on")
						stop.Store(true)
					}
					runtime.Gosched()
				}
			}
		})
		if t.Failed() {
			return
		}
	}
}

// limitAfterChurn: several goroutines move the capacity around; then, alone, one
// must find all of it.
func limitAfterChurn(t *testing.T, newSched maker, shards int) {
	names := tenants(40)
	for _, most := range []int{1, 7, 100} {
		s := open(t, newSched, config{Shards: shards, MaxGlobal: most})
		for round := range reps(20) {
			together(4, func(p int) {
				var tk firq.Ticket
				for i := range 100 {
					_ = s.Enqueue(names[(p*11+i)%40], task{})
					_ = s.Enqueue(names[(p*13+i)%40], task{Ticket: &tk})
					s.TryDequeue()
					tk.Cancel()
				}
			})
			for s.Len() > 0 {
				take(t, s)
			}
			for i := range most {
				if err := s.Enqueue(names[(i*round)%40], task{}); err != nil {
					t.Fatalf("shards %d: %v with %d of %d queued", shards, err, s.Len(), most)
				}
			}
			refuse(t, s, "one more", task{}, firq.ErrGlobalFull)
			for range most - 1 {
				take(t, s)
			}
		}
	}
}

func limitEvictChurn(t *testing.T, newSched maker) {
	const most, n = 3, 1000
	for _, p := range []firq.Policy{firq.DropOldest, firq.DropNewest} {
		book := newLedger(4 * n)
		s := open(t, newSched, config{Shards: 8, MaxGlobal: 3 * most, MaxPerTenant: most, Backpressure: policy(p), OnDrop: book.onDrop})
		together(6, func(i int) {
			switch {
			case i < 4:
				for k := range n {
					if s.Enqueue("t"+strconv.Itoa(k%4), task{Payload: i*n + k}) == nil {
						book.note(i*n+k, accepted)
					}
				}
			case i == 4:
				for range n {
					if it, ok := s.TryDequeue(); ok {
						book.note(it.Payload, delivered)
					}
				}
			default:
				for range n {
					if k := s.Len(); k > 3*most {
						t.Errorf("Len is %d, the limit %d", k, 3*most)
					}
					runtime.Gosched()
				}
			}
		})
		for s.Len() > 0 {
			book.note(take(t, s).Payload, delivered)
		}
		book.settle(t, s.Stats())
	}
}
