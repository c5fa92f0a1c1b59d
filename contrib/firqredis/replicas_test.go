package firqredis

import (
	"context"
	"fmt"
	"regexp"
	"slices"
	"strings"
	"testing"

	"github.com/redis/go-redis/v9"
)

// What a queue says of itself comes from primaries, also if the client lets replicas answer reads.
func TestNotFromReplicas(t *testing.T) {
	t.Parallel()
	s, ps := ownCluster(t, 1)
	until(t, "each node knows the replicas", func() bool {
		for _, p := range ps {
			c := redis.NewClient(&redis.Options{Addr: p.addr()})
			slots, err := c.ClusterSlots(context.Background()).Result() //nolint:staticcheck // every version knows it
			_ = c.Close()
			if err != nil || slices.ContainsFunc(slots, func(r redis.ClusterSlot) bool { return len(r.Nodes) < 2 }) {
				return false
			}
		}
		return true
	})
	reads := redis.NewClusterClient(&redis.ClusterOptions{Addrs: s.addrs, RouteRandomly: true})
	t.Cleanup(func() { _ = reads.Close() })
	q, ctx := open(t, s, Config[string]{Client: reads, Partitions: 3}), bounded(t)
	bury(t, q, "x", job{ID: "dead"})
	ok(t, q.Schedules().Put(ctx, Schedule[string]{ID: "s", Cron: "@yearly"}))
	for k := range 12 {
		name := fmt.Sprint("t", k)
		put(t, q, job{Tenant: name})
		same(t, "Queued", must(q.Stats(ctx)).Queued, k+1)
		same(t, "a tenant's", must(q.TenantStats(ctx, name)).Queued, 1)
		same(t, "tenants", len(must(q.TopTenants(ctx, 99, ByOldest))), k+1)
		for d, err := range q.DeadLetters(ctx, Filter{}) {
			ok(t, err)
			same(t, "dead", d.ID, "dead")
		}
		same(t, "schedules", len(must(q.Schedules().List(ctx))), 1)
	}
	same(t, "delivered", len(now(t, q, 99)), 12)
	leased := 0
	for _, err := range q.InFlight(ctx, "") {
		ok(t, err)
		leased++
	}
	same(t, "leased", leased, 12)
	buckets, _, err := q.QueueTimes(ctx)
	ok(t, err)
	waits := uint64(0)
	for _, b := range buckets {
		waits += b.Count
	}
	same(t, "waits", waits, 1+12)
	at(q).fetch.parts[1].work = false // and a look whether there is work
	at(q).fetch.peek()
	replicas := 0
	for _, p := range ps {
		c := redis.NewClient(&redis.Options{Addr: p.addr()})
		stats, err := c.Info(ctx, "replication", "commandstats").Result()
		ok(t, err)
		_ = c.Close()
		if !strings.Contains(stats, "role:slave") {
			continue
		}
		replicas++
		for _, name := range []string{"exists", "get", "hget", "hgetall", "hlen", "hmget", "scard", "sscan", "zcard", "zrange", "zrangebyscore", "zscore"} {
			if line := regexp.MustCompile(`cmdstat_` + name + `:.*`).FindString(stats); line != "" {
				t.Errorf("a replica was asked: %s", line)
			}
		}
	}
	same(t, "replicas", replicas, 3)
	ok(t, q.Close())
	ok(t, reads.Ping(ctx).Err()) // it is the caller's
}
