package firqpg

import (
	"context"
	"errors"
	"fmt"
	"math"
	"slices"
	"sync"
	"testing"
	"time"
)

// sfq returns the order in which start-time fair queueing serves tenants that have all their tasks from the beginning: cost by tenant and place.
func sfq(costs map[string][]int64, weight map[string]float64) (order []string) {
	tag, at := map[string]float64{}, map[string]int{}
	for {
		best := ""
		for name, cs := range costs {
			if at[name] < len(cs) && (best == "" || tag[name] < tag[best]) {
				best = name
			}
		}
		if best == "" {
			return order
		}
		order = append(order, best)
		tag[best] += float64(costs[best][at[best]]) / weight[best]
		at[best]++
	}
}

// TestFairOrder: the order is that of start-time fair queueing, task for task, whatever the size of batches. Costs and weights are such that no two
// tags are equal.
func TestFairOrder(t *testing.T) {
	t.Parallel()
	for _, batch := range []int{1, 3, 50, 500} {
		t.Run(fmt.Sprint(batch), func(t *testing.T) {
			t.Parallel()
			weight := map[string]float64{"a": 1, "b": math.Pi, "c": 0.5 * math.E, "d": math.Sqrt2, "e": 7.3}
			q, _ := queueOf(t, Config[string]{WeightFor: func(tenant string) float64 { return weight[tenant] }})
			ctx := bounded(t)
			costs := map[string][]int64{}
			var ts []Task[string]
			for i, name := range []string{"a", "b", "c", "d", "e"} {
				for k := range 60 {
					c := int64(1 + (k*7+i*3)%11 + 13*i)
					costs[name] = append(costs[name], c)
					ts = append(ts, Task[string]{Tenant: name, Cost: c})
				}
			}
			must[[]Result](t)(q.EnqueueBatch(ctx, ts))
			var got []string
			for len(got) < len(ts) {
				its := must[[]*Item[string]](t)(q.DequeueBatch(ctx, batch))
				for _, it := range its {
					got = append(got, it.Tenant)
				}
				if err := q.Ack(ctx, its...); err != nil {
					t.Fatal(err)
				}
			}
			want := sfq(costs, weight)
			// The first round has all tags at 0, in any order.
			if !slices.Equal(got[5:], want[5:]) {
				t.Errorf("got  %q\nwant %q", got, want)
			}
		})
	}
}

// TestGoyal: with several clients, coming and going tenants and batches, over all intervals in which two tenants are backlogged, what they are
// served differs by no more than Goyal's bound.
func TestGoyal(t *testing.T) {
	t.Parallel()
	weight := map[string]float64{"a": 1, "b": 2, "c": 5}
	most := map[string]int64{"a": 9, "b": 20, "c": 3}
	q, db := queueOf(t, Config[string]{WeightFor: func(tenant string) float64 { return weight[tenant] }})
	ctx := bounded(t)
	const each = 400
	for name := range weight {
		ts := make([]Task[string], each)
		for k := range ts {
			ts[k] = Task[string]{Tenant: name, Cost: 1 + int64(k)%most[name]}
		}
		must[[]Result](t)(q.EnqueueBatch(ctx, ts))
	}
	type served struct {
		token  uint64 // the order
		tenant string
		cost   int64
	}
	var mu sync.Mutex
	var all []served
	var wg sync.WaitGroup
	for w := range 4 {
		client := open(t, Config[string]{DB: db, WeightFor: func(tenant string) float64 { return weight[tenant] }})
		wg.Go(func() {
			for {
				mu.Lock()
				over := len(all) > 2*each // all are backlogged until then
				mu.Unlock()
				if over {
					return
				}
				its, err := client.DequeueBatch(ctx, 1+w*3)
				if err != nil {
					t.Error(err)
					return
				}
				mu.Lock()
				for _, it := range its {
					all = append(all, served{it.Token, it.Tenant, it.Cost})
				}
				mu.Unlock()
				if err := client.Ack(ctx, its...); err != nil {
					t.Error(err)
				}
			}
		})
	}
	wg.Wait()
	slices.SortFunc(all, func(a, b served) int { return int(int64(a.token - b.token)) })
	count := map[string]int{}
	for i, s := range all {
		if count[s.tenant]++; count[s.tenant] == each-1 {
			all = all[:i]
			break
		}
	}
	for _, pair := range [][2]string{{"a", "b"}, {"a", "c"}, {"b", "c"}} {
		f, m := pair[0], pair[1]
		bound := float64(most[f])/weight[f] + float64(most[m])/weight[m]
		var low, high, diff float64 // of the difference of what both were served, over all prefixes: an interval is the difference of two
		for _, s := range all {
			switch s.tenant {
			case f:
				diff += float64(s.cost) / weight[f]
			case m:
				diff -= float64(s.cost) / weight[m]
			}
			low, high = min(low, diff), max(high, diff)
		}
		if high-low > bound+1e-9 {
			t.Errorf("%s and %s: they differ by %v, more than %v", f, m, high-low, bound)
		}
	}
}

// TestNewcomer: one that comes while another has been served for long gets neither its past, nor waits behind it.
func TestNewcomer(t *testing.T) {
	t.Parallel()
	q, _ := queueOf(t, Config[string]{})
	ctx := bounded(t)
	fill := func(tenant string, n int) {
		ts := make([]Task[string], n)
		for i := range ts {
			ts[i].Tenant = tenant
		}
		must[[]Result](t)(q.EnqueueBatch(ctx, ts))
	}
	fill("old", 200)
	if err := q.Ack(ctx, must[[]*Item[string]](t)(q.DequeueBatch(ctx, 100))...); err != nil {
		t.Fatal(err)
	}
	fill("new", 20)
	count := map[string]int{}
	for _, it := range must[[]*Item[string]](t)(q.DequeueBatch(ctx, 20)) {
		count[it.Tenant]++
	}
	if count["new"] < 9 || count["new"] > 11 {
		t.Errorf("of 20: %v, want about 10 each", count)
	}
}

// TestQuiet: behind 5,000 tasks of one tenant, those of a hundred others come next.
func TestQuiet(t *testing.T) {
	t.Parallel()
	q, _ := queueOf(t, Config[string]{})
	ctx := bounded(t)
	noisy := make([]Task[string], 5000)
	for i := range noisy {
		noisy[i].Tenant = "noisy"
	}
	must[[]Result](t)(q.EnqueueBatch(ctx, noisy))
	must[*Item[string]](t)(q.Dequeue(ctx))
	for i := range 100 {
		must[string](t)(q.Enqueue(ctx, Task[string]{Tenant: fmt.Sprint("quiet", i)}))
	}
	for pos, quiet := 2, 0; quiet < 100; pos++ {
		it := must[*Item[string]](t)(q.Dequeue(ctx))
		if it.Tenant != "noisy" {
			quiet++
		}
		if pos > 201 {
			t.Fatalf("%d of 100 at position %d", quiet, pos)
		}
	}
}

// TestLimits: those in flight hold over all clients, at every moment.
func TestLimits(t *testing.T) {
	t.Parallel()
	q, db := queueOf(t, Config[string]{MaxInFlight: 7, MaxInFlightPerTenant: 3})
	ctx, cancel := context.WithCancel(bounded(t))
	defer cancel()
	if err := q.SetTenant(ctx, "narrow", TenantSettings{MaxInFlight: 1}); err != nil {
		t.Fatal(err)
	}
	const each = 40
	var ts []Task[string]
	for _, name := range []string{"a", "b", "c", "narrow"} {
		for range each {
			ts = append(ts, Task[string]{Tenant: name})
		}
	}
	var mu sync.Mutex
	running, done := map[string]int{}, 0
	finished := make(chan struct{})
	var wg sync.WaitGroup
	for range 3 {
		client := open(t, Config[string]{DB: db})
		wg.Go(func() {
			if err := Run(ctx, client, func(_ context.Context, it *Item[string]) error {
				mu.Lock()
				running[it.Tenant]++
				running[""]++
				if running[""] > 7 || running[it.Tenant] > 3 || running["narrow"] > 1 {
					t.Errorf("running: %v", running)
				}
				mu.Unlock()
				time.Sleep(time.Millisecond)
				mu.Lock()
				running[it.Tenant]--
				running[""]--
				if done++; done == len(ts) {
					close(finished)
				}
				mu.Unlock()
				return nil
			}, RunOptions[string]{Concurrency: 5}); err != nil {
				t.Error(err)
			}
		})
	}
	must[[]Result](t)(q.EnqueueBatch(ctx, ts))
	select {
	case <-finished:
	case <-ctx.Done():
		t.Error(ctx.Err())
	}
	cancel()
	wg.Wait()
	s := must[Stats](t)(q.Stats(bounded(t)))
	if exact(t, s); s.Acked != uint64(len(ts)) {
		t.Errorf("%+v", s)
	}
}

// TestStrictQueued: MaxQueued holds for Enqueue, whichever process calls it.
func TestStrictQueued(t *testing.T) {
	t.Parallel()
	q, db := queueOf(t, Config[string]{MaxQueued: 30})
	ctx := bounded(t)
	var wg sync.WaitGroup
	for c := range 4 {
		client := open(t, Config[string]{DB: db})
		for k := range 20 {
			wg.Go(func() {
				if _, err := client.Enqueue(ctx, Task[string]{Tenant: fmt.Sprint(c, k%3)}); err != nil && !errors.Is(err, ErrFull) {
					t.Error(err)
				}
			})
		}
	}
	wg.Wait()
	s := must[Stats](t)(q.Stats(ctx))
	if exact(t, s); s.Queued != 30 || s.Rejected != 50 {
		t.Errorf("%+v", s)
	}
}
