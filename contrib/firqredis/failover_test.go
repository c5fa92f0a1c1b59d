package firqredis

import (
	"context"
	"errors"
	"slices"
	"strconv"
	"strings"
	"testing"
	"time"

	"github.com/redis/go-redis/v9"
)

// The primary that has the queue is killed under load, its replica takes its place, and the killed one comes back as the
// replica of that one, again and again. What Enqueue said is queued, with a replica that had it, is handled. An ack is not
// waited for: it may be forgotten, and its task handled once more.
func TestFailover(t *testing.T) {
	if testing.Short() {
		t.Skip("long")
	}
	t.Parallel()
	s, ps := ownCluster(t, 1)
	q := open(t, s, Config[string]{Lease: time.Second, WaitReplicas: 1})
	node := map[*process]*redis.Client{}
	for _, p := range ps {
		c := redis.NewClient(&redis.Options{Addr: p.addr(), MaxRetries: -1})
		t.Cleanup(func() { _ = c.Close() })
		node[p] = c
	}
	info := func(p *process) string {
		text, _ := node[p].Info(context.Background(), "replication").Result()
		return text
	}
	slot, err := at(q).db.ClusterKeySlot(bounded(t), at(q).prefix[0]).Result()
	ok(t, err)
	owner := func(seen *process) *process { // that a node knows; nil: none
		slots, err := node[seen].ClusterSlots(context.Background()).Result() //nolint:staticcheck // every version knows it
		if err != nil {
			return nil
		}
		for _, r := range slots {
			if r.Start <= int(slot) && int(slot) <= r.End {
				i := slices.IndexFunc(ps, func(p *process) bool { return strings.HasSuffix(r.Nodes[0].Addr, ":"+strconv.Itoa(p.port)) })
				return ps[i]
			}
		}
		return nil
	}
	h := newHistory()
	h.forgets = true
	failovers := 0
	st := h.underLoad(t, q, q, func() {
		for range rounds(2) {
			var p *process
			until(t, "the primary has its replica", func() bool {
				i := slices.IndexFunc(ps, func(p *process) bool { return owner(p) == p && strings.Contains(info(p), "state=online") })
				if i >= 0 {
					p = ps[i]
				}
				return i >= 0
			})
			h.more(t, 50)
			p.kill()
			other := ps[0]
			if other == p {
				other = ps[1]
			}
			until(t, "a replica takes its place", func() bool { o := owner(other); return o != nil && o != p })
			ok(t, p.start()) // until it is back no replica has anything, and no Enqueue returns without an error
			until(t, "the killed one comes back as a replica", func() bool {
				return strings.Contains(info(p), "role:slave") && strings.Contains(info(p), "master_link_status:up")
			})
			failovers++
			h.more(t, 50)
		}
	})
	t.Logf("%d failovers: %d tasks, %d deliveries, %d settled more than once", failovers, st.Acked, st.Delivered, h.again())
}

// A primary is replaced as planned (CLUSTER FAILOVER): a client that does not know yet gets no error of the cluster's, also if it
// waits for replicas.
func TestPlannedFailover(t *testing.T) {
	t.Parallel()
	s, ps := ownCluster(t, 1)
	q, ctx := open(t, s, Config[string]{WaitReplicas: 1}), bounded(t)
	nodes := map[*process]*redis.Client{}
	for _, p := range ps {
		nodes[p] = redis.NewClient(&redis.Options{Addr: p.addr()})
		t.Cleanup(func() { _ = nodes[p].Close() })
	}
	primary := func() *process {
		return ps[slices.IndexFunc(ps, func(p *process) bool { return must(at(q).primary(ctx, 0)).Options().Addr == p.addr() })]
	}
	was := primary()
	var replica *process
	until(t, "its replica is there", func() bool {
		for p, c := range nodes {
			text := c.Info(ctx, "replication").Val()
			if strings.Contains(text, "master_port:"+strconv.Itoa(was.port)) && strings.Contains(text, "master_link_status:up") {
				replica = p
			}
		}
		return replica != nil
	})
	until(t, "it replicates", func() bool { _, err := q.Enqueue(ctx, job{}); return err == nil })
	ok(t, nodes[replica].Do(ctx, "cluster", "failover").Err())
	until(t, "it is the primary", func() bool { return strings.Contains(nodes[was].Info(ctx, "replication").Val(), "role:slave") })
	t.Logf("the client knows already: %t", primary() != was) // it looks every 10 s
	n := 0
	until(t, "it replicates again", func() bool {
		n++
		_, err := q.Enqueue(ctx, job{Tenant: "after"})
		if err != nil && !errors.Is(err, ErrNotReplicated) {
			t.Fatal(err)
		}
		return err == nil
	})
	same(t, "queued", must(q.TenantStats(ctx, "after")).Queued, n)
}
