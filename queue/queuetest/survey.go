package queuetest

import (
	"fmt"
	"testing"

	"github.com/firq-go/firq/queue"
)

// A survey says what Stats and TopTenants say, as long as one call looks at all tenants.
func testSurvey(t *testing.T, s *suite) {
	q, ctx := open(t, s, queue.Config[string]{}), bounded(t)
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
		for _, by := range []queue.By{queue.ByQueued, queue.ByInFlight} { // two partitions do not answer at the same instant, which blurs which tenant is oldest
			same(t, "TopTenants", fmt.Sprint(namesOf(must(q.Survey().TopTenants(ctx, 4, by)))), fmt.Sprint(namesOf(must(q.TopTenants(ctx, 4, by)))))
		}
		put(t, q, many("new", 9)...)
		same(t, "the first", must(q.Survey().TopTenants(ctx, 1, queue.ByQueued))[0].Tenant, "new")
	}
}
