package firqfleet

import (
	"context"
	"fmt"
	"os"
	"slices"
	"strconv"
	"strings"
	"sync"
	"sync/atomic"
	"testing"
	"time"

	"github.com/redis/go-redis/v9"

	"github.com/firq-go/firq/gate"
)

// benchEnv turns TestFleetBench on: how many rounds.
const benchEnv = "FIRQ_FLEET_BENCH"

const (
	benchMembers = 8
	benchSlots   = 64
	benchHold    = 5 * time.Millisecond
)

// system is one way to share slots: it returns what the members ask, and what ends it.
type system struct {
	name string
	open func(t *testing.T, addr string) []gate.Acquirer[string]
}

var systems = []system{
	{"one gate, no network", func(*testing.T, string) []gate.Acquirer[string] {
		return slices.Repeat([]gate.Acquirer[string]{gate.New(benchSlots, gate.Config[string]{})}, benchMembers)
	}},
	{"N/P slots each", func(*testing.T, string) (all []gate.Acquirer[string]) {
		for range benchMembers {
			all = append(all, gate.New(benchSlots/benchMembers, gate.Config[string]{}))
		}
		return all
	}},
	{"ZSET semaphore", func(t *testing.T, addr string) (all []gate.Acquirer[string]) {
		for range benchMembers {
			all = append(all, &zset{c: benchClient(t, addr), limit: benchSlots})
		}
		return all
	}},
	{"firqfleet", func(t *testing.T, addr string) (all []gate.Acquirer[string]) {
		for range benchMembers {
			all = append(all, join(t, addr, benchSlots, Config{Client: benchClient(t, addr)}))
		}
		return all
	}},
}

func benchClient(t testing.TB, addr string) *redis.Client {
	c := redis.NewClient(&redis.Options{Addr: addr, MaxRetries: -1, PoolSize: 64})
	t.Cleanup(func() { _ = c.Close() })
	return c
}

// figures are what one run shows.
type figures struct {
	perSecond, server, fair, p50, p99, trips, inPlace float64 // server: us per permit; trips per permit
	most                                              int64
}

// TestFleetBench compares the ways to share slots, in alternating rounds:
//
//	FIRQ_FLEET_BENCH=3 go test -run TestFleetBench -v -timeout 30m ./contrib/firqfleet
func TestFleetBench(t *testing.T) {
	rounds, _ := strconv.Atoi(os.Getenv(benchEnv))
	if rounds < 1 {
		t.Skipf("%s is not set", benchEnv)
	}
	for _, load := range []string{"saturated", "half"} {
		all := map[string][]figures{}
		for range rounds {
			for _, s := range systems {
				t.Run(load+"/"+s.name, func(t *testing.T) {
					p := own(t, "redis-server")
					all[s.name] = append(all[s.name], measure(t, p.addr(), s, load == "saturated"))
				})
			}
		}
		fmt.Printf("\n| %s (median of %d) | permits/s | least/most tenant | quiet p50; p99 ms | server us/permit | round trips/permit | without one | most in use |\n|---|---|---|---|---|---|---|---|\n", load, rounds)
		for _, s := range systems {
			f := all[s.name]
			if len(f) == 0 {
				continue // -run has left it out
			}
			mid := func(of func(figures) float64) float64 {
				var v []float64
				for _, x := range f {
					v = append(v, of(x))
				}
				slices.Sort(v)
				return v[len(v)/2]
			}
			fmt.Printf("| %s | %.0f | %.3f | %.2f; %.2f | %.1f | %.3f | %.3f | %d |\n", s.name, mid(func(f figures) float64 { return f.perSecond }),
				mid(func(f figures) float64 { return f.fair }), mid(func(f figures) float64 { return f.p50 }), mid(func(f figures) float64 { return f.p99 }),
				mid(func(f figures) float64 { return f.server }), mid(func(f figures) float64 { return f.trips }),
				mid(func(f figures) float64 { return f.inPlace }), int64(mid(func(f figures) float64 { return float64(f.most) })))
		}
	}
}

// bench is one run.
type bench struct {
	served      [10]atomic.Int64
	use, most   atomic.Int64
	counts      atomic.Bool
	mu          sync.Mutex
	waits       []time.Duration // of quiet tenants
	permits     atomic.Int64
	wg          sync.WaitGroup
	ctx         context.Context
	immediately atomic.Int64
}

// work is a client of a tenant: index below 0 is a quiet one.
func (b *bench) work(g gate.Acquirer[string], tenant string, index int, think time.Duration) {
	b.wg.Go(func() {
		for b.ctx.Err() == nil {
			if think > 0 {
				time.Sleep(think)
			}
			began := time.Now()
			p, err := g.Acquire(b.ctx, tenant, gate.Request{})
			if err != nil {
				continue
			}
			waited := time.Since(began)
			n := b.use.Add(1)
			for m := b.most.Load(); n > m && !b.most.CompareAndSwap(m, n); m = b.most.Load() {
			}
			time.Sleep(benchHold)
			b.use.Add(-1)
			at := p.Waited()
			p.Release()
			if !b.counts.Load() {
				continue
			}
			b.permits.Add(1)
			if at == 0 {
				b.immediately.Add(1)
			}
			if index >= 0 {
				b.served[index].Add(1)
				continue
			}
			b.mu.Lock()
			b.waits = append(b.waits, waited)
			b.mu.Unlock()
		}
	})
}

func measure(t *testing.T, addr string, s system, saturated bool) (f figures) {
	members := s.open(t, addr)
	ctx, cancel := context.WithCancel(context.Background())
	b := &bench{ctx: ctx}
	defer b.wg.Wait()
	defer cancel()
	for i, g := range members {
		if saturated { // tenant 0 floods all members, the others one each, three of them the first one
			for range 32 {
				b.work(g, "t0", 0, 0)
			}
		} else {
			for k := range 8 {
				b.work(g, "t"+strconv.Itoa(k), k, 2*benchHold)
			}
		}
		for k := range 2 {
			b.work(g, fmt.Sprintf("quiet%d-%d", i, k), -1, 50*time.Millisecond)
		}
	}
	for k := 1; k < 10 && saturated; k++ {
		home := k % len(members)
		if k <= 3 {
			home = 0
		}
		for range 24 {
			b.work(members[home], "t"+strconv.Itoa(k), k, 0)
		}
	}
	admin := benchClient(t, addr)
	time.Sleep(time.Second)
	cpu, began, trips := cpuOf(admin), time.Now(), syncs(members)
	b.counts.Store(true)
	time.Sleep(4 * time.Second)
	b.counts.Store(false)
	n := float64(b.permits.Load())
	f.perSecond = n / time.Since(began).Seconds()
	f.server, f.trips = float64(cpuOf(admin)-cpu)/1e3/n, float64(syncs(members)-trips)/n
	f.most, f.inPlace = b.most.Load(), float64(b.immediately.Load())/n
	var served []float64
	for i := range b.served {
		if saturated || i < 8 {
			served = append(served, float64(b.served[i].Load()))
		}
	}
	if os.Getenv("CS") != "" {
		println(admin.Info(ctx, "commandstats").Val())
	}
	f.fair = slices.Min(served) / slices.Max(served)
	b.mu.Lock()
	defer b.mu.Unlock()
	slices.Sort(b.waits)
	at := func(p float64) float64 { return b.waits[int(p*float64(len(b.waits)-1))].Seconds() * 1e3 }
	f.p50, f.p99 = at(0.5), at(0.99)
	return f
}

func syncs(members []gate.Acquirer[string]) (n uint64) {
	for _, m := range members {
		if g, ok := m.(*Gate); ok {
			n += g.Stats().Syncs
		}
	}
	return n
}

// cpuOf returns the processor time of a server.
func cpuOf(c *redis.Client) (d time.Duration) {
	for line := range strings.Lines(c.Info(context.Background(), "cpu").Val()) {
		name, value, _ := strings.Cut(strings.TrimSpace(line), ":")
		if name == "used_cpu_sys" || name == "used_cpu_user" {
			s, _ := strconv.ParseFloat(value, 64)
			d += time.Duration(s * 1e9)
		}
	}
	return d
}

// BenchmarkIdle is a call of an idle fleet, and of a gate.
func BenchmarkIdle(b *testing.B) {
	ctx := context.Background()
	run := func(g gate.Acquirer[string]) func(b *testing.B) {
		return func(b *testing.B) {
			b.ReportAllocs()
			for b.Loop() {
				p, err := g.Acquire(ctx, "a", gate.Request{})
				if err != nil {
					b.Fatal(err)
				}
				p.Release()
			}
		}
	}
	b.Run("impl=gate", run(gate.New(64, gate.Config[string]{})))
	g := join(b, addr(b, "redis-server"), 64, Config{Name: name()})
	get(b, g, "a", gate.Request{}).Release()
	b.Run("impl=fleet", run(g))
}
