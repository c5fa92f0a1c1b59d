package firqredis

import (
	"fmt"
	"testing"
	"time"
)

// in returns a tenant that lives in a partition.
func in(q *Queue[string], p, k int) string {
	for j := 0; ; j++ {
		if name := fmt.Sprintf("p%d.%d.%d", p, k, j); at(q).Lane(name) == p {
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

// A partition that was idle has saved nothing up, and its tenants are seen immediately.
func TestIdlePartition(t *testing.T) {
	each(t, func(t *testing.T, s *server) {
		q := open(t, s, Config[string]{Partitions: 2})
		busy, late := in(q, 0, 0), in(q, 1, 0)
		put(t, q, many(busy, s.much(1000)+300)...)
		fromEach(t, q, s.much(1000))
		put(t, q, many(late, 300)...)
		m := fromEach(t, q, 200)
		if m[busy] < 80 || m[late] < 80 {
			t.Errorf("after one was idle: %v, want about the same", m)
		}
	})
}

// A process does not depend on wake-ups to see tenants that come to other partitions: here, it does not listen
// for any. It takes at most fewUnseen tasks and a batch before it asks, and a batch of each partition after that.
func TestNewcomersInOtherPartitions(t *testing.T) {
	each(t, func(t *testing.T, s *server) {
		q, ctx := open(t, s, Config[string]{Partitions: 4}), bounded(t)
		for p := 1; p < 4; p++ {
			deafen(q, p)
		}
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

// deafen lets a process not listen for the wake-ups of a partition.
func deafen(q *Queue[string], p int) {
	at(q).ears[p].mu.Lock()
	defer at(q).ears[p].mu.Unlock()
	at(q).ears[p].busy = true // so nothing starts to
}

// fromEach takes n tasks in small batches, and counts them by tenant.
func fromEach(t *testing.T, q *Queue[string], n int) map[string]int {
	t.Helper()
	ctx, m := bounded(t), map[string]int{}
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

// A partition that was idle joins at the virtual time of the others, whichever consumer takes from it first.
func TestIdlePartitionIsFound(t *testing.T) {
	each(t, func(t *testing.T, s *server) {
		dequeue := func(a *Queue[string], _ string) (*Item[string], error) { return a.Dequeue(bounded(t)) }
		for name, c := range map[string]struct {
			before func(a *Queue[string]) // what a process does that does not know how far the others have come
			first  func(a *Queue[string], late string) (*Item[string], error)
		}{
			"by a wake-up": {func(a *Queue[string]) {
				at(a).fetch.mu.Lock()
				defer at(a).fetch.mu.Unlock()
				at(a).fetch.woken[1], at(a).fetch.parts[1].work = true, false
				at(a).fetch.seen, at(a).fetch.swept = time.Now().Add(time.Hour), time.Now()
			}, dequeue},
			"by one that has not looked for long": {func(a *Queue[string]) {
				at(a).fetch.parts[1].work = true
				at(a).fetch.seen, at(a).fetch.swept = time.Now().Add(-2*soonStale), time.Now()
			}, dequeue},
			"by From": {func(*Queue[string]) {}, func(a *Queue[string], late string) (*Item[string], error) {
				return a.From([]string{late}, nil).Dequeue(bounded(t))
			}},
		} {
			a := open(t, s, Config[string]{Partitions: 2})
			b := open(t, s, Config[string]{Partitions: 2, Name: at(a).o.Name})
			deafen(b, 1)
			busy, late := in(a, 0, 0), in(a, 1, 0)
			put(t, a, many(busy, s.much(1000)+300)...)
			fromEach(t, a, 4)
			fromEach(t, b, s.much(1000))
			put(t, b, many(late, 300)...)
			until(t, "it does not fetch", func() bool { at(a).fetch.mu.Lock(); defer at(a).fetch.mu.Unlock(); return !at(a).fetch.running })
			c.before(a)
			it, err := c.first(a, late)
			ok(t, err)
			ok(t, a.Ack(bounded(t), it))
			if m := fromEach(t, b, 200); m[busy] < 70 || m[late] < 70 {
				t.Errorf("found %s: then %v, want about the same", name, m)
			}
		}
	})
}
