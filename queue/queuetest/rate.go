package queuetest

import (
	"context"
	"fmt"
	"math/rand/v2"
	"testing"
	"time"

	"github.com/firq-go/firq"
	"github.com/firq-go/firq/queue"
	"github.com/firq-go/firq/rate"
)

// never is a rate that lets a burst pass in a test, and no more.
func never(burst int64) rate.Limit { return rate.Limit{PerSecond: 1e-6, Burst: burst} }

// charged is a delivery: when it was made, by the server's clock, and what for.
type charged struct {
	at   time.Time
	cost int64
}

// within checks that no interval has more than the rate allows: of a task above the burst, only if the bucket was whole before.
func within(t testing.TB, all []charged, l rate.Limit) {
	t.Helper()
	for i := range all {
		sum := int64(0)
		for _, x := range all[i:] {
			sum += min(x.cost, l.Burst)
			if most := float64(l.Burst) + l.PerSecond*x.at.Sub(all[i].at).Seconds(); float64(sum) > most+1e-3 {
				t.Fatalf("%d in %v, at most %v", sum, x.at.Sub(all[i].at), most)
			}
			sum += max(x.cost-l.Burst, 0) // the debt
		}
	}
}

// In any history a tenant gets at most its burst and what the rate brings, whichever worker takes it, and gets all of it in the end. Another one's
// tasks do not wait.
func testRateBound(t *testing.T, s *suite) {
	const lease = time.Hour
	limit := rate.Limit{PerSecond: 1000, Burst: 10}
	q, ctx := open(t, s, queue.Config[string]{RatePerTenant: limit, Lease: lease}), bounded(t)
	ok(t, q.SetTenant(ctx, "free", queue.TenantSettings{Rate: rate.Limit{PerSecond: -1}}))
	var tasks []job
	for range 60 {
		tasks = append(tasks, job{Tenant: "a", Cost: 1 + rand.Int64N(12)}, job{Tenant: "b", Cost: 3})
	}
	put(t, q, tasks...)
	put(t, q, many("free", 20)...)
	all, free := map[string][]charged{}, 0
	note := func(its ...*queue.Item[string]) {
		for _, it := range its {
			all[it.Tenant] = append(all[it.Tenant], charged{it.LeaseUntil.Add(-lease), it.Cost})
		}
	}
	for _, it := range now(t, q, 100) {
		note(it)
		if it.Tenant == "free" {
			free++
		}
	}
	same(t, "of the one without a limit", free, 20)
	some := q.From([]string{"b"}, []string{"?"})
	for n := 0; len(all["a"])+len(all["b"]) < len(tasks); n++ {
		if n%3 > 0 {
			note(now(t, q, 1+n%5)...)
			continue
		}
		next := q.Dequeue
		if n%2 > 0 {
			next = some.Dequeue
		}
		it, err := next(ctx)
		ok(t, err)
		note(it)
		if n%4 == 0 {
			ok(t, q.Ack(ctx, it))
		}
	}
	within(t, all["a"], limit)
	within(t, all["b"], limit)
}

// A consumer that sleeps is woken when a tenant may go on, and not by chance: it would else look again after seconds only.
func testRateWakes(t *testing.T, s *suite) {
	const n, lease = 8, time.Hour
	limit := rate.Limit{PerSecond: 20, Burst: 1}
	q := open(t, s, queue.Config[string]{RatePerTenant: limit, Lease: lease})
	put(t, q, many("a", n)...)
	var all []charged
	for range n {
		it := take(t, q)
		all = append(all, charged{it.LeaseUntil.Add(-lease), it.Cost})
	}
	within(t, all, limit)
	if took := all[n-1].at.Sub(all[0].at); took > n*time.Second {
		t.Errorf("%d tasks took %v", n, took)
	}
}

// A task that costs more than the burst waits for a whole bucket, and those behind it wait for its debt.
func testRateDebt(t *testing.T, s *suite) {
	const lease = time.Hour
	limit := rate.Limit{PerSecond: 1000, Burst: 10}
	q := open(t, s, queue.Config[string]{RatePerTenant: limit, Lease: lease})
	var all []charged
	for _, cost := range []int64{100, 1, 30, 10, 1, 11, 1} {
		put(t, q, job{Cost: cost})
		it := take(t, q)
		same(t, "Cost", it.Cost, cost)
		all = append(all, charged{it.LeaseUntil.Add(-lease), it.Cost})
	}
	within(t, all, limit)
}

func testRateChanged(t *testing.T, s *suite) {
	q, ctx := open(t, s, queue.Config[string]{RatePerTenant: never(2)}), bounded(t)
	same(t, "Settings", q.Settings().RatePerTenant, never(2))
	held := func(tenant string, want bool) {
		t.Helper()
		if d := must(q.TenantStats(ctx, tenant)).Held; (d > time.Hour) != want {
			t.Errorf("%s is held back for %v", tenant, d)
		}
	}
	put(t, q, append(many("a", 9), many("b", 5)...)...)
	same(t, "bursts", len(now(t, q, 9)), 4)
	none(t, q)
	held("a", true)
	same(t, "Held", must(q.Stats(ctx)).Held, 2)
	put(t, q, many("c", 1)...)
	equal(t, "another", tenantsOf(now(t, q, 9)), []string{"c"})

	own := rate.Limit{PerSecond: 1e6, Burst: 2} // what is owed comes back by it
	ok(t, q.ChangeTenant(ctx, "a", queue.TenantChange{Rate: &own}))
	same(t, "Settings", must(q.TenantStats(ctx, "a")).Settings, queue.TenantSettings{Rate: own})
	same(t, "a's own", take(t, q).Tenant, "a")
	held("b", true)
	ok(t, q.Pause(ctx, "b"))
	same(t, "Held", must(q.Stats(ctx)).Held, 0)
	same(t, "Paused", must(q.TenantStats(ctx, "b")).Paused, true)
	ok(t, q.Resume(ctx, "b"))
	ok(t, q.SetTenant(ctx, "a", queue.TenantSettings{}))
	same(t, "a's burst has come back", len(now(t, q, 9)), 2)
	none(t, q)
	same(t, "Paused", must(q.TenantStats(ctx, "b")).Paused, false)
	held("a", true)
	held("b", true)
	ok(t, q.Resume(ctx, "b")) // it was not paused
	same(t, "Held", must(q.Stats(ctx)).Held, 1)
	none(t, q)
	same(t, "Held", must(q.Stats(ctx)).Held, 2)

	ok(t, q.SetTenant(ctx, "b", queue.TenantSettings{Rate: rate.Limit{PerSecond: -5}}))
	same(t, "Settings", must(q.TenantStats(ctx, "b")).Settings, queue.TenantSettings{Rate: rate.Limit{PerSecond: -1}})
	equal(t, "without a rate", tenantsOf(now(t, q, 9)), []string{"b", "b", "b"})
	ok(t, q.ChangeSettings(ctx, queue.SettingsChange{RatePerTenant: &rate.Limit{PerSecond: 2e-3, Burst: 3}}))
	same(t, "Settings", q.Settings().RatePerTenant, rate.Limit{PerSecond: 2e-3, Burst: 3})
	same(t, "with a greater burst", len(now(t, q, 9)), 1) // what is owed stays the same
	ok(t, q.ChangeSettings(ctx, queue.SettingsChange{RatePerTenant: &rate.Limit{}}))
	same(t, "without any", len(now(t, q, 9)), 3)
	same(t, "Held", must(q.Stats(ctx)).Held, 0)

	ok(t, q.SetTenant(ctx, "d", queue.TenantSettings{Rate: rate.Limit{PerSecond: 1e-6}}))
	same(t, "Burst", must(q.TenantStats(ctx, "d")).Settings.Rate, never(1))

	bad := rate.Limit{Burst: 1}
	want(t, q.SetTenant(ctx, "a", queue.TenantSettings{Rate: bad}), firq.ErrInvalidArgument)
	want(t, q.ChangeSettings(ctx, queue.SettingsChange{RatePerTenant: &bad}), firq.ErrInvalidConfig)
	want(t, q.ChangeSettings(ctx, queue.SettingsChange{RatePerTenant: &rate.Limit{PerSecond: -1}}), firq.ErrInvalidConfig)
}

// Every delivery is charged. Release gives it back, and Charge corrects it.
func testRateCorrected(t *testing.T, s *suite) {
	q, ctx := open(t, s, queue.Config[string]{RatePerTenant: never(10), Lease: time.Hour}), bounded(t)
	put(t, q, job{Tenant: "a", Cost: 6}, job{Tenant: "a", Cost: 5})
	its := now(t, q, 9)
	same(t, "first", len(its), 1)
	ok(t, q.Release(ctx, its...))
	its = now(t, q, 9)
	same(t, "released", len(its), 1)
	ok(t, q.Nack(ctx, its[0], queue.Retry{After: -1}))
	none(t, q) // a retry is charged again
	its[0].Charge(1)
	want(t, q.Ack(ctx, its...), queue.ErrLeaseLost)

	put(t, q, job{Tenant: "b", Cost: 6}, job{Tenant: "b", Cost: 5}, job{Tenant: "b", Cost: 5})
	its = now(t, q, 9)
	same(t, "b's first", len(its), 1)
	its[0].Charge(-6)
	ok(t, q.Ack(ctx, its...))
	its = now(t, q, 9)
	same(t, "it was cheap", len(its), 2)
	its[0].Charge(3)
	its[1].Charge(-9)
	ok(t, q.Ack(ctx, its[0]))
	ok(t, q.Nack(ctx, its[1], queue.Retry{After: -1})) // 4 are used
	same(t, "its retry", len(now(t, q, 9)), 1)
	put(t, q, job{Tenant: "b", Cost: 2})
	none(t, q)

	put(t, q, job{Tenant: "d", Cost: 10, ID: "cancelled"}, job{Tenant: "d", Cost: 10})
	its = now(t, q, 9)
	same(t, "d's first", len(its), 1)
	ok(t, q.Cancel(ctx, "cancelled"))
	ok(t, q.Release(ctx, its...))
	same(t, "cancelled, and released", len(now(t, q, 9)), 1)

	put(t, q, job{Tenant: "c", Cost: 10}, job{Tenant: "c", Cost: 10})
	ok(t, q.Extend(ctx, time.Microsecond, now(t, q, 1)...)) // its worker is gone
	until(t, "its lease runs out", func() bool { none(t, q); return must(q.Stats(ctx)).LeaseExpired == 1 })
	if d := must(q.TenantStats(ctx, "c")).Held; d < time.Hour {
		t.Errorf("held back for %v", d)
	}
}

// While its rate holds a tenant back it is not in the order, and saves nothing up there; the others are served as if it did not exist.
func testRateOrder(t *testing.T, s *suite) {
	q, ctx := open(t, s, queue.Config[string]{}), bounded(t)
	ok(t, q.SetTenant(ctx, "rated", queue.TenantSettings{Rate: never(3), Weight: 5}))
	ok(t, q.SetTenant(ctx, "b", queue.TenantSettings{Weight: 2}))
	for _, name := range []string{"rated", "a", "b"} {
		put(t, q, many(name, 100)...)
	}
	served := func(n int) map[string]int {
		m := map[string]int{}
		for _, it := range now(t, q, n) {
			m[it.Tenant]++
		}
		return m
	}
	if m := served(63); m["rated"] != 3 || m["a"] < 19 || m["a"] > 21 {
		t.Errorf("served: %v", m)
	}
	ok(t, q.ChangeTenant(ctx, "rated", queue.TenantChange{Rate: &rate.Limit{PerSecond: -1}}))
	if m := served(40); m["rated"] < 23 || m["rated"] > 27 || m["b"] < 9 || m["b"] > 11 {
		t.Errorf("served after it: %v", m)
	}
}

// What has become first need not wait for what was.
func testRateHead(t *testing.T, s *suite) {
	q, ctx := open(t, s, queue.Config[string]{RatePerTenant: never(10)}), bounded(t)
	put(t, q, job{Cost: 5}, job{ID: "expensive", Cost: 10})
	same(t, "first", len(now(t, q, 9)), 1)
	none(t, q)
	put(t, q, job{ID: "last"})
	none(t, q)
	put(t, q, job{ID: "urgent", Priority: firq.PriorityCritical})
	equal(t, "urgent", idsOf(now(t, q, 9)), []string{"urgent"})
	ok(t, q.Cancel(ctx, "expensive"))
	equal(t, "after a Cancel", idsOf(now(t, q, 9)), []string{"last"})
	put(t, q, job{ID: "too much", Cost: 4})
	none(t, q)
	ok(t, q.Cancel(ctx, "too much"))
	put(t, q, job{ID: "enough", Cost: 3})
	equal(t, "after all have left", idsOf(now(t, q, 9)), []string{"enough"})
}

// Workers share a rate, and those that wait for it end when they are told to.
func testRateRun(t *testing.T, s *suite) {
	const n = 40
	limit := rate.Limit{PerSecond: 400, Burst: 4}
	q := open(t, s, queue.Config[string]{RatePerTenant: limit})
	for k := range n {
		put(t, q, job{Tenant: fmt.Sprint(k % 2), Payload: "x"})
	}
	handler := func(context.Context, *queue.Item[string]) error { return nil }
	first := runs(t, q, handler, queue.RunOptions[string]{Concurrency: 3})
	second := runs(t, q, handler, queue.RunOptions[string]{Concurrency: 3})
	atRest(t, q)
	ok(t, first())
	ok(t, second())
	same(t, "Acked", books(t, q).Acked, n)
}

// A tenant that has no tasks for a while has what its rate has brought, and not its burst.
func testRateIdle(t *testing.T, s *suite) {
	q, ctx := open(t, s, queue.Config[string]{RatePerTenant: never(2), TenantIdle: time.Millisecond}), bounded(t)
	put(t, q, many("a", 2)...)
	ok(t, q.Ack(ctx, now(t, q, 2)...))
	began := time.Now()
	until(t, "it is forgotten, or should have been", func() bool {
		put(t, q, job{Tenant: "b", ID: "b"})
		ok(t, q.Cancel(ctx, "b"))
		ok(t, q.Maintain(ctx))
		return must(q.TenantStats(ctx, "a")).Delivered == 0 || time.Since(began) > 1200*time.Millisecond
	})
	put(t, q, many("a", 1)...)
	none(t, q)
}
