package firqredis

import (
	"context"
	"errors"
	"fmt"
	"math/rand/v2"
	"os"
	"os/exec"
	"slices"
	"strconv"
	"strings"
	"sync"
	"sync/atomic"
	"testing"
	"time"

	"github.com/firq-go/firq/worker"
	"github.com/redis/go-redis/v9"
)

// What goes wrong in queues on Redis, and which test finds it:
//
//	 1 ack and expiry of the lease both win            TestAckRacesLease
//	 2 the old worker acks the new one's delivery      TestFencing
//	 3 tokens repeat after a failover                  TestTokensAfterLoss
//	 4 NOSCRIPT after a failover or SCRIPT FLUSH       TestNoScript
//	 5 an Enqueue that is repeated is queued twice     TestSameID, TestCutReplies
//	 6 numbers lose digits in Lua                      TestDigits
//	 7 the clock goes back                             TestClockGoesBack
//	 8 an idle tenant bursts                           TestIdleSavesNothing, TestIdlePartition
//	 9 coming and going gains                          TestComingAndGoingGainsNothing
//	10 counts drift                                    TestBooks, and books at the end of each test
//	11 empty tenants leak                              TestBooks (rest), TestTenantsAreForgotten
//	12 a poison task kills worker after worker         TestLastLease, TestWorkersKilled
//	13 mass expiry blocks the server                   TestMassExpiry
//	14 a script runs for seconds                       TestEnqueueBatch
//	15 unpack of more than 7,999 values                TestManyAcks, TestFromHostile
//	16 a consumer dies with the wake-up                TestWakeUpLost
//	17 a wake-up that its consumer cannot use          TestInFlightLimits, TestWakeUpOfOthers, TestWakeUpsAtMaxInFlight
//	18 one task wakes all                              TestNoHerd
//	19 blocked connections pile up                     TestConnections
//	20 leases of prefetched tasks run out              TestNoPrefetch
//	21 heartbeats of a stuck handler                   TestStuckHandler
//	22 a retry loses its place                         TestRetryKeepsItsPlace
//	23 a storm of retries                              TestRetryStorm
//	24 CROSSSLOT                                       all tests on a cluster, TestBadTasks
//	25 a slot migrates                                 TestSlotMigrates
//	26 big payloads                                    TestBadTasks
//	27 eviction                                        TestEviction
//	28 the server is out of memory                     TestOutOfMemory
//	29 one hot tenant                                  TestNoisyNeighbour, TestSplitTenant
//	30 virtual time loses units                        TestBound (costs to 2^31), TestMonstrousCost
//	31 ties favour a name                              TestBound (random names), TestTies
//	32 round robin between partitions                  TestFairAcrossPartitions
//	33 a schedule fires twice, or never                TestSchedulesFireOnce
//	34 daylight saving                                 internal/cron
//	35 a changed schedule fires at the old time        TestPutAgain
//	36 cancelled marks leak                            TestCancel, and books
//	37 the client repeats a call                       TestNoRepetition, TestCutReplies
//	38 dead letters without end                        TestRetention, TestRetentionFor
//	39 old and new scripts on one queue                TestNewRefuses
//	40 statistics from a replica                       TestReplicaReads
//	41 only ever tested on a fake                      each

func TestAckRacesLease(t *testing.T) {
	fast(t, func(t *testing.T, s *server) {
		q, ctx := open(t, s, Config[string]{Lease: 2 * time.Millisecond, MaxAttempts: 1000}), bounded(t)
		for k := range s.much(150) {
			put(t, q, job{ID: fmt.Sprint(k)})
			it := take(t, q)
			for time.Now().Before(it.LeaseUntil.Add(time.Duration(k%10-5) * 100 * time.Microsecond)) {
			}
			var wg sync.WaitGroup
			var err error
			var again []*Item[string]
			wg.Go(func() { err = q.Ack(ctx, it) })
			wg.Go(func() { again = now(t, q, 1) })
			wg.Wait()
			if err == nil && len(again) > 0 {
				t.Fatal("acked, and given on")
			}
			if err != nil {
				want(t, err, ErrLeaseLost)
				if len(again) == 0 {
					again = append(again, take(t, q))
				}
				_ = q.Ack(ctx, again...)
			}
			until(t, "it ends", func() bool {
				st, err := q.Stats(ctx)
				if err == nil && st.Queued+st.InFlight > 0 {
					_ = q.Ack(ctx, now(t, q, 1)...)
				}
				return err == nil && st.Acked == uint64(k+1)
			})
		}
	})
}

// The server comes back without its last writes: tokens are greater all the same.
func TestTokensAfterLoss(t *testing.T) {
	each(t, func(t *testing.T, s *server) {
		q, ctx := open(t, s, Config[string]{}), bounded(t)
		put(t, q, many("a", 3)...)
		hlc, err := q.db.HGet(ctx, q.prefix[0]+":m", "hlc").Result()
		ok(t, err)
		old := now(t, q, 1)[0]
		ok(t, q.Release(ctx, old))
		ok(t, q.db.HSet(ctx, q.prefix[0]+":m", "hlc", hlc).Err()) // as it was
		if it := now(t, q, 1)[0]; it.Token <= old.Token {
			t.Fatalf("token %d again, after %d", it.Token, old.Token)
		}
	})
}

func TestNoScript(t *testing.T) {
	t.Parallel()
	s, _ := own(t)
	q, ctx := open(t, s, Config[string]{}), bounded(t)
	flush := func() { ok(t, q.db.ScriptFlush(ctx).Err()) }
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
			lease, err := q.db.ZRange(ctx, q.prefix[0]+":l", 0, -1).Result()
			ok(t, err)
			equal(t, "lease", lease, []string{it.ID + "\n" + strconv.FormatUint(it.Token, 10) + "\n" + it.Tenant})
			ok(t, q.Ack(ctx, it))
			if k == 9 { // and with a virtual time of 0 again
				ok(t, q.db.HSet(ctx, q.prefix[0]+":m", "v", 0).Err())
				ok(t, q.db.Del(ctx, q.prefix[0]+":t:default").Err())
			}
		}
	})
}

func TestClockGoesBack(t *testing.T) {
	each(t, func(t *testing.T, s *server) {
		q, ctx := open(t, s, Config[string]{Lease: short}), bounded(t)
		put(t, q, job{ID: "1"})
		ahead := strconv.FormatInt(time.Now().Add(time.Hour).UnixMicro(), 10) // then the clock went back by an hour
		ok(t, q.db.HSet(ctx, q.prefix[0]+":m", "hlc", ahead).Err())
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
		until(t, "they are forgotten", func() bool { return len(keysOf(t, q, q.prefix[0])) <= 4 })
	})
}

// Thousands of leases that run out at once are taken back little by little.
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
		if _, err := q.cold(ctx, maintainScript, 0, 100); err != nil {
			t.Fatal(err)
		}
		was := st.LeaseExpired
		if st = must(q.Stats(ctx)); st.LeaseExpired-was > 100 {
			t.Fatalf("%d at once", st.LeaseExpired-was)
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
func endLeases(t *testing.T, q *Queue[string]) {
	key := q.prefix[0] + ":l"
	zs, err := q.db.ZRangeWithScores(bounded(t), key, 0, -1).Result()
	ok(t, err)
	for i := range zs {
		zs[i].Score = float64(time.Now().Add(-time.Second).UnixMicro())
	}
	ok(t, q.db.ZAdd(bounded(t), key, zs...).Err())
}

func TestManyAcks(t *testing.T) {
	each(t, func(t *testing.T, s *server) {
		n := s.much(6000)
		q, ctx := open(t, s, Config[string]{}), bounded(t)
		put(t, q, many("a", n)...)
		its := now(t, q, n)
		same(t, "delivered", len(its), n)
		ok(t, q.Extend(ctx, time.Hour, its[:n/3]...))
		ok(t, q.Release(ctx, its[:n/3]...))
		ok(t, q.Ack(ctx, its[n/3:]...))
		same(t, "Acked", books(t, q).Acked, uint64(n-n/3))
	})
}

// A consumer takes the wake-up, and dies: others find the task all the same.
func TestWakeUpLost(t *testing.T) {
	each(t, func(t *testing.T, s *server) {
		q, ctx := open(t, s, Config[string]{}), bounded(t)
		got := make(chan error, 1)
		thief := s.client(t)
		stolen := make(chan error, 1)
		go func() { stolen <- thief.BLPop(ctx, 30*time.Second, q.prefix[0]+":w").Err() }()
		time.Sleep(20 * time.Millisecond) // it is the first one in the line, or not: either way the task is found
		go func() {
			it, err := q.Dequeue(ctx)
			if err == nil {
				err = q.Ack(ctx, it)
			}
			got <- err
		}()
		until(t, "it sleeps", func() bool {
			q.fetch.mu.Lock()
			defer q.fetch.mu.Unlock()
			return q.fetch.sleeping[0]
		})
		put(t, q, job{})
		select {
		case err := <-got:
			ok(t, err)
		case <-time.After(longestSleep + 5*time.Second):
			t.Fatal("the task is not found")
		}
		put(t, q, job{}) // the thief may be waiting still
		ok(t, <-stolen)
	})
}

// A consumer of some tenants, or one that leaves, does not keep the wake-up from those who can use it.
func TestWakeUpOfOthers(t *testing.T) {
	each(t, func(t *testing.T, s *server) {
		a, ctx := open(t, s, Config[string]{MaxInFlight: 1}), bounded(t)
		b := open(t, s, Config[string]{Name: a.cfg.Name, MaxInFlight: 1})
		brief, leave := context.WithCancel(ctx)
		left := make(chan struct{})
		go func() { defer close(left); _, _ = b.From([]string{"nobody"}, nil).Dequeue(brief) }()
		put(t, a, many("x", 2)...)
		it := take(t, a)
		got := make(chan error, 1)
		go func() { it, err := b.Dequeue(ctx); _ = it; got <- err }()
		until(t, "it waits", func() bool { return b.fetch.wanted() == 1 })
		ok(t, a.Ack(ctx, it))
		select {
		case err := <-got:
			ok(t, err)
		case <-time.After(longestSleep - 300*time.Millisecond):
			t.Fatal("nobody is woken")
		}
		leave()
		<-left
	})
}

// 16 processes sleep; single tasks wake one each.
func TestNoHerd(t *testing.T) {
	t.Parallel()
	redisServer.need(t)
	first := open(t, redisServer, Config[string]{})
	ctx, stop := context.WithCancel(bounded(t))
	var wg sync.WaitGroup
	var done atomic.Int64
	var counts []*counter
	for range 16 {
		c := redisServer.client(t)
		counts = append(counts, count(c, popScript.sha, ackScript.sha, tokenScript.sha, maintainScript.sha))
		q := open(t, redisServer, Config[string]{Name: first.cfg.Name, Client: c})
		wg.Go(func() {
			for {
				it, err := q.Dequeue(ctx)
				if err != nil {
					return
				}
				_ = q.Ack(context.Background(), it)
				done.Add(1)
			}
		})
	}
	const n = 60
	for k := range n {
		put(t, first, job{Tenant: fmt.Sprint(k)})
		until(t, "it is handled", func() bool { return done.Load() == int64(k+1) })
	}
	var calls int64
	for _, c := range counts {
		for _, k := range c.n {
			calls += k.Load()
		}
	}
	if calls > 8*n+16*8 { // 4.5 and a few, and those who look once in 2 s
		t.Errorf("%d scripts for %d tasks and 16 sleepers", calls, n)
	}
	stop()
	wg.Wait()
}

// However many wait, one connection per partition sleeps.
func TestConnections(t *testing.T) {
	t.Parallel()
	s, _ := own(t)
	watch, ctx := s.client(t), bounded(t)
	q := open(t, s, Config[string]{Partitions: 3})
	wait, cancel := context.WithCancel(ctx)
	var wg sync.WaitGroup
	for range 50 {
		wg.Go(func() { _, _ = q.Dequeue(wait) })
	}
	blocked := func() int {
		list, err := watch.ClientList(ctx).Result()
		ok(t, err)
		return strings.Count(list, "cmd=blpop")
	}
	until(t, "they sleep", func() bool { return blocked() == 3 })
	for range 50 {
		if n := blocked(); n > 3 {
			t.Fatalf("%d connections sleep", n)
		}
	}
	cancel()
	wg.Wait()
	ok(t, q.Close())
	until(t, "nobody sleeps", func() bool { return blocked() == 0 })
}

// What a slow handler does not take stays in the queue: no lease runs out in a process's memory.
func TestNoPrefetch(t *testing.T) {
	each(t, func(t *testing.T, s *server) {
		q := open(t, s, Config[string]{Lease: 300 * time.Millisecond})
		leave := make(chan struct{})
		runs(t, q, func(context.Context, *Item[string]) error { <-leave; return nil }, RunOptions[string]{Concurrency: 1, TimeoutMode: worker.Warn})
		put(t, q, many("a", 10)...)
		until(t, "one is taken", func() bool { return must(q.Stats(context.Background())).InFlight == 1 })
		time.Sleep(50 * time.Millisecond) // if more were taken it would be now
		same(t, "InFlight", books(t, q).InFlight, 1)
		close(leave)
		same(t, "Delivered", atRest(t, q).Delivered, 10)
	})
}

func TestRetryStorm(t *testing.T) {
	fast(t, func(t *testing.T, s *server) {
		q, ctx := open(t, s, Config[string]{Backoff: Backoff{First: time.Hour}}), bounded(t)
		n := s.much(300)
		put(t, q, many("a", n)...)
		for _, it := range now(t, q, n) {
			ok(t, q.Nack(ctx, it, Retry{}))
		}
		zs, err := q.db.ZRangeWithScores(ctx, q.prefix[0]+":z", 0, -1).Result()
		ok(t, err)
		same(t, "delayed", len(zs), n)
		first, last := time.UnixMicro(int64(zs[0].Score)), time.UnixMicro(int64(zs[n-1].Score))
		if last.Sub(first) < 50*time.Minute {
			t.Errorf("they come back from %v to %v", first, last)
		}
	})
}

// Equal tenants take turns, whatever their names.
func TestTies(t *testing.T) {
	each(t, func(t *testing.T, s *server) {
		q := open(t, s, Config[string]{})
		names := []string{"z", "a", "m", "0", "~", "Z"}
		for _, name := range names {
			put(t, q, many(name, 10)...)
		}
		its := now(t, q, 60)
		for round := range 10 {
			equal(t, "a round", sorted(tenantsOf(its[6*round:6*round+6])), sorted(slices.Clone(names)))
		}
	})
}

// A slot moves to another node, key by key, under load: nothing is lost, and nothing is settled twice.
func TestSlotMigrates(t *testing.T) {
	t.Parallel()
	s, ps := ownCluster(t, 0)
	q, ctx := open(t, s, Config[string]{Partitions: 1, Lease: 20 * time.Second}), bounded(t)
	run, stop := context.WithCancel(ctx)
	var wg sync.WaitGroup
	var accepted, acked atomic.Int64
	for w := range 4 {
		wg.Go(func() {
			for k := 0; run.Err() == nil; k++ {
				id := fmt.Sprintf("%d-%d", w, k)
				for {
					_, err := q.Enqueue(ctx, job{ID: id, Tenant: fmt.Sprint(k % 7)})
					if err == nil {
						accepted.Add(1)
						break
					}
				}
			}
		})
		wg.Go(func() {
			for {
				its, err := q.DequeueBatch(run, 4)
				if run.Err() != nil && len(its) == 0 {
					return
				}
				if err != nil {
					continue
				}
				for err = q.Ack(ctx, its...); err != nil && !errors.Is(err, ErrLeaseLost) && ctx.Err() == nil; {
					err = q.Ack(ctx, its...)
				}
				acked.Add(int64(len(its)))
			}
		})
	}
	slot, err := q.db.ClusterKeySlot(ctx, q.prefix[0]).Result()
	ok(t, err)
	moved := 0
	for range 2 {
		until(t, "there is load", func() bool { return accepted.Load() > int64(200*(moved+1)) })
		moved += migrate(t, ps, int(slot))
	}
	before := accepted.Load()
	until(t, "it goes on", func() bool { return accepted.Load() > before+200 })
	stop()
	wg.Wait()
	for its := now(t, q, 100); len(its) > 0; its = now(t, q, 100) {
		ok(t, q.Ack(ctx, its...))
		acked.Add(int64(len(its)))
	}
	st := books(t, q)
	same(t, "Enqueued", st.Enqueued, uint64(accepted.Load()))
	same(t, "settled", st.Acked, st.Enqueued)
	t.Logf("%d tasks while the slot moved twice", st.Acked)
}

// migrate moves a slot to the next node.
func migrate(t *testing.T, ps []*process, slot int) int {
	ctx := bounded(t)
	var from, to *process
	ids := map[*process]string{}
	for k, p := range ps {
		c := redis.NewClient(&redis.Options{Addr: p.addr()})
		ids[p] = must(c.ClusterMyID(ctx).Result())
		for _, r := range must(c.ClusterSlots(ctx).Result()) { //nolint:staticcheck // every version knows it
			if r.Start <= slot && slot <= r.End && strings.HasSuffix(r.Nodes[0].Addr, ":"+strconv.Itoa(p.port)) {
				from, to = p, ps[(k+1)%len(ps)]
			}
		}
		_ = c.Close()
	}
	do := func(p *process, args ...any) string {
		c := redis.NewClient(&redis.Options{Addr: p.addr()})
		defer func() { _ = c.Close() }()
		r, err := c.Do(ctx, args...).Result()
		if err != nil {
			t.Errorf("%v: %v", args, err)
		}
		return fmt.Sprint(r)
	}
	do(to, "cluster", "setslot", slot, "importing", ids[from])
	do(from, "cluster", "setslot", slot, "migrating", ids[to])
	c := redis.NewClient(&redis.Options{Addr: from.addr()})
	defer func() { _ = c.Close() }()
	for {
		keys := must(c.ClusterGetKeysInSlot(ctx, slot, 10).Result())
		if len(keys) == 0 {
			break
		}
		for _, key := range keys { // one by one, in any order
			do(from, "migrate", "127.0.0.1", to.port, key, 0, 5000)
			time.Sleep(time.Millisecond)
		}
		if t.Failed() {
			t.FailNow()
		}
	}
	for _, p := range []*process{to, from} {
		do(p, "cluster", "setslot", slot, "node", ids[to])
	}
	for _, p := range ps {
		if p != to && p != from {
			do(p, "cluster", "setslot", slot, "node", ids[to])
		}
	}
	return 1
}

// A server without memory refuses tasks; what is there can be worked off.
func TestOutOfMemory(t *testing.T) {
	t.Parallel()
	for _, binary := range []string{"redis-server", "valkey-server"} {
		t.Run(binary, func(t *testing.T) {
			if _, err := exec.LookPath(binary); err != nil {
				if os.Getenv("CI") == "true" {
					t.Fatal(err)
				}
				t.Skip(err)
			}
			p, err := newProcess(binary, t.TempDir())
			ok(t, err)
			ok(t, p.start())
			t.Cleanup(p.kill)
			s := &server{name: "own", addrs: []string{p.addr()}}
			q, ctx := open(t, s, Config[string]{MaxAttempts: 2, Lease: 500 * time.Millisecond, MaxInFlightPerTenant: 20}), bounded(t)
			put(t, q, many("a", 20)...)
			its := now(t, q, 6)
			ok(t, q.Extend(ctx, time.Hour, its...))
			ok(t, q.db.ConfigSet(ctx, "maxmemory", "1").Err())
			_, err = q.Enqueue(ctx, job{ID: "no"})
			want(t, err, ErrFull)
			if !strings.Contains(err.Error(), "OOM") {
				t.Errorf("error %v", err)
			}
			ok(t, q.Extend(ctx, time.Hour, its...))
			ok(t, q.Ack(ctx, its[0]))
			ok(t, q.Nack(ctx, its[1], Retry{}))
			ok(t, q.Nack(ctx, its[2], Retry{Dead: true}))
			ok(t, q.Release(ctx, its[3]))
			ok(t, q.Cancel(ctx, its[4].ID))
			want(t, q.Extend(ctx, time.Hour, its[4]), ErrCancelled)
			ok(t, q.Ack(ctx, its[4:]...))
			want(t, q.Ack(ctx, its[4]), ErrLeaseLost)
			want(t, q.Extend(ctx, 0, its[4]), ErrLeaseLost)
			want(t, q.Nack(ctx, its[4], Retry{}), ErrLeaseLost)
			ok(t, q.Cancel(ctx, take(t, q).ID))
			ok(t, q.Ack(ctx, take(t, q)))
			n, err := q.Purge(ctx, Filter{})
			ok(t, err)
			same(t, "purged", n, 1)
			books(t, q)
		})
	}
}
