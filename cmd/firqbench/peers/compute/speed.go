package main

import (
	"context"
	"fmt"
	"math/rand/v2"
	"runtime"
	"sync"
	"sync/atomic"
	"time"

	"github.com/firq-go/firq/cmd/firqbench/internal/command"
)

// load is a workload of the throughput part: 64 goroutines that ask without pause, and
// work that takes no time.
type load struct {
	name    string
	systems []string
	size    int    // entries that are kept
	keys    uint64 // different ones; 0: all distinct
	zipf    bool
	warm    bool // all keys are there before
}

const (
	callers = 64
	slots   = 64
	many    = 100_000 // keys of the mixed load
)

var loads = []load{
	{name: "hits, one hot key", systems: []string{ours, pool, semaphored, groupCache, loading}, size: 1_000, keys: 1, warm: true},
	{name: "hits, 10,000 zipf keys", systems: []string{ours, pool, semaphored, groupCache, loading}, size: 20_000, keys: 10_000, zipf: true, warm: true},
	{name: "misses, nothing kept", systems: []string{ours, pool, semaphored}},
	{name: "misses, all kept", systems: []string{ours, pool, semaphored, loading}, size: many},
	{name: "mixed zipf", systems: []string{ours, pool, semaphored, groupCache, loading}, size: many / 10, keys: many, zipf: true},
}

func trivial(_ context.Context, k key) (uint64, error) { return k.Tenant + k.Key, nil }

func runSpeed(ctx context.Context, p *plan, f *file, say command.Say) error {
	for _, l := range loads {
		for round := range p.rounds {
			for _, name := range turn(l.systems, round) {
				rate, err := l.measure(ctx, name, p.time)
				if err != nil {
					return fmt.Errorf("%s, %s: %w", l.name, name, err)
				}
				f.add(l.name, name, "calls/s", round, rate)
				say("%s, round %d, %s: %.2f M/s", l.name, round+1, name, rate/1e6)
			}
		}
	}
	return nil
}

func (l load) measure(ctx context.Context, name string, d time.Duration) (perSecond float64, err error) {
	s, err := makeSystem(name, setup{slots: slots, size: l.size, work: trivial})
	if err != nil {
		return 0, err
	}
	defer s.close()
	if l.warm {
		for k := range l.keys {
			if _, err := s.do(ctx, key{Tenant: k % 100, Key: k}); err != nil {
				return 0, err
			}
		}
	}
	runtime.GC()
	var stop, wrong atomic.Bool
	var total atomic.Uint64
	var all sync.WaitGroup
	ready := make(chan struct{})
	for g := range callers {
		next := l.next(uint64(g))
		all.Go(func() {
			<-ready
			n := uint64(0)
			for ; !stop.Load(); n++ {
				k := next(n)
				if v, err := s.do(ctx, k); err != nil || v != k.Tenant+k.Key {
					wrong.Store(true)
					return
				}
			}
			total.Add(n)
		})
	}
	began := time.Now()
	close(ready)
	select {
	case <-time.After(d):
	case <-ctx.Done():
	}
	stop.Store(true)
	all.Wait()
	took := time.Since(began)
	switch {
	case ctx.Err() != nil:
		return 0, ctx.Err()
	case wrong.Load():
		return 0, fmt.Errorf("a wrong answer, or none")
	}
	return float64(total.Load()) / took.Seconds(), nil
}

// next returns what gives a caller its n-th key. Zipf keys are drawn beforehand.
func (l load) next(caller uint64) func(n uint64) key {
	switch {
	case l.keys == 0:
		return func(n uint64) key { return key{Tenant: caller, Key: n} }
	case !l.zipf:
		return func(n uint64) key { return key{Tenant: n % l.keys, Key: n % l.keys} }
	}
	const drawn = 1 << 14
	r := rand.New(rand.NewPCG(11, caller))
	z := rand.NewZipf(r, 1.01, 1, l.keys-1)
	keys := make([]key, drawn)
	for i := range keys {
		k := z.Uint64()
		keys[i] = key{Tenant: k % 100, Key: k}
	}
	return func(n uint64) key { return keys[n%drawn] }
}

// runSingle measures one call when there are no others.
func runSingle(ctx context.Context, p *plan, f *file, say command.Say) error {
	for round := range p.rounds {
		for _, name := range turn([]string{ours, pool, semaphored, groupCache, loading}, round) {
			for _, hit := range []bool{true, false} {
				what := "one miss"
				if hit {
					what = "one hit"
				}
				if name == groupCache && !hit {
					continue // it cannot but keep
				}
				ns, allocs, err := measureSingle(ctx, name, hit, p.calls)
				if err != nil {
					return fmt.Errorf("%s, %s: %w", what, name, err)
				}
				f.add(what, name, "ns", round, ns)
				f.add(what, name, "allocations", round, allocs)
				say("%s, round %d, %s: %.0f ns, %.2f allocations", what, round+1, name, ns, allocs)
			}
		}
	}
	return nil
}

func measureSingle(ctx context.Context, name string, hit bool, calls int) (ns, allocs float64, err error) {
	size := 0
	if hit || name == loading {
		size = 1_000
	}
	s, err := makeSystem(name, setup{slots: slots, size: size, work: trivial})
	if err != nil {
		return 0, 0, err
	}
	defer s.close()
	step := uint64(1)
	if hit {
		step = 0
	}
	k := key{Tenant: 1}
	for range 100 { // what is made once only
		if _, err := s.do(ctx, k); err != nil {
			return 0, 0, err
		}
		k.Key += step
	}
	var before, after runtime.MemStats
	runtime.GC()
	runtime.ReadMemStats(&before)
	began := time.Now()
	for range calls {
		if _, err := s.do(ctx, k); err != nil {
			return 0, 0, err
		}
		k.Key += step
	}
	took := time.Since(began)
	runtime.ReadMemStats(&after)
	return float64(took.Nanoseconds()) / float64(calls), float64(after.Mallocs-before.Mallocs) / float64(calls), nil
}
