package main

import (
	"context"
	"fmt"
	"math/rand/v2"

	"github.com/firq-go/firq/compute"
	"github.com/firq-go/firq/internal/bench/command"
)

// trace is a sequence of keys.
type trace struct {
	name string
	key  func(i int, z *rand.Zipf) uint64
}

const universe = 200_000

var traces = []trace{
	{"zipf", func(_ int, z *rand.Zipf) uint64 { return z.Uint64() }},
	{"zipf with scan", func(i int, z *rand.Zipf) uint64 {
		if i%5 == 0 {
			return universe + uint64(i/5)
		}
		return z.Uint64()
	}},
	{"shifting", func(i int, z *rand.Zipf) uint64 { return z.Uint64() + uint64(i)/100_000*40_000 }},
}

var sizes = []int{2_000, 10_000}

// runRatio: of how many requests is the result kept, one after the other.
func runRatio(ctx context.Context, p *plan, f *file, say command.Say) error {
	for _, size := range sizes {
		for _, t := range traces {
			for round := range p.seeds {
				for _, name := range turn([]string{ours, otterAlone}, round) {
					hits, err := t.measure(ctx, name, size, p.requests, uint64(round))
					if err != nil {
						return err
					}
					f.add(ratioCase(t.name, size), name, "hits, %", round, hits)
					say("hit ratio, %s, %d entries, seed %d, %s: %.2f %%", t.name, size, round+1, name, hits)
				}
			}
		}
	}
	return nil
}

func ratioCase(name string, size int) string {
	return fmt.Sprintf("hit ratio, %s, %d entries", name, size)
}

// measure asks for the keys of a trace. What otter does not have is made aside of it.
func (t trace) measure(ctx context.Context, name string, size, requests int, seed uint64) (percent float64, err error) {
	z := rand.NewZipf(rand.New(rand.NewPCG(7, seed)), 1.01, 1, universe-1)
	var ask func(k uint64) (hit bool, err error)
	if name == ours {
		s, err := compute.New(func(_ context.Context, c compute.Call[struct{}, uint64]) (uint64, error) { return c.Key, nil },
			compute.Config[struct{}, uint64, uint64]{TTL: ttl, Size: size})
		if err != nil {
			return 0, err
		}
		defer func() { _ = s.Close() }()
		ask = func(k uint64) (bool, error) {
			_, info, err := s.DoInfo(ctx, struct{}{}, k)
			return info.Source == compute.Hit, err
		}
	} else {
		c, err := newOtter[uint64](size, true)
		if err != nil {
			return 0, err
		}
		defer c.StopAllGoroutines()
		ask = func(k uint64) (bool, error) {
			_, hit := c.GetIfPresent(k)
			if !hit {
				c.Set(k, k)
			}
			return hit, nil
		}
	}
	hits := 0
	for i := range requests {
		hit, err := ask(t.key(i, z))
		if err != nil {
			return 0, err
		}
		if hit {
			hits++
		}
		if i%10_000 == 0 && ctx.Err() != nil {
			return 0, ctx.Err()
		}
	}
	return 100 * float64(hits) / float64(requests), nil
}
