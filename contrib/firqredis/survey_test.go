package firqredis

import (
	"fmt"
	"testing"
	"time"
)

// A survey says what Stats and TopTenants say, as long as one call looks at all tenants.
func TestSurvey(t *testing.T) {
	each(t, func(t *testing.T, s *server) {
		q, ctx := open(t, s, Config[string]{Partitions: 2}), bounded(t)
		for k := range 7 {
			put(t, q, many(fmt.Sprint("t", k), k+1)...)
		}
		now(t, q, 3)
		for range 3 {
			got, err := q.Survey().Stats(ctx)
			ok(t, err)
			want := must(q.Stats(ctx))
			if d := want.Oldest - got.Oldest; d < 0 || d > patience/2 {
				t.Errorf("Oldest: %v, want %v", got.Oldest, want.Oldest)
			}
			got.Oldest, want.Oldest = 0, 0
			same(t, "Stats", got, want)
			for _, by := range []By{ByQueued, ByInFlight} { // two partitions do not answer at the same instant, which blurs which tenant is oldest
				same(t, "TopTenants", fmt.Sprint(namesOf(must(q.Survey().TopTenants(ctx, 4, by)))), fmt.Sprint(namesOf(must(q.TopTenants(ctx, 4, by)))))
			}
			put(t, q, many("new", 9)...)
			same(t, "the first", must(q.Survey().TopTenants(ctx, 1, ByQueued))[0].Tenant, "new")
		}
	})
}

func namesOf(all []TenantStats) (names []string) {
	for i := range all {
		names = append(names, all[i].Tenant)
	}
	return names
}

// With more tenants a call looks at some of them, and after a while at each; the tenant that has most stays known, and its numbers are of now.
func TestSurveyOfMany(t *testing.T) {
	t.Parallel()
	redisServer.need(t)
	counts := &commands{}
	c := redisServer.client(t)
	c.AddHook(counts)
	q, ctx := open(t, redisServer, Config[string]{Client: c, Partitions: 2}), bounded(t)
	put(t, q, many("most", 3)...)
	s := q.Survey()
	s.least = 1000
	n := 3 * s.least
	var ts []job
	for k := range n {
		ts = append(ts, job{Tenant: fmt.Sprint("t", k)})
	}
	put(t, q, ts...)
	most := 2*s.least/tenantsAtOnce + 10 // the set gives more at a time now and then
	for range 2 * n / s.least {
		counts.take()
		st, err := s.Stats(ctx)
		ok(t, err)
		same(t, "Queued", st.Queued, n+3)
		if sent := counts.take()["evalsha"]; sent > most {
			t.Errorf("%d scripts", sent)
		}
		s.looked = time.Time{} // as if a second had passed
	}
	top := must(s.TopTenants(ctx, 2, ByQueued))
	if len(top) != 2 || top[0].Tenant != "most" || top[0].Queued != 3 {
		t.Errorf("%+v", top)
	}
	put(t, q, job{Tenant: "most"})
	same(t, "of now", must(s.TopTenants(ctx, 1, ByQueued))[0].Queued, 4)
	counts.take()
	s.looked = time.Now().Add(time.Hour)
	must(s.TopTenants(ctx, 1, ByQueued)) // within the second no other tenant is looked at
	if sent := counts.take(); sent["sscan"] != 0 || sent["evalsha"] > 2 {
		t.Errorf("sent %v", sent)
	}
	oldest := must(s.Stats(ctx)).Oldest
	if all := must(q.Stats(ctx)).Oldest; oldest > all || oldest < all/2 {
		t.Errorf("Oldest: %v of %v", oldest, all)
	}
}

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
