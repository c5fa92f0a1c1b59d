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

// The table of the document that package compute began with: what it says one of its servers
// answers per second, of one hot key, of keys that are all missed, and under overload. It does
// not say what the overload was; here it is 16 times as many callers as elsewhere and 8 slots.
var document = []struct {
	load
	says    float64 // calls per second
	callers int
	slots   int
}{
	{load{name: "document, one hot key", systems: []string{ours, pool}, size: 1_000, keys: 1, warm: true}, 800_000, callers, slots},
	{load{name: "document, all misses", systems: []string{ours, pool}}, 340_000, callers, slots},
	{load{name: "document, overload", systems: []string{ours, pool}}, 320_000, 16 * callers, overSlots},
}

// sampled: one call in this many is timed, as two looks at the clock cost as much as a hit.
const sampled = 61

// outcome is what one round of a row came to.
type outcome struct {
	answered, refused int64
	took              time.Duration
	times             *hist.Snapshot
}

func runDocument(ctx context.Context, p *plan, f *file, say command.Say) error {
	for i := range document {
		row := &document[i]
		for round := range p.rounds {
			for _, name := range turn(row.systems, round) {
				s, err := makeSystem(name, setup{slots: row.slots, size: row.size, work: trivial})
				if err != nil {
					return err
				}
				o, err := row.timed(ctx, s, row.callers, p.time)
				s.close()
				if err != nil {
					return fmt.Errorf("%s, %s: %w", row.name, name, err)
				}
				rate := float64(o.answered) / o.took.Seconds()
				f.add(row.name, name, "calls/s", round, rate)
				f.add(row.name, name, "of the document's", round, rate/row.says)
				f.add(row.name, name, "p50, us", round, micros(o.times.Quantile(0.5)))
				f.add(row.name, name, "p99, us", round, micros(o.times.Quantile(0.99)))
				f.add(row.name, name, "refused, %", round, 100*float64(o.refused)/float64(max(o.answered+o.refused, 1)))
				say("%s, round %d, %s: %.2f M/s, %.1f x the document's", row.name, round+1, name, rate/1e6, rate/row.says)
			}
		}
	}
	return nil
}

func micros(d time.Duration) float64 { return float64(d) / float64(time.Microsecond) }

// timed lets the given number of callers ask without pause.
func (l load) timed(ctx context.Context, s system, callers int, d time.Duration) (*outcome, error) {
	if l.warm {
		for k := range l.keys {
			if _, err := s.do(ctx, key{Tenant: k % 100, Key: k}); err != nil {
				return nil, err
			}
		}
	}
	var stop atomic.Bool
	var all sync.WaitGroup
	var mu sync.Mutex
	o := &outcome{times: hist.NewSnapshot()}
	began := time.Now()
	for g := range callers {
		next := l.next(uint64(g))
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
