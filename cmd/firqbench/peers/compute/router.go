package main

import (
	"context"
	"fmt"
	"math"
	"math/rand/v2"
	"slices"
	"sync"
	"time"

	"github.com/firq-go/firq/cmd/firqbench/internal/command"
	"github.com/firq-go/firq/compute"
)

// The router: 16 groups at 80 % load. The rule rounds up to whole calls, so the number of
// slots in a group counts: the work takes as many times longer, and the rate is the same.
const (
	routerGroups = 16
	routerWork   = 2500 * time.Microsecond // on average, times the slots of a group
	movedCase    = "keys moved, 16 to 17 groups"
)

// routerEach are the slots of a group.
var routerEach = []int{4, 16}

func routerCase(hot bool, each int) string {
	if hot {
		return fmt.Sprintf("router, %d slots, one key with 30 %%", each)
	}
	return fmt.Sprintf("router, %d slots, zipf", each)
}

func runRouter(ctx context.Context, p *plan, f *file, say command.Say) error {
	for round := range p.seeds {
		for _, each := range routerEach {
			for _, hot := range []bool{false, true} {
				v, err := measureRouter(ctx, hot, each, p.over, uint64(round))
				if err != nil {
					return err
				}
				f.add(routerCase(hot, each), ours, "max/mean", round, v)
				say("%s, round %d: max/mean %.2f", routerCase(hot, each), round+1, v)
			}
		}
		moved, err := measureMoved(ctx, p.moved, uint64(round))
		if err != nil {
			return err
		}
		f.add(movedCase, ours, "of the ideal", round, moved)
		say("%s, round %d: %.3f of the ideal", movedCase, round+1, moved)
	}
	return nil
}

// measureRouter returns the largest mean load of a group, executing and waiting, as a
// multiple of the mean of all.
func measureRouter(ctx context.Context, hot bool, each int, d time.Duration, seed uint64) (float64, error) {
	work := routerWork * time.Duration(each)
	s, err := compute.New(func(ctx context.Context, _ compute.Call[uint64, uint64]) (uint64, error) {
		select {
		case <-time.After(time.Duration(rand.ExpFloat64() * float64(work))):
		case <-ctx.Done():
		}
		return 0, ctx.Err()
	}, compute.Config[uint64, uint64, uint64]{Groups: routerGroups, Limit: routerGroups * each, NoCoalesce: true})
	if err != nil {
		return 0, err
	}
	defer func() { _ = s.Close() }()
	ctx, stop := context.WithTimeout(ctx, d)
	defer stop()
	var calls sync.WaitGroup
	defer calls.Wait()
	defer stop() // before it waits
	r := rand.New(rand.NewPCG(3, seed))
	z := rand.NewZipf(r, 1.01, 1, 99_999)
	perSecond := 0.8 * routerGroups * float64(each) / work.Seconds()
	began, due := time.Now(), 0.0
	var sums [routerGroups]float64
	for ctx.Err() == nil {
		now := time.Since(began).Seconds()
		for ; due < now; due += r.ExpFloat64() / perSecond {
			k := z.Uint64()
			if hot && r.Float64() < 0.3 {
				k = 12_345
			}
			calls.Go(func() { _, _ = s.Do(ctx, k%100, k) }) // what is refused is no load
		}
		if now > d.Seconds()/4 { // it has settled
			for i, g := range s.Stats().Groups {
				sums[i] += float64(g.InUse + g.Waiting)
			}
		}
		time.Sleep(2 * time.Millisecond)
	}
	all := 0.0
	for _, v := range sums {
		all += v
	}
	if all == 0 {
		return 0, fmt.Errorf("no load was seen in %v", d)
	}
	return slices.Max(sums[:]) / (all / routerGroups), nil
}

// measureMoved returns how many keys go elsewhere when a group is added, as a multiple of
// what is needed: one in 17.
func measureMoved(ctx context.Context, keys int, seed uint64) (float64, error) {
	s, err := compute.New(func(_ context.Context, c compute.Call[uint64, uint64]) (int, error) { return c.Group, nil },
		compute.Config[uint64, uint64, int]{Groups: routerGroups, Limit: 4 * (routerGroups + 1), Spill: math.Inf(1)})
	if err != nil {
		return 0, err
	}
	defer func() { _ = s.Close() }()
	homes := func() ([]int, error) {
		all := make([]int, keys)
		for i := range all {
			if all[i], err = s.Do(ctx, seed, uint64(i)); err != nil {
				return nil, err
			}
		}
		return all, nil
	}
	before, err := homes()
	if err != nil {
		return 0, err
	}
	s.SetGroups(routerGroups + 1)
	after, err := homes()
	if err != nil {
		return 0, err
	}
	moved := 0
	for i := range before {
		if before[i] != after[i] {
			moved++
		}
	}
	return float64(moved) / float64(keys) * (routerGroups + 1), nil
}
