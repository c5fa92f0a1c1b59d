package main

import (
	"context"
	"fmt"
	"sync"
	"sync/atomic"
	"time"

	"github.com/firq-go/firq/cmd/firqbench/internal/command"
	"github.com/firq-go/firq/hist"
)

// The crowd: 16 times as many callers as elsewhere, without pause, on 8 slots.
const (
	crowdCase    = "1,024 callers on 8 slots"
	crowdCallers = 16 * callers
)

// sampled: one call in this many is timed, as two looks at the clock cost as much as a hit.
const sampled = 61

// outcome is what one round came to.
type outcome struct {
	answered, refused int64
	took              time.Duration
	times             *hist.Snapshot
}

func runCrowd(ctx context.Context, p *plan, f *file, say command.Say) error {
	for round := range p.rounds {
		for _, name := range turn([]string{ours, pool}, round) {
			o, err := measureCrowd(ctx, name, p.time)
			if err != nil {
				return fmt.Errorf("%s: %w", name, err)
			}
			rate := float64(o.answered) / o.took.Seconds()
			f.add(crowdCase, name, "calls/s", round, rate)
			f.add(crowdCase, name, "p50, us", round, micros(o.times.Quantile(0.5)))
			f.add(crowdCase, name, "p99, us", round, micros(o.times.Quantile(0.99)))
			f.add(crowdCase, name, "refused, %", round, 100*float64(o.refused)/float64(max(o.answered+o.refused, 1)))
			say("%s, round %d, %s: %.2f M/s", crowdCase, round+1, name, rate/1e6)
		}
	}
	return nil
}

func micros(d time.Duration) float64 { return float64(d) / float64(time.Microsecond) }

// measureCrowd lets all callers ask without pause, for different keys; nothing is kept.
func measureCrowd(ctx context.Context, name string, d time.Duration) (*outcome, error) {
	s, err := makeSystem(name, setup{slots: overSlots, work: trivial})
	if err != nil {
		return nil, err
	}
	defer s.close()
	var stop atomic.Bool
	var all sync.WaitGroup
	var mu sync.Mutex
	o := &outcome{times: hist.NewSnapshot()}
	began := time.Now()
	for g := range crowdCallers {
		next := load{}.next(uint64(g))
		all.Go(func() {
			var mine hist.Local
			var answered, refused int64
			for n := uint64(0); !stop.Load(); n++ {
				k := next(n)
				var at time.Time
				if n%sampled == 0 {
					at = time.Now()
				}
				if v, err := s.do(ctx, k); err != nil || v != k.Tenant+k.Key {
					refused++
					continue
				}
				if answered++; n%sampled == 0 {
					mine.Record(time.Since(at))
				}
			}
			mu.Lock()
			defer mu.Unlock()
			mine.AddTo(o.times)
			o.answered += answered
			o.refused += refused
		})
	}
	select {
	case <-time.After(d):
	case <-ctx.Done():
	}
	stop.Store(true)
	all.Wait()
	o.took = time.Since(began)
	return o, ctx.Err()
}
