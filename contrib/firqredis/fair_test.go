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

// spread returns the largest difference of the service per weight of two tenants over any interval.
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
//
// Why, in the terms of theorem 7 in docs/fairness.md: No tag is ever below v: a delivery sets v to
// the least tag, a tenant enters with v or more, and tags of ready tenants grow. First, at an
// instant at which both are ready, tag_i <= tag_j + C_i/w_i. Look at what made tag_i what it is.
//
//  1. A delivery of i, at tag s, made it s + c/w_i. If j was ready then, s was the least tag,
//     so that tag_j was s or more, and has not fallen since. If j became ready later, it
//     entered with v or more, and v has been s or more since that delivery.
//  2. i entered with v: tag_j is at least v as it was then, if j was ready, and at least a
//     later v, if not.
//  3. i entered with F, which was more than v. Its last delivery before, at tag s, made it F =
//     s + c/w_i and v at least s. Whether j was ready then or came later, tag_j is s or more.
//
// The same holds with i and j exchanged. Second, over the interval tag_i grows by W_i/w_i exactly.
// So W_i/w_i - W_j/w_j is tag_i - tag_j at the end, at most C_i/w_i, less the same at the start, at
// least -C_j/w_j.
func TestBound(t *testing.T) {
	fast(t, func(t *testing.T, s *server) {
		for seed := range uint64(5) {
			r := rand.New(rand.NewPCG(seed, 7))
			most := []int64{20, 1, 1 << 31, 20, 20}[seed]
			began := []float64{0, 0, 0, 1 << 50, 1 << 60}[seed] // where tags have two bits below 1, and where all costs are lost
			tasks := s.much(150)
			q, ctx := open(t, s, Config[string]{}), bounded(t)
			if began > 0 {
				ok(t, at(q).db.HSet(ctx, at(q).prefix[0]+":m", "v", strconv.FormatFloat(began, 'f', 0, 64)).Err())
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
