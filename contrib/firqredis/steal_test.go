package firqredis

import (
	"context"
	"fmt"
	"slices"
	"strconv"
	"strings"
	"sync"
	"testing"

	"github.com/redis/go-redis/v9"

	"github.com/firq-go/firq/queue"
)

// All calls that wait share one look, and then sleep: they do not look again before they are woken.
func TestOneLookForAll(t *testing.T) {
	each(t, func(t *testing.T, s *server) {
		const parts = 16
		c := s.client(t)
		pops := count(c, popScript.sha)
		q, ctx := open(t, s, Config[string]{Client: c, Partitions: parts}), bounded(t)
		from := q.From([]string{"a"}, []string{"b*"})
		noSweep(source(from))
		wait, leave := context.WithCancel(ctx)
		var wg sync.WaitGroup
		for range 64 {
			wg.Go(func() {
				it, err := from.Dequeue(wait)
				if err == nil {
					_ = q.Ack(ctx, it)
				}
			})
		}
		until(t, "all wait", func() bool { return source(from).wanted() == 64 })
		asleep(t, source(from))
		n := pops.n[popScript.sha].Load()
		if n > 4*parts {
			t.Errorf("%d scripts before they sleep", n)
		}
		put(t, q, job{Tenant: "b1"})
		until(t, "one is handled", func() bool { return must(q.Stats(ctx)).Acked == 1 })
		asleep(t, source(from))
		if n = pops.n[popScript.sha].Load() - n; n > 4*parts {
			t.Errorf("%d scripts for a task", n)
		}
		leave()
		wg.Wait()
	})
}

// A consumer of some tenants that was woken for others looks again after a while, and does not listen until then: else the wake-up
// that it leaves to them would wake it again and again.
func TestUselessWakeUps(t *testing.T) {
	each(t, func(t *testing.T, s *server) {
		c := s.client(t)
		pops := count(c, popScript.sha)
		q, ctx := open(t, s, Config[string]{Client: c}), bounded(t)
		from := q.From([]string{"a"}, nil)
		wait, leave := context.WithCancel(ctx)
		left := make(chan error, 1)
		go func() { _, err := from.Dequeue(wait); left <- err }()
		asleep(t, source(from))
		n := pops.n[popScript.sha].Load()
		put(t, q, job{Tenant: "others"})
		until(t, "it looks ten times", func() bool { return pops.n[popScript.sha].Load() >= n+10 })
		since := must(q.TenantStats(ctx, "others")).Oldest
		if since < 5*fromEvery {
			t.Errorf("it looked ten times in %v", since)
		}
		leave()
		<-left
		it := take(t, q)
		ok(t, q.Ack(ctx, it))
	})
}

// crowd queues a task each of n tenants, named by f.
func crowd(t testing.TB, q *Queue[string], n int, f func(k int) string) {
	t.Helper()
	for from := 0; from < n; from += 5000 {
		var ts []job
		for k := from; k < min(from+5000, n); k++ {
			ts = append(ts, job{Tenant: f(k)})
		}
		put(t, q, ts...)
	}
}

// calls returns how often a server was asked a command, by a script or not.
func calls(t testing.TB, c redis.UniversalClient, command string) int {
	t.Helper()
	text, err := c.Info(bounded(t), "commandstats").Result()
	ok(t, err)
	_, rest, found := strings.Cut(text, "cmdstat_"+command+":calls=")
	if !found {
		return 0
	}
	n, _, _ := strings.Cut(rest, ",")
	return must(strconv.Atoi(n))
}

// Among very many ready tenants a script looks at a part of them, and at each one once, however many tasks it is to find.
func TestStealFromACrowd(t *testing.T) {
	t.Parallel()
	s, _ := own(t)
	q, ctx := open(t, s, Config[string]{}), bounded(t)
	const n, every = 20_000, 50
	crowd(t, q, n, func(k int) string {
		if k%every == 0 {
			return fmt.Sprint("mine-", k)
		}
		return fmt.Sprint("others-", k)
	})
	from := q.From(nil, []string{"mine-*"})
	was := calls(t, at(q).db, "zrange")
	its, err := from.DequeueBatch(ctx, 64)
	ok(t, err)
	same(t, "delivered", len(its), 64)
	if looks := calls(t, at(q).db, "zrange") - was; looks > 64+n/500+10 {
		t.Errorf("%d looks at those that are ready, for 64 tasks", looks)
	}
	for _, it := range its {
		if !strings.HasPrefix(it.Tenant, "mine-") {
			t.Fatalf("delivered: %q", it.Tenant)
		}
	}
	ok(t, q.Ack(ctx, its...))
	// Nothing matches: from one script to the next the rank rises until it is through.
	rank, scripts := 0, 0
	for ; rank >= 0; scripts++ {
		was := calls(t, at(q).db, "zrange")
		b, err := at(q).pop(ctx, 0, popping{n: 1, bytes: queue.MaxBytes, others: unknown, patterns: []string{pattern("nobody-*")}, rank: rank})
		ok(t, err)
		same(t, "delivered", len(b.ds), 0)
		if looks := calls(t, at(q).db, "zrange") - was; looks > 12 {
			t.Fatalf("%d looks in a script", looks)
		}
		rank = b.rank
	}
	same(t, "scripts", scripts, 4)
	// And what is behind all others is found.
	put(t, q, job{Tenant: "zzz"})
	it, err := q.From(nil, []string{"nobody", "zz?"}).Dequeue(ctx)
	ok(t, err)
	same(t, "Tenant", it.Tenant, "zzz")
	ok(t, q.Ack(ctx, it))
}

// Those that match are served in the fair order among themselves, as one after the other would be.
func TestStealInOrder(t *testing.T) {
	each(t, func(t *testing.T, s *server) {
		q, ctx := open(t, s, Config[string]{}), bounded(t)
		n := s.much(1800)
		var ts []job
		cost := func(name string) int64 { return 1 + int64(len(name)*7+int(name[len(name)-1]))%9 }
		for k := range n {
			name := fmt.Sprint([]string{"a", "b", "c"}[k%3], k*7919%n)
			for range 3 {
				ts = append(ts, job{Tenant: name, Cost: cost(name)})
			}
		}
		put(t, q, ts...)
		its := now(t, q, n/2) // so that their tags differ
		ok(t, q.Ack(ctx, its...))
		for len(its) > 0 && len(its) > n/4 {
			its = its[1:]
		}
		for round := range 4 {
			zs, err := at(q).db.ZRangeWithScores(ctx, at(q).prefix[0]+":r", 0, -1).Result()
			ok(t, err)
			left := map[string]int{}
			for _, z := range zs {
				name := z.Member.(string)
				left[name] = int(must(at(q).db.ZCard(ctx, at(q).prefix[0]+":n:"+name).Result()))
			}
			named := "c" + zs[len(zs)/2].Member.(string)[1:]
			rank := func(z redis.Z) int { // the named one first, then those that begin with b
				switch name := z.Member.(string); {
				case name == named:
					return 0
				case strings.HasPrefix(name, "b"):
					return 1
				}
				return 2
			}
			less := func(a, b redis.Z) int {
				if d := rank(a) - rank(b); d != 0 {
					return d
				}
				switch {
				case a.Score < b.Score:
					return -1
				case a.Score > b.Score:
					return 1
				}
				return strings.Compare(a.Member.(string), b.Member.(string))
			}
			slices.SortFunc(zs, less)
			const some = 150
			var order []string
			for range some { // one after the other
				z := zs[0]
				name := z.Member.(string)
				if rank(z) == 2 {
					break
				}
				order = append(order, name)
				zs = zs[1:]
				if left[name]--; left[name] > 0 {
					z.Score += float64(cost(name))
					i, _ := slices.BinarySearchFunc(zs, z, less)
					zs = slices.Insert(zs, i, z)
				}
			}
			its, err := q.From([]string{named}, []string{"b*"}).DequeueBatch(ctx, some)
			ok(t, err)
			equal(t, fmt.Sprint("round ", round), tenantsOf(its), order)
			ok(t, q.Ack(ctx, its...))
		}
	})
}

// More names than one script looks for: all of them are served.
func TestVeryManyNames(t *testing.T) {
	fast(t, func(t *testing.T, s *server) {
		q, ctx := open(t, s, Config[string]{}), bounded(t)
		names := make([]string, 2*maxNames+maxNames/2)
		for k := range names {
			names[k] = fmt.Sprintf("n%06d", k)
		}
		for k := 0; k < len(names); k += maxNames / 2 {
			put(t, q, many(names[k], 2)...)
		}
		from := q.From(names, []string{"x"})
		put(t, q, job{Tenant: "x"})
		got := map[string]int{}
		var last string
		for range 11 {
			it, err := from.Dequeue(ctx)
			ok(t, err)
			last = it.Tenant
			got[last]++
			ok(t, q.Ack(ctx, it))
		}
		same(t, "tenants", len(got), 6)
		same(t, "the last", last, "x")
	})
}
