package schedtest

import (
	"fmt"
	"math"
	"sync"
	"sync/atomic"
	"testing"
)

// Fairness does not depend on which shard a tenant happens to live on, nor on
// how many consumers there are.
var shardChecks = func() []check {
	var checks []check
	for _, n := range []int{9, 11, 50, 101, 333} {
		for _, consumers := range []int{1, 4} {
			checks = append(checks, check{
				name: fmt.Sprintf("%d tenants, 8 shards, consumers %d", n, consumers),
				run:  func(t *testing.T, m maker) { shardsFair(t, m, config{Shards: 8}, tenants(n), consumers) },
			})
		}
	}
	return append(checks,
		check{name: "consumers do not add unfairness", run: func(t *testing.T, m maker) {
			shardsFair(t, m, config{Shards: 1}, tenants(60), 8)
		}},
		check{name: "few tenants on many shards", run: func(t *testing.T, m maker) {
			shardsFair(t, m, config{Shards: 64}, tenants(20), 2)
		}},
		check{name: "names that are multiples of 16", run: shardsMultiples},
		check{name: "shares follow the quanta", run: shardsQuanta},
		check{name: "a shard that wakes up joins at the current round", run: shardsJoin},
		check{name: "a quiet tenant's task waits for its turn only", run: shardsQuiet},
		check{name: "no consumer idles while one shard has work", run: shardsConserve},
	)
}()

// jain is Jain's index of fairness: 1 if all are equal, 1/n if one has all.
func jain(shares []float64) float64 {
	var sum, squares float64
	for _, x := range shares {
		sum += x
		squares += x * x
	}
	return sum * sum / (float64(len(shares)) * squares)
}

// shardsFair gives every tenant the same backlog, takes half of the tasks, and compares the shares.
func shardsFair(t *testing.T, newSched maker, cfg config, names []string, consumers int) {
	t.Helper()
	each := max(120, 4000/len(names))
	s := open(t, newSched, cfg)
	index := map[string]int{}
	for i, name := range names {
		index[name] = i
		batch := make([]task, each)
		for k := range batch {
			batch[k] = task{Payload: i}
		}
		admitBatch(t, s, name, batch, each, nil)
	}
	ctx := patient(t)
	got := make([]atomic.Int64, len(names))
	var left atomic.Int64
	left.Store(int64(each * len(names) / 2))
	together(consumers, func(c int) {
		dst := make([]item, 1+c%2)
		for left.Add(-int64(len(dst))) >= 0 {
			n, err := s.DequeueBatch(ctx, dst)
			if err != nil {
				t.Errorf("DequeueBatch: %v", err)
				return
			}
			for _, it := range dst[:n] {
				got[index[it.Tenant]].Add(1)
			}
		}
	})
	shares := make([]float64, len(names))
	least, most := int64(math.MaxInt64), int64(0)
	for i := range got {
		n := got[i].Load()
		shares[i], least, most = float64(n), min(least, n), max(most, n)
	}
	if most >= int64(each) {
		t.Errorf("a tenant got all of its %d tasks while another one got %d", each, least)
	}
	switch apart := most - least; {
	case cfg.Shards == 1 && apart > 1:
		t.Errorf("one shard, %d consumers: tenants got from %d to %d tasks, want equal numbers", consumers, least, most)
	case consumers == 1 && apart > 5: // 1 + 1 + 1 + FairnessSlack + 1
		t.Errorf("tenants got from %d to %d tasks, the bound is 5 apart", least, most)
	}
	if j := jain(shares); j < 0.99 {
		t.Errorf("Jain's index over %d tenants is %.4f, want at least 0.99; they got from %d to %d tasks", len(names), j, least, most)
	}
}

func shardsMultiples(t *testing.T, newSched maker) {
	names := make([]string, 40)
	for i := range names {
		names[i] = fmt.Sprint(16 * i)
	}
	shardsFair(t, newSched, config{Shards: 16}, names, 1)
	for i := range names {
		names[i] = fmt.Sprintf("%08x", 256*i)
	}
	shardsFair(t, newSched, config{Shards: 16}, names, 2)
}

// shardsQuanta: quanta 1 to 4, each tenant served in proportion.
func shardsQuanta(t *testing.T, newSched maker) {
	names := tenants(30)
	s := open(t, newSched, config{Shards: 8})
	quantum := map[string]int64{}
	for i, name := range names {
		quantum[name] = int64(1 + i%4)
		s.SetQuantum(name, quantum[name])
		load(t, s, name, 20)
	}
	work := serve(t, s, 75*100)
	shares := make([]float64, 0, len(names))
	for name, n := range work {
		shares = append(shares, float64(n)/float64(quantum[name]))
	}
	if j := jain(shares); len(shares) != len(names) || j < 0.99 {
		t.Errorf("Jain's index over work/quantum of %d tenants is %.4f, want at least 0.99", len(shares), j)
	}
}

// shardsJoin: tenants that join after a long time get their share from then on, and no more.
func shardsJoin(t *testing.T, newSched maker) {
	names := tenants(12)
	s := open(t, newSched, config{Shards: 8})
	for _, name := range names[:6] {
		load(t, s, name, 20)
	}
	serve(t, s, 3000)
	for _, name := range names[6:] {
		load(t, s, name, 20)
	}
	work := serve(t, s, 1200)
	var shares []float64
	for _, name := range names {
		shares = append(shares, float64(work[name]))
	}
	if j := jain(shares); j < 0.99 {
		t.Errorf("after half of the tenants joined Jain's index is %.4f, want at least 0.99: %v", j, work)
	}
}

// shardsQuiet: while a quiet tenant's task waits, each of the others is served at most as
// often as the bound allows.
func shardsQuiet(t *testing.T, newSched maker) {
	const others, bound = 20, 1 + 1 + 1 + 1 + 1
	for shards, most := range map[int]int{1: others + 1, 8: others*bound + 1} {
		s := open(t, newSched, config{Shards: shards})
		for _, name := range tenants(others) {
			load(t, s, name, 20)
		}
		for i := range reps(300) {
			serve(t, s, 7)
			quiet := fmt.Sprint("quiet", i%9)
			admit(t, s, quiet, task{Payload: -1})
			n := 1
			for it := take(t, s); it.Tenant != quiet; it = take(t, s) {
				admit(t, s, it.Tenant, task{})
				n++
			}
			if n > most {
				t.Fatalf("%d shards: a quiet tenant's task was the %d-th to be served, want at most the %d-th", shards, n, most)
			}
		}
	}
}

func shardsConserve(t *testing.T, newSched maker) {
	const consumers = 4
	s := open(t, newSched, config{Shards: 8})
	n := reps(2000)
	load(t, s, "a", n)
	var got atomic.Int64
	var all sync.WaitGroup
	for range consumers {
		all.Go(func() {
			for range n / consumers {
				if _, ok := s.TryDequeue(); ok {
					got.Add(1)
				}
			}
		})
	}
	all.Wait()
	if got.Load() != int64(n/consumers*consumers) {
		t.Errorf("%d delivered of %d calls with one tenant backlogged", got.Load(), n)
	}
}
