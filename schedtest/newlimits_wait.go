package schedtest

import (
	"context"
	"math/rand/v2"
	"sync/atomic"
	"testing"

	"github.com/firq-go/firq"
)

// wakes checks that calls which wait get a place when set has been called, and not before.
func wakes(t *testing.T, newSched maker, cfg config, set func(s sched)) {
	for _, byPolicy := range []bool{false, true} {
		if byPolicy {
			cfg.Backpressure = firq.Backpressure{Policy: firq.Wait, Wait: patience}
		}
		s := open(t, newSched, cfg)
		load(t, s, "a", 2)
		answers := make(chan error, 2)
		for range 2 {
			go func() {
				if byPolicy {
					answers <- s.Enqueue("a", task{})
				} else {
					answers <- s.EnqueueWait(context.Background(), "a", task{})
				}
			}()
		}
		linger(1)
		if len(answers) > 0 {
			t.Error("no producer waits")
		}
		set(s)
		for range 2 {
			gets(t, answers, "after the limit rose", nil)
		}
		length(t, s, 4)
	}
}

func newGlobalWakes(t *testing.T, newSched maker) {
	wakes(t, newSched, config{MaxGlobal: 2}, func(s sched) { s.SetMaxGlobal(4) })
	wakes(t, newSched, config{MaxGlobal: 2}, func(s sched) { s.SetMaxGlobal(1); s.SetMaxGlobal(3); s.SetMaxGlobal(4) })
	wakes(t, newSched, config{MaxGlobal: 4, DynamicThreshold: 1}, func(s sched) { s.SetMaxGlobal(80) })
}

func newLimitWakes(t *testing.T, newSched maker) {
	wakes(t, newSched, config{MaxPerTenant: 2}, func(s sched) { s.SetLimit("a", 4) })
	wakes(t, newSched, config{MaxPerTenant: 2}, func(s sched) { s.SetLimit("a", 1); s.SetLimit("a", 3); s.SetLimit("a", 4) })
	wakes(t, newSched, config{MaxPerTenantFor: func(string) int { return 2 }}, func(s sched) { s.SetLimit("a", 9) })
	var limit atomic.Int64
	limit.Store(2)
	wakes(t, newSched, config{MaxPerTenantFor: func(string) int { return int(limit.Load()) }}, func(s sched) {
		s.SetLimit("a", 2)
		limit.Store(5)
		s.SetLimit("a", 0)
		limit.Store(2)
	})
}

// newLimitWakesFew: while more is queued than a lowered limit allows, a place that comes
// free, or a limit that rises a little, is no room. A call that was woken in vain goes on
// waiting, and is woken again.
func newLimitWakesFew(t *testing.T, newSched maker) {
	s := open(t, newSched, config{Shards: 1})
	load(t, s, "a", 6)
	s.SetLimit("a", 2)
	s.SetMaxGlobal(3)
	answers := waiters(t, s, context.Background(), "a", 1)
	linger(1)
	for range 3 {
		take(t, s)
		linger(1)
	}
	s.SetMaxGlobal(4) // for all there is room now
	linger(1)
	s.SetLimit("a", 3)
	linger(1)
	if len(answers) > 0 {
		t.Error("EnqueueWait did not wait, with 3 of 3 queued")
	}
	take(t, s)
	gets(t, answers, "with room", nil)
	length(t, s, 3)
	refuse(t, s, "a", task{}, firq.ErrTenantFull)
}

func newLimitEnds(t *testing.T, newSched maker) {
	s := open(t, newSched, config{Shards: 2})
	load(t, s, "a", 5)
	s.SetMaxGlobal(2)
	s.SetLimit("a", 1)
	over := make(chan error, 1)
	go func() { over <- s.Shutdown(patient(t)) }()
	for i := range 5 {
		s.SetMaxGlobal(1 + i%3)
		s.SetLimit("a", i)
		take(t, s)
	}
	gets(t, over, "Shutdown", nil)
	s.SetMaxGlobal(7)
	s.SetLimit("b", 7)
	refuse(t, s, "b", task{}, firq.ErrClosed)

	s = open(t, newSched, config{})
	load(t, s, "a", 5)
	s.SetMaxGlobal(2)
	if err := s.Close(); err != nil {
		t.Error(err)
	}
	s.SetMaxGlobal(9)
	s.SetLimit("a", 9)
	length(t, s, 0)
	refuse(t, s, "a", task{}, firq.ErrClosed)
}

// newLimitRandom makes random calls, one after the other, and compares with plain counts.
func newLimitRandom(t *testing.T, newSched maker) {
	names := tenants(3)
	for seed := range reps(30) {
		rnd := rand.New(rand.NewPCG(uint64(seed), 7))
		most, per := 1+rnd.IntN(8), 1+rnd.IntN(5)
		s := open(t, newSched, config{Shards: 1 << rnd.IntN(3), MaxGlobal: most, MaxPerTenant: per})
		queued, set, all := map[string]int{}, map[string]int{}, 0
		for i := range 300 {
			name := names[rnd.IntN(3)]
			limit := per
			if n := set[name]; n > 0 {
				limit = n
			}
			switch rnd.IntN(8) {
			case 0:
				most = 1 + rnd.IntN(8)
				s.SetMaxGlobal(most)
			case 1:
				set[name] = rnd.IntN(5)
				s.SetLimit(name, set[name])
			case 2, 3:
				if it, ok := s.TryDequeue(); ok {
					queued[it.Tenant]--
					all--
				} else if all > 0 {
					t.Fatalf("seed %d, step %d: nothing of %d", seed, i, all)
				}
			default:
				var want error
				if all >= most {
					want = firq.ErrGlobalFull
				} else if queued[name] >= limit {
					want = firq.ErrTenantFull
				}
				if err := s.Enqueue(name, task{}); err != want {
					t.Fatalf("seed %d, step %d: %v, want %v: %d of %d, and %d of %d", seed, i, err, want, all, most, queued[name], limit)
				}
				if want == nil {
					queued[name]++
					all++
				}
			}
			length(t, s, all)
		}
	}
}
