package main

import (
	"context"
	"math"
	"runtime"
	"time"

	"github.com/firq-go/firq/cmd/firqbench/internal/command"
	"github.com/firq-go/firq/compute"
)

const memoryCase = "memory per entry"

// runMemory measures what an entry takes whose key and value have 8 bytes each.
func runMemory(ctx context.Context, p *plan, f *file, say command.Say) error {
	for round := range p.seeds {
		for _, name := range turn([]string{ours, otterAlone, plainOtter}, round) {
			bytes, err := measureMemory(ctx, name, p.entries)
			if err != nil {
				return err
			}
			f.add(memoryCase, name, "bytes", round, bytes)
			say("memory, round %d, %s: %.1f bytes", round+1, name, bytes)
		}
	}
	return nil
}

func measureMemory(ctx context.Context, name string, n int) (perEntry float64, err error) {
	before := heap()
	var count func() int
	if name == ours {
		s, err := compute.New(func(_ context.Context, c compute.Call[struct{}, uint64]) (uint64, error) { return c.Key, nil },
			compute.Config[struct{}, uint64, uint64]{TTL: ttl, Size: n})
		if err != nil {
			return 0, err
		}
		defer func() { _ = s.Close() }()
		for k := range uint64(n) {
			if _, err := s.Do(ctx, struct{}{}, k); err != nil {
				return 0, err
			}
		}
		count = func() int { return s.Stats().Entries }
	} else {
		c, err := newOtter[uint64](n, name != plainOtter)
		if err != nil {
			return 0, err
		}
		defer c.StopAllGoroutines()
		for k := range uint64(n) {
			c.Set(k, k)
		}
		c.CleanUp()
		count = c.EstimatedSize
	}
	taken := heap() - before
	return float64(taken) / float64(max(count(), 1)), ctx.Err()
}

// heap returns how many bytes are in use, once what earlier parts have left is gone: it is kept until their
// goroutines have ended, and finalizers keep it from one collection to the next.
func heap() int64 {
	var m runtime.MemStats
	least := uint64(math.MaxUint64)
	for same := 0; same < 3; same++ {
		runtime.GC()
		if runtime.ReadMemStats(&m); m.HeapAlloc < least {
			least, same = m.HeapAlloc, 0
		}
		time.Sleep(5 * time.Millisecond)
	}
	return int64(least)
}
