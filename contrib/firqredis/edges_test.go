package firqredis

import (
	"fmt"
	"math/rand/v2"
	"strconv"
	"testing"
	"time"
)

// The server comes back without its last writes: tokens are greater all the same.
func TestTokensAfterLoss(t *testing.T) {
	each(t, func(t *testing.T, s *server) {
		q, ctx := open(t, s, Config[string]{}), bounded(t)
		put(t, q, many("a", 3)...)
		hlc, err := at(q).db.HGet(ctx, at(q).prefix[0]+":m", "hlc").Result()
		ok(t, err)
		old := now(t, q, 1)[0]
		ok(t, q.Release(ctx, old))
		ok(t, at(q).db.HSet(ctx, at(q).prefix[0]+":m", "hlc", hlc).Err()) // as it was
		if it := now(t, q, 1)[0]; it.Token <= old.Token {
			t.Fatalf("token %d again, after %d", it.Token, old.Token)
		}
	})
}

func TestNoScript(t *testing.T) {
	t.Parallel()
	s, _ := own(t)
	q, ctx := open(t, s, Config[string]{}), bounded(t)
	flush := func() { ok(t, at(q).db.ScriptFlush(ctx).Err()) }
	flush()
	put(t, q, many("a", 4)...)
	flush()
	its := now(t, q, 4)
	flush()
	ok(t, q.Ack(ctx, its[0]))
	flush()
	ok(t, q.Nack(ctx, its[1], Retry{Dead: true}))
	flush()
	ok(t, q.Release(ctx, its[2]))
	flush()
	ok(t, q.Cancel(ctx, its[3].ID))
	flush()
	ok(t, q.Requeue(ctx, its[1].ID))
}

// Times in microseconds have 16 digits, and costs up to 19: all of them come back.
func TestDigits(t *testing.T) {
	each(t, func(t *testing.T, s *server) {
		q, ctx := open(t, s, Config[string]{}), bounded(t)
		for k := range 20 {
			cost := rand.Int64() >> (k % 8)
			put(t, q, job{Cost: cost})
			it := now(t, q, 1)[0]
			same(t, "Cost", it.Cost, cost)
			lease, err := at(q).db.ZRange(ctx, at(q).prefix[0]+":l", 0, -1).Result()
			ok(t, err)
			equal(t, "lease", lease, []string{it.ID + "\n" + strconv.FormatUint(it.Token, 10) + "\n" + it.Tenant})
			ok(t, q.Ack(ctx, it))
			if k == 9 { // and with a virtual time of 0 again
				ok(t, at(q).db.HSet(ctx, at(q).prefix[0]+":m", "v", 0).Err())
				ok(t, at(q).db.Del(ctx, at(q).prefix[0]+":t:default").Err())
			}
		}
	})
}

func TestClockGoesBack(t *testing.T) {
	each(t, func(t *testing.T, s *server) {
		q, ctx := open(t, s, Config[string]{Lease: short}), bounded(t)
		put(t, q, job{ID: "1"})
		ahead := strconv.FormatInt(time.Now().Add(time.Hour).UnixMicro(), 10) // then the clock went back by an hour
		ok(t, at(q).db.HSet(ctx, at(q).prefix[0]+":m", "hlc", ahead).Err())
		put(t, q, job{ID: "2"})
		put(t, q, job{ID: "3"})
		its := now(t, q, 3)
		equal(t, "order", idsOf(its), []string{"1", "2", "3"})
		if strconv.FormatUint(its[0].Token, 10) <= ahead {
			t.Errorf("token %d", its[0].Token)
		}
		again := take(t, q) // leases end by the clock as it is
		same(t, "Attempt", again.Attempt, 2)
	})
}

func TestTenantsAreForgotten(t *testing.T) {
	each(t, func(t *testing.T, s *server) {
		q, ctx := open(t, s, Config[string]{TenantIdle: 30 * time.Millisecond}), bounded(t)
		for k := range 300 {
			put(t, q, job{Tenant: fmt.Sprint("t", k), UniqueKey: "k", Deadline: time.Now().Add(time.Duration(k%2-1)*time.Hour + time.Minute)})
		}
		for its := now(t, q, 99); len(its) > 0; its = now(t, q, 99) {
			ok(t, q.Ack(ctx, its...))
		}
		until(t, "they are forgotten", func() bool { return len(keysOf(t, q, at(q).prefix[0])) <= 4 })
	})
}

// Thousands of leases that run out together are taken back little by little.
func TestMassExpiry(t *testing.T) {
	t.Parallel()
	redisServer.need(t)
	c := redisServer.client(t)
	q, ctx := open(t, redisServer, Config[string]{Client: c, Lease: time.Hour}), bounded(t)
	put(t, q, many("a", 2000)...)
	same(t, "in flight", len(now(t, q, 2000)), 2000)
	endLeases(t, q)
	same(t, "InFlight", must(q.Stats(ctx)).InFlight, 2000)
	rounds := 0
	for st := must(q.Stats(ctx)); st.LeaseExpired < 2000; rounds++ {
		if _, err := at(q).runWithSettings(ctx, maintainScript, 0, 100); err != nil {
			t.Fatal(err)
		}
		was := st.LeaseExpired
		if st = must(q.Stats(ctx)); st.LeaseExpired-was > 100 {
			t.Fatalf("%d together", st.LeaseExpired-was)
		}
	}
	same(t, "rounds", rounds, 20)
}

func must[V any](v V, err error) V {
	if err != nil {
		panic(err)
	}
	return v
}

// endLeases lets all leases have run out a second ago, as if so much time had passed.
func endLeases(t *testing.T, q *Queue[string]) { endLeasesOf(t, q, 0) }

func endLeasesOf(t *testing.T, q *Queue[string], p int) {
	key := at(q).prefix[p] + ":l"
	zs, err := at(q).db.ZRangeWithScores(bounded(t), key, 0, -1).Result()
	ok(t, err)
	for i := range zs {
		zs[i].Score = float64(time.Now().Add(-time.Second).UnixMicro())
	}
	if len(zs) > 0 {
		ok(t, at(q).db.ZAdd(bounded(t), key, zs...).Err())
	}
}

func TestRetryStorm(t *testing.T) {
	fast(t, func(t *testing.T, s *server) {
		q, ctx := open(t, s, Config[string]{Backoff: Backoff{First: time.Hour}}), bounded(t)
		n := s.much(300)
		put(t, q, many("a", n)...)
		for _, it := range now(t, q, n) {
			ok(t, q.Nack(ctx, it, Retry{}))
		}
		zs, err := at(q).db.ZRangeWithScores(ctx, at(q).prefix[0]+":z", 0, -1).Result()
		ok(t, err)
		same(t, "delayed", len(zs), n)
		first, last := time.UnixMicro(int64(zs[0].Score)), time.UnixMicro(int64(zs[n-1].Score))
		if last.Sub(first) < 50*time.Minute {
			t.Errorf("they come back from %v to %v", first, last)
		}
	})
}

// A tenant at its limit that a client with other limits puts back among those that are ready is
// served no further.
func TestLimitThatOthersDoNotHave(t *testing.T) {
	each(t, func(t *testing.T, s *server) {
		q, ctx := open(t, s, Config[string]{MaxInFlightPerTenant: 1}), bounded(t)
		put(t, q, many("a", 3)...)
		its := now(t, q, 3)
		same(t, "delivered", len(its), 1)
		put(t, q, job{Tenant: "a"}, job{Tenant: "b"})
		other := open(t, s, Config[string]{Name: at(q).o.Name})
		at(other).follow(written{}) // it does not know yet
		ok(t, other.Pause(ctx, "a"))
		ok(t, other.Resume(ctx, "a"))
		for _, tenant := range []string{"b", "a", "a", "a"} {
			got := now(t, q, 5)
			if len(got) != 1 || got[0].Tenant != tenant {
				t.Fatalf("%v, want one of %s", got, tenant)
			}
			ok(t, q.Ack(ctx, append(its, got...)...))
			its = nil
		}
	})
}
