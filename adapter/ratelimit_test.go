package adapter

import (
	"math"
	"testing"
	"time"

	"github.com/firq-go/firq/rate"
)

func TestRateLimit(t *testing.T) {
	const ages = math.MaxInt64
	for _, c := range []struct {
		name          string
		r             rate.Result
		policy, limit string
	}{
		{"default", rate.Result{}, "", ""},
		{"default", rate.Result{Limit: rate.Limit{PerSecond: 10, Burst: 25}, Remaining: 3, Reset: 2200 * time.Millisecond}, `"default";q=25;w=3`, `"default";r=3;t=3`},
		{"a\"b\\c\n", rate.Result{Limit: rate.Limit{PerSecond: 10, Burst: 5}, Remaining: 5}, `"a\"b\\c?";q=5;w=1`, `"a\"b\\c?";r=5;t=0`},
		{"", rate.Result{Limit: rate.Limit{PerSecond: 1e-6, Burst: ages}, Reset: ages}, `"";q=999999999999999;w=999999999999999`, `"";r=0;t=9223372037`},
	} {
		if policy, limit := RateLimit(c.name, c.r); policy != c.policy || limit != c.limit {
			t.Errorf("%q, %+v: %s %s", c.name, c.r, policy, limit)
		}
	}
}
