package firqredis

import (
	"context"
	"errors"
	"fmt"
	"strconv"
	"strings"
	"sync"
	"sync/atomic"
	"testing"
	"time"

	"github.com/redis/go-redis/v9"
)

// A slot moves to another node, key by key, under load: nothing is lost, and nothing is settled twice.
func TestSlotMigrates(t *testing.T) {
	t.Parallel()
	s, ps := ownCluster(t, 0)
	q, ctx := open(t, s, Config[string]{Partitions: 1, Lease: 20 * time.Second}), bounded(t)
	run, stop := context.WithCancel(ctx)
	var wg sync.WaitGroup
	var accepted, failed atomic.Int64
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
					failed.Add(1)
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
			}
		})
	}
	slot, err := at(q).db.ClusterKeySlot(ctx, at(q).prefix[0]).Result()
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
	until(t, "nothing is left, nor leased to a consumer that lost the reply", func() bool {
		ok(t, q.Ack(ctx, now(t, q, 100)...))
		st := must(q.Stats(ctx))
		return st.Queued+st.Delayed+st.InFlight == 0
	})
	st := books(t, q)
	// An Enqueue whose reply was lost is sent again, and counts again if the task is settled by then.
	if least := uint64(accepted.Load()); st.Enqueued < least || st.Enqueued > least+uint64(failed.Load()) {
		t.Errorf("Enqueued = %d, but %d were accepted and %d calls failed", st.Enqueued, least, failed.Load())
	}
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
