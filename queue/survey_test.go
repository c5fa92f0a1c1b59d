package queue

import (
	"fmt"
	"testing"
	"time"
)

// ranking keeps the tenants that lead by any order.
func TestRankingPrune(t *testing.T) {
	t.Parallel()
	r := ranking{}
	for k := range 1000 {
		r.add(&TenantStats{Tenant: fmt.Sprint(k), Queued: k, InFlight: (k + 333) % 1000, Oldest: time.Duration((k + 666) % 1000)})
	}
	r.prune(10)
	same(t, "left", len(r), 30)
	for by, first := range map[By]string{ByQueued: "999", ByInFlight: "666", ByOldest: "333"} {
		same(t, "first", r.top(1, by)[0].Tenant, first)
	}
	r.add(&TenantStats{Tenant: "999"}) // has nothing any more
	same(t, "first", r.top(1, ByQueued)[0].Tenant, "998")
}

// With more tenants a call looks at some of them, and after a while at each; the tenant that has most stays known, and its numbers are of now.
func TestSurveyOfMany(t *testing.T) {
	t.Parallel()
	q, f := open(t)
	put(t, q, "most", "most", "most")
	s, ctx := q.Survey(), bounded(t)
	s.least = 1000
	n := 3 * s.least
	var tenants []string
	for k := range n {
		tenants = append(tenants, fmt.Sprint("t", k))
	}
	put(t, q, tenants...)
	asked := func() int {
		was := f.asked
		f.asked = 0
		return was
	}
	for range 2 * n / s.least {
		asked()
		same(t, "Queued", must(s.Stats(ctx)).Queued, n+3)
		if k := asked(); k > s.least+tenantsAtOnce+surveyLeast {
			t.Errorf("it looked at %d", k)
		}
		s.looked = time.Time{} // as if a second had passed
	}
	top := must(s.TopTenants(ctx, 2, ByQueued))
	if len(top) != 2 || top[0].Tenant != "most" || top[0].Queued != 3 {
		t.Errorf("%+v", top)
	}
	put(t, q, "most")
	same(t, "of now", must(s.TopTenants(ctx, 1, ByQueued))[0].Queued, 4)
	asked()
	s.looked = time.Now().Add(time.Hour)
	must(s.TopTenants(ctx, 1, ByQueued)) // within the second no other tenant is looked at
	if k := asked(); k > surveyLeast {
		t.Errorf("it looked at %d", k)
	}
	same(t, "Oldest", must(s.Stats(ctx)).Oldest, must(q.Stats(ctx)).Oldest)
}
