package firqredis

import (
	"cmp"
	"context"
	"fmt"
	"math"
	"math/rand/v2"
	"slices"
	"strconv"
	"sync"
	"sync/atomic"
	"testing"
	"time"
)

// spread is by how much what two tenants were served, per weight, differs over any interval, at most.
func spread(its []*Item[string], a, b string, wa, wb float64) float64 {
	var low, high, d float64
	for _, it := range its {
		switch it.Tenant {
		case a:
			d += float64(it.Cost) / wa
		case b:
			d -= float64(it.Cost) / wb
		}
		low, high = min(low, d), max(high, d)
	}
	return high - low
}

// Goyal's bound: over every interval in which two tenants have tasks, what they are served, per weight, differs by
// at most c/w + c'/w'. Costs and weights are random; workers take batches, and come and go.
func TestBound(t *testing.T) {
	fast(t, func(t *testing.T, s *server) {
		for seed := range uint64(5) {
			r := rand.New(rand.NewPCG(seed, 7))
			most := []int64{20, 1, 1 << 31, 20, 20}[seed]
			began := []float64{0, 0, 0, 1 << 50, 1 << 60}[seed] // where tags have two bits below 1, and where all costs are lost
			tasks := s.much(150)
			q, ctx := open(t, s, Config[string]{}), bounded(t)
			if began > 0 {
				ok(t, q.db.HSet(ctx, q.prefix[0]+":m", "v", strconv.FormatFloat(began, 'f', 0, 64)).Err())
			}
			weights := map[string]float64{}
			left := map[string]int{}
			for k := range 5 {
				name := fmt.Sprint("t", r.IntN(1000), k) // ties are broken by name
				weights[name], left[name] = []float64{1, 2, 0.5, 3.7, 1}[k], tasks
				ok(t, q.SetTenant(ctx, name, TenantSettings{Weight: weights[name]}))
				ts := many(name, tasks)
				for j := range ts {
					ts[j].Cost = 1 + r.Int64N(most)
				}
				put(t, q, ts...)
			}
			its := serve(t, q, 5*tasks, seed)
			slices.SortFunc(its, func(a, b *Item[string]) int { return cmp.Compare(a.Token, b.Token) })
			for k, it := range its { // until the first one has no more
				if left[it.Tenant]--; left[it.Tenant] == 0 {
					its = its[:k+1]
					break
				}
			}
			served := map[string]int{}
			for _, it := range its {
				served[it.Tenant]++
			}
			rounding := math.Nextafter(2*began, 4*began) - 2*began // of a delivery, at most
			for a, wa := range weights {
				for b, wb := range weights {
					if began >= 1<<60 { // turns by task
						if d := served[a] - served[b]; d < -1 || d > 1 {
							t.Errorf("seed %d: %s was served %d times, and %s %d times", seed, a, served[a], b, served[b])
						}
						continue
					}
					if bound := float64(most)/wa + float64(most)/wb + rounding*float64(served[a]+served[b]); a < b && spread(its, a, b, wa, wb) > bound*(1+1e-9) {
						t.Errorf("seed %d: %s and %s differ by %v, and may by %v", seed, a, b, spread(its, a, b, wa, wb), bound)
					}
				}
			}
		}
	})
}

// serve takes n tasks by workers that come and go.
func serve(t *testing.T, q *Queue[string], n int, seed uint64) (all []*Item[string]) {
	var mu sync.Mutex
	var wg sync.WaitGroup
	var got atomic.Int64
	ctx := bounded(t)
	for w := range 6 {
		wg.Go(func() {
			r := rand.New(rand.NewPCG(seed, uint64(w)))
			for got.Load() < int64(n) && ctx.Err() == nil {
				if r.IntN(20) == 0 { // goes, and another one comes
					time.Sleep(time.Duration(r.IntN(5)) * time.Millisecond)
				}
				life, cancel := context.WithTimeout(ctx, 500*time.Millisecond)
				its, _ := q.DequeueBatch(life, 1+r.IntN(4))
				cancel()
				mu.Lock()
				all = append(all, its...)
				mu.Unlock()
				got.Add(int64(len(its)))
				if err := q.Ack(ctx, its...); err != nil {
					t.Error(err)
				}
			}
		})
	}
	wg.Wait()
	same(t, "served", got.Load(), int64(n))
	return all
}

// in returns a tenant that lives in a partition.
func in(q *Queue[string], p, k int) string {
	for j := 0; ; j++ {
		if name := fmt.Sprintf("p%d.%d.%d", p, k, j); q.partitionOf(name) == p {
			return name
		}
	}
}

// Ten tenants in one partition, and one in each of three others: each is served the same.
func TestFairAcrossPartitions(t *testing.T) {
	each(t, func(t *testing.T, s *server) {
		q, ctx := open(t, s, Config[string]{Partitions: 4}), bounded(t)
		each, slack := s.much(100), 17
		var names []string
		for k := range 10 {
			names = append(names, in(q, 0, k))
		}
		for p := 1; p < 4; p++ {
			names = append(names, in(q, p, 0))
		}
		for _, name := range names {
			put(t, q, many(name, each+2*slack)...)
		}
		n := map[string]int{}
		for served := 0; served < each*len(names); {
			its, err := q.DequeueBatch(ctx, 8)
			ok(t, err)
			for _, it := range its {
				if served++; served <= each*len(names) {
					n[it.Tenant]++
				}
			}
			ok(t, q.Ack(ctx, its...))
		}
		for _, name := range names {
			if n[name] < each-slack || n[name] > each+slack {
				t.Errorf("%s was served %d times of %d: %v", name, n[name], each, n)
			}
		}
	})
}

// A partition that was idle has saved nothing up, and its tenants are seen at once.
func TestIdlePartition(t *testing.T) {
	each(t, func(t *testing.T, s *server) {
		q, ctx := open(t, s, Config[string]{Partitions: 2}), bounded(t)
		busy, late := in(q, 0, 0), in(q, 1, 0)
		put(t, q, many(busy, s.much(1000)+300)...)
		take1 := func(n int) map[string]int {
			m := map[string]int{}
			for k := 0; k < n; {
				its, err := q.DequeueBatch(ctx, min(4, n-k))
				ok(t, err)
				for _, it := range its {
					m[it.Tenant]++
				}
				k += len(its)
				ok(t, q.Ack(ctx, its...))
			}
			return m
		}
		take1(s.much(1000))
		put(t, q, many(late, 300)...)
		m := take1(200)
		if m[busy] < 80 || m[late] < 80 {
			t.Errorf("after one was idle: %v, want about the same", m)
		}
	})
}

// One tenant has 100,000 tasks, and a hundred have one each: those are served within the first 202 deliveries.
func TestNoisyNeighbour(t *testing.T) {
	for _, partitions := range []int{1, 4} {
		t.Run(fmt.Sprint(partitions), func(t *testing.T) {
			fast(t, func(t *testing.T, s *server) {
				noise := 100_000
				if s.name == "embedded" || partitions > 1 {
					noise = 1_000
				}
				q, ctx := open(t, s, Config[string]{Partitions: partitions}), bounded(t)
				put(t, q, many("noisy", noise)...)
				for range 50 { // it has the workers for itself for a while
					its, err := q.DequeueBatch(ctx, 4)
					ok(t, err)
					ok(t, q.Ack(ctx, its...))
				}
				var ts []job
				for k := range 100 {
					ts = append(ts, job{Tenant: fmt.Sprint("quiet", k)})
				}
				put(t, q, ts...)
				quiet, n := 0, 0
				for n < 202 {
					its, err := q.DequeueBatch(ctx, min(16, 202-n))
					ok(t, err)
					for _, it := range its {
						if it.Tenant != "noisy" {
							quiet++
						}
					}
					n += len(its)
					ok(t, q.Ack(ctx, its...))
				}
				same(t, "of the quiet ones, within 202 deliveries", quiet, 100)
			})
		})
	}
}

// A process does not depend on wake-ups to see tenants that come to other partitions: here, it does not listen
// for any. It takes at most fewUnseen tasks and a batch before it asks, and a batch of each partition after that.
func TestNewcomersInOtherPartitions(t *testing.T) {
	each(t, func(t *testing.T, s *server) {
		q, ctx := open(t, s, Config[string]{Partitions: 4}), bounded(t)
		q.fetch.mu.Lock()
		for p := 1; p < 4; p++ {
			q.fetch.sleeping[p] = true // so it does not start to
		}
		q.fetch.mu.Unlock()
		noisy := in(q, 0, 0)
		put(t, q, many(noisy, 1000)...)
		for range 2 { // then it has looked everywhere
			its, err := q.DequeueBatch(ctx, 4)
			ok(t, err)
			ok(t, q.Ack(ctx, its...))
		}
		for p := 1; p < 4; p++ {
			put(t, q, job{Tenant: in(q, p, 0)})
		}
		quiet := 0
		for n := 0; n < fewUnseen+2*16; {
			its, err := q.DequeueBatch(ctx, 16)
			ok(t, err)
			for _, it := range its {
				if it.Tenant != noisy {
					quiet++
				}
			}
			n += len(its)
			ok(t, q.Ack(ctx, its...))
		}
		same(t, "of the quiet ones", quiet, 3)
	})
}

func TestIdleSavesNothing(t *testing.T) {
	each(t, func(t *testing.T, s *server) {
		q, ctx := open(t, s, Config[string]{}), bounded(t)
		put(t, q, many("busy", 200)...)
		put(t, q, job{Tenant: "late"})
		ok(t, q.Ack(ctx, now(t, q, 100)...))
		put(t, q, many("late", 50)...)
		n := 0
		for _, it := range now(t, q, 20) {
			if it.Tenant == "late" {
				n++
			}
		}
		if n < 9 || n > 11 {
			t.Errorf("%d of 20 are the late one's", n)
		}
	})
}

// A tenant that queues one task at a time gains nothing over one with a backlog.
func TestComingAndGoingGainsNothing(t *testing.T) {
	each(t, func(t *testing.T, s *server) {
		q, ctx := open(t, s, Config[string]{}), bounded(t)
		put(t, q, many("backlog", 200)...)
		n := map[string]int{}
		for range s.much(60) {
			put(t, q, job{Tenant: "one", Cost: 3})
			for {
				its := now(t, q, 1)
				ok(t, q.Ack(ctx, its...))
				n[its[0].Tenant] += int(its[0].Cost)
				if its[0].Tenant == "one" {
					break
				}
			}
		}
		if d := n["one"] - n["backlog"]; d > 4 || d < -4 {
			t.Errorf("served: %v", n)
		}
	})
}

// What a task has cost is known only after it: Charge corrects its tenant's share.
func TestCharge(t *testing.T) {
	each(t, func(t *testing.T, s *server) {
		q, ctx := open(t, s, Config[string]{}), bounded(t)
		put(t, q, append(many("expensive", 100), many("cheap", 100)...)...)
		n := map[string]int{}
		for range 80 {
			it := now(t, q, 1)[0]
			n[it.Tenant]++
			if it.Tenant == "expensive" {
				it.Charge(3)
			}
			ok(t, q.Ack(ctx, it))
		}
		if n["expensive"] < 15 || n["expensive"] > 17 {
			t.Errorf("costs of 4 and 1, served: %v", n)
		}
	})
}

// A paused tenant, and one at its limit, cost others nothing, and save nothing up.
func TestPausedSavesNothing(t *testing.T) {
	each(t, func(t *testing.T, s *server) {
		q, ctx := open(t, s, Config[string]{}), bounded(t)
		for _, name := range []string{"a", "b", "paused", "limited"} {
			put(t, q, many(name, 100)...)
		}
		ok(t, q.Pause(ctx, "paused"))
		ok(t, q.SetTenant(ctx, "limited", TenantSettings{MaxInFlight: 1}))
		its := now(t, q, 81)
		n := map[string]int{}
		for _, it := range its {
			n[it.Tenant]++
		}
		if n["a"] != 40 || n["b"] != 40 || n["limited"] != 1 {
			t.Fatalf("served: %v", n)
		}
		ok(t, q.Resume(ctx, "paused"))
		ok(t, q.SetTenant(ctx, "limited", TenantSettings{}))
		n = map[string]int{}
		for _, it := range now(t, q, 80) {
			n[it.Tenant]++
		}
		for name, k := range n {
			if k < 19 || k > 21 {
				t.Errorf("%s was served %d of 80", name, k)
			}
		}
	})
}

// Round costs are numbers, too: servers write 1e+8.
func TestRoundCosts(t *testing.T) {
	each(t, func(t *testing.T, s *server) {
		q, ctx := open(t, s, Config[string]{}), bounded(t)
		for k := range 19 {
			cost := int64(1)
			for range k {
				cost *= 10
			}
			put(t, q, job{Cost: cost, Tenant: fmt.Sprint(k)}, job{Cost: cost, Tenant: fmt.Sprint(k)})
		}
		c := q.From([]string{"9"}, []string{"*"})
		for range 19 {
			it, err := c.Dequeue(ctx)
			ok(t, err)
			ok(t, q.Ack(ctx, it))
		}
		same(t, "the others", len(now(t, q, 99)), 19)
	})
}
