package firqredis

import (
	"cmp"
	"context"
	"fmt"
	"slices"
	"testing"
	"time"

	"github.com/firq-go/firq"
)

func TestInFlight(t *testing.T) {
	each(t, func(t *testing.T, s *server) {
		q, ctx := open(t, s, Config[string]{Partitions: 3}), bounded(t)
		list := func(tenant string) (its []*Item[string]) {
			t.Helper()
			for it, err := range q.InFlight(ctx, tenant) {
				ok(t, err)
				its = append(its, it)
			}
			return its
		}
		same(t, "nothing", len(list("")), 0)
		const n = tenantsAtOnce + 50
		for k := range n {
			put(t, q, job{Tenant: fmt.Sprint("t", k%5), Payload: fmt.Sprint(k), Cost: 3, Headers: map[string]string{"k": fmt.Sprint(k)}})
		}
		put(t, q, job{Tenant: "idle", Delay: time.Hour})
		taken := map[string]*Item[string]{}
		for _, it := range now(t, q, n) {
			taken[it.ID] = it
		}
		same(t, "taken", len(taken), n)
		its := list("")
		same(t, "all", len(its), n)
		for k, it := range its {
			was := taken[it.ID]
			if was == nil || it.Payload != was.Payload || it.Token != was.Token || it.Attempt != 1 || !it.LeaseUntil.Equal(was.LeaseUntil) ||
				it.Tenant != was.Tenant || it.Cost != 3 || it.Headers["k"] != it.Payload {
				t.Fatalf("%+v, was delivered as %+v", it, was)
			}
			if k > 0 && it.LeaseUntil.Before(its[k-1].LeaseUntil) {
				t.Fatalf("%v after %v", it.LeaseUntil, its[k-1].LeaseUntil)
			}
		}
		// The order is that of the leases, not of partitions.
		slices.SortStableFunc(its, func(a, b *Item[string]) int { return cmp.Compare(at(q).Lane(a.Tenant), at(q).Lane(b.Tenant)) })
		if at(q).Lane(its[0].Tenant) == at(q).Lane(its[n-1].Tenant) {
			t.Fatal("all tenants are in one partition")
		}
		ok(t, q.Extend(ctx, time.Hour, its[0]))
		same(t, "the last", list("")[n-1].ID, its[0].ID)
		own := list("t3")
		same(t, "a tenant's", len(own), n/5)
		for _, it := range own {
			same(t, "tenant", it.Tenant, "t3")
		}
		same(t, "of the idle one", len(list("idle")), 0)
		// A caller that knows that a worker is gone gives back the worker's tasks.
		ok(t, q.Release(ctx, own...))
		same(t, "the rest", len(list("")), n-n/5)
		want(t, q.Ack(ctx, taken[own[0].ID]), ErrLeaseLost)
		first := 0
		for _, err := range q.InFlight(ctx, "") {
			ok(t, err)
			first++
			break
		}
		same(t, "until it breaks", first, 1)
		for _, err := range q.InFlight(ctx, "{}") {
			want(t, err, firq.ErrInvalidArgument)
		}
		gone, cancel := context.WithCancel(ctx)
		cancel()
		for _, err := range q.InFlight(gone, "") {
			want(t, err, context.Canceled)
		}
	})
}

// Without a consumer, Maintain brings in what is due.
func TestMaintain(t *testing.T) {
	each(t, func(t *testing.T, s *server) {
		q, ctx := open(t, s, Config[string]{Partitions: 2, MaxAttempts: 1, Lease: time.Hour}), bounded(t)
		const n = 3*dueAtOnce + 7
		put(t, q, append(many("a", n), many("b", 5)...)...)
		same(t, "delivered", len(now(t, q, n+5)), n+5)
		for p := range at(q).prefix {
			endLeasesOf(t, q, p)
		}
		put(t, q, job{ID: "due", Delay: time.Millisecond})
		time.Sleep(5 * time.Millisecond)
		same(t, "InFlight", must(q.Stats(ctx)).InFlight, n+5)
		ok(t, q.Maintain(ctx))
		st := books(t, q)
		same(t, "InFlight", st.InFlight, 0)
		same(t, "DeadLetters", st.DeadLetters, n+5)
		same(t, "Queued", st.Queued, 1)
		ok(t, q.Close())
		want(t, q.Maintain(ctx), firq.ErrClosed)
	})
}
