package jobs

import (
	"fmt"
	"math"
	"runtime"
	"sync/atomic"
	"time"

	"github.com/firq-go/firq/cmd/firqbench/peers/actors/internal/peers"
)

// footprint is what a program has of memory after a collection.
type footprint struct {
	bytes      float64 // heap and stacks
	goroutines float64
}

func measureFootprint() footprint {
	runtime.GC()
	runtime.GC() // what finalizers and pools held
	var m runtime.MemStats
	runtime.ReadMemStats(&m)
	return footprint{float64(m.HeapAlloc + m.StackInuse), float64(runtime.NumGoroutine())}
}

// memory makes actors that have one message each and then nothing to do. The caller keeps no Ref: what is left is
// what the system holds, which includes the adapter's state of each actor; that is measured apart.
func memory(s peers.System, n int) (Metrics, error) {
	var handled atomic.Int64
	kind := s.Kind(func(peers.Ctx, *peers.Msg) { handled.Add(1) })
	state := stateBytes(kind)
	names := make([]string, n)
	for i := range names {
		names[i] = fmt.Sprint("m", i)
	}
	m := &peers.Msg{}
	before, began := measureFootprint(), time.Now()
	for _, name := range names {
		r, err := kind.Spawn(name, 1)
		if err != nil {
			return nil, err
		}
		if err := r.Tell(m); err != nil {
			return nil, err
		}
	}
	if err := await(func() bool { return handled.Load() == int64(n) }); err != nil {
		return nil, fmt.Errorf("%d of %d messages: %w", int64(n)-handled.Load(), n, err)
	}
	took := time.Since(began)
	after, goroutines := settle(before.goroutines, n)
	runtime.KeepAlive(names)
	all := (after.bytes - before.bytes) / float64(n)
	return Metrics{"bytes": all - state, "all": all, "goroutines": goroutines, "took": us(took) / float64(n)}, nil
}

// settle measures until the goroutines of activations have ended, or no more of them do, and returns how many there
// are more than before for each of n actors.
func settle(before float64, n int) (f footprint, goroutines float64) {
	for last := math.Inf(1); ; {
		f = measureFootprint()
		if goroutines = (f.goroutines - before) / float64(n); goroutines < 0.5/float64(n) || goroutines >= last {
			return f, goroutines
		}
		last = goroutines
		time.Sleep(time.Millisecond)
	}
}

// stateBytes returns how much memory a state takes.
func stateBytes(k peers.Kind) float64 {
	const n = 10_000
	if k.State() == nil {
		return 0
	}
	states := make([]any, n)
	before := measureFootprint()
	for i := range states {
		states[i] = k.State()
	}
	after := measureFootprint()
	runtime.KeepAlive(states)
	return max(0, after.bytes-before.bytes) / n
}

// spawn starts actors, then stops all of them and waits for their ends.
func spawn(s peers.System, z Size) (Metrics, error) {
	kind := s.Kind(func(peers.Ctx, *peers.Msg) {})
	var m Metrics
	for _, round := range []struct {
		prefix string
		n      int
	}{{"warm-", z.Spawn/10 + 1}, {"s-", z.Spawn}} {
		names := make([]string, round.n)
		for i := range names {
			names[i] = fmt.Sprint(round.prefix, i)
		}
		refs, waits := make([]peers.Ref, 0, round.n), make([]func() error, 0, round.n)
		began := time.Now()
		for _, name := range names {
			r, err := kind.Spawn(name, 1)
			if err != nil {
				return nil, err
			}
			refs = append(refs, r)
		}
		spawned := time.Now()
		for _, r := range refs {
			if wait := r.Stop(); wait != nil {
				waits = append(waits, wait)
			}
		}
		for _, wait := range waits {
			if err := wait(); err != nil {
				return nil, err
			}
		}
		ended, n := time.Now(), float64(round.n)
		m = Metrics{"both": us(ended.Sub(began)) / n, "spawn": us(spawned.Sub(began)) / n, "stop": us(ended.Sub(spawned)) / n}
	}
	return m, nil
}
