package main

import (
	"context"
	"fmt"
	"math/rand/v2"
	"slices"

	"github.com/firq-go/firq/cmd/firqbench/internal/command"
	requests "github.com/firq-go/firq/cmd/firqbench/internal/trace"
	"github.com/firq-go/firq/compute"
)

// trace is a sequence of keys.
type trace struct {
	name  string
	sizes []int
	least float64 // the goal, as a part of otter's hits
	keys  func(seed uint64) func(i int) uint64
	n     int // requests; 0: as many as the plan says
}

const (
	universe = 200_000
	around   = 12_000 // keys of a loop
	alive    = 1_000  // keys of bursts that are asked for at a time
)

// sizes are those of all traces but the web log.
var sizes = []int{2_000, 10_000}

// popular returns traces in which some keys are more popular than others.
func popular(name string, key func(i int, k uint64) uint64) trace {
	return trace{name, sizes, 0.99, func(seed uint64) func(i int) uint64 {
		z := rand.NewZipf(rand.New(rand.NewPCG(7, seed)), 1.01, 1, universe-1)
		return func(i int) uint64 { return key(i, z.Uint64()) }
	}, 0}
}

var traces = []trace{
	popular("zipf", func(_ int, k uint64) uint64 { return k }),
	{"zipf with scan", sizes, 0.99, func(seed uint64) func(i int) uint64 {
		z := rand.NewZipf(rand.New(rand.NewPCG(7, seed)), 1.01, 1, universe-1)
		return func(i int) uint64 {
			if i%5 == 0 {
				return universe + uint64(i/5)
			}
			return z.Uint64()
		}
	}, 0},
	popular("shifting", func(i int, k uint64) uint64 { return k + uint64(i)/100_000*40_000 }),
	popular("drifting", func(i int, k uint64) uint64 { return k + uint64(i)/50 }),
	popular("drifting fast", func(i int, k uint64) uint64 { return k + uint64(i)/10 }).goal(0.9),
	{"loop", sizes, 0.9, func(uint64) func(i int) uint64 { return func(i int) uint64 { return uint64(i % around) } }, 0},
	popular("loop and zipf", func(i int, k uint64) uint64 {
		if i%2 == 0 {
			return universe + uint64(i/2%around)
		}
		return k
	}).goal(0.9),
	{"bursts", sizes, 0.9, func(seed uint64) func(i int) uint64 { return bursts(seed).next }, 0},
	{"bursts and zipf", sizes, 0.9, func(seed uint64) func(i int) uint64 {
		z, b := rand.NewZipf(rand.New(rand.NewPCG(7, seed)), 1.01, 1, universe-1), bursts(seed)
		return func(i int) uint64 {
			if i%2 == 0 {
				return z.Uint64()
			}
			return universe + b.next(i)
		}
	}, 0},
}

func (t trace) goal(least float64) trace {
	t.least = least
	return t
}

// burst is what is asked for five times on average, and then never again.
type burst struct {
	r    *rand.Rand
	keys [alive]uint64
	last uint64
}

func bursts(seed uint64) *burst {
	b := &burst{r: rand.New(rand.NewPCG(8, seed))}
	for i := range b.keys {
		b.keys[i] = b.new()
	}
	return b
}

func (b *burst) new() uint64 {
	b.last++
	return b.last
}

func (b *burst) next(int) uint64 {
	at := b.r.IntN(alive)
	k := b.keys[at]
	if b.r.IntN(5) == 0 {
		b.keys[at] = b.new()
	}
	return k
}

// webLog reads a trace from a file as firqbench replay takes it. A request's cost, which is the
// size of the response, stands for what was asked for.
func webLog(path string) (*trace, error) {
	log, err := requests.ReadFile(path)
	if err != nil {
		return nil, err
	}
	number := map[int64]uint64{}
	var keys []uint64
	for _, r := range log.Requests {
		if _, seen := number[r.Cost]; !seen {
			number[r.Cost] = uint64(len(number))
		}
		keys = append(keys, number[r.Cost])
	}
	return &trace{"web log", []int{20, 50}, 0.9, func(uint64) func(i int) uint64 { return func(i int) uint64 { return keys[i] } }, len(keys)}, nil
}

// ratioSystems: otter forgets on its own goroutines, so that it has more entries for a while than
// it may; the last one forgets before Set returns.
var ratioSystems = []string{ours, otterAlone, otterInStep}

// runRatio: of how many requests is the result kept, one after the other.
func runRatio(ctx context.Context, p *plan, f *file, say command.Say) error {
	all := traces
	if p.weblog != nil {
		all = append(slices.Clip(all), *p.weblog)
	}
	for _, t := range all {
		if err := t.run(ctx, p, f, say); err != nil {
			return err
		}
	}
	return nil
}

func (t trace) run(ctx context.Context, p *plan, f *file, say command.Say) error {
	requests := p.requests
	if t.n > 0 {
		requests = t.n
	}
	for _, size := range t.sizes {
		for round := range p.seeds {
			for _, name := range turn(ratioSystems, round) {
				hits, most, err := t.measure(ctx, name, size, requests, uint64(round))
				if err != nil {
					return err
				}
				f.add(ratioCase(t.name, size), name, "hits, %", round, hits)
				f.add(ratioCase(t.name, size), name, "entries, the most", round, float64(most))
				say("hit ratio, %s, %d entries, seed %d, %s: %.2f %%, at most %d entries", t.name, size, round+1, name, hits, most)
			}
		}
	}
	return nil
}

func ratioCase(name string, size int) string {
	return fmt.Sprintf("hit ratio, %s, %d entries", name, size)
}

// asker answers requests of a trace, and says how many entries it has.
type asker struct {
	ask     func(k uint64) (hit bool, err error)
	entries func() int
	close   func()
}

func newAsker(ctx context.Context, name string, size int) (a asker, err error) {
	if name == ours {
		s, err := compute.New(func(_ context.Context, c compute.Call[struct{}, uint64]) (uint64, error) { return c.Key, nil },
			compute.Config[struct{}, uint64, uint64]{TTL: ttl, Size: size})
		if err != nil {
			return a, err
		}
		return asker{func(k uint64) (bool, error) {
			_, info, err := s.DoInfo(ctx, struct{}{}, k)
			return info.Source == compute.Hit, err
		}, func() int { return s.Stats().Entries }, func() { _ = s.Close() }}, nil
	}
	o := otterOptions[uint64](size, true)
	if name == otterInStep {
		o.Executor = func(f func()) { f() }
	}
	c, err := otterOf(o)
	if err != nil {
		return a, err
	}
	return asker{func(k uint64) (bool, error) {
		_, hit := c.GetIfPresent(k)
		if !hit {
			c.Set(k, k)
		}
		return hit, nil
	}, c.EstimatedSize, func() { c.StopAllGoroutines() }}, nil
}

// measure asks for the keys of a trace. What otter does not have is made aside of it.
func (t trace) measure(ctx context.Context, name string, size, requests int, seed uint64) (percent float64, most int, err error) {
	a, err := newAsker(ctx, name, size)
	if err != nil {
		return 0, 0, err
	}
	defer a.close()
	key, hits := t.keys(seed), 0
	for i := range requests {
		hit, err := a.ask(key(i))
		if err != nil {
			return 0, 0, err
		}
		if hit {
			hits++
		}
		if i%97 == 0 {
			most = max(most, a.entries())
		}
		if i%10_000 == 0 && ctx.Err() != nil {
			return 0, 0, ctx.Err()
		}
	}
	return 100 * float64(hits) / float64(requests), most, nil
}
