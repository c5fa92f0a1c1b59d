package firqredis

import (
	"fmt"
	"testing"
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
