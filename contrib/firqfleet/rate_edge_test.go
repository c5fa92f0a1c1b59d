package firqfleet

import (
	"math"
	"testing"

	"github.com/firq-go/firq/rate"
)

// A name with a colon does not share tenants with another rate.
func TestRateNames(t *testing.T) {
	each(t, func(t *testing.T, addr string) {
		n := name()
		limit := rate.Limit{PerSecond: 1e-6, Burst: 1}
		a, b := newRate(t, addr, RateConfig{Name: n, Limit: limit}), newRate(t, addr, RateConfig{Name: n + ":x", Limit: limit})
		for _, c := range []struct {
			r      *Rate
			tenant string
		}{{a, "x:y"}, {b, "y"}, {a, ""}, {a, "}"}, {b, "}"}} {
			if _, err := c.r.Take(bounded(t), c.tenant, 1, 0); err != nil {
				t.Errorf("%q of %s: %v", c.tenant, c.r.cfg.Name, err)
			}
		}
	})
}

// The greatest numbers overflow nothing.
func TestRateGreatest(t *testing.T) {
	each(t, func(t *testing.T, addr string) {
		r := newRate(t, addr, RateConfig{Name: name(), Limit: rate.Limit{PerSecond: 1e12, Burst: math.MaxInt64}})
		res, err := r.Take(bounded(t), "x", 1, 0)
		if err != nil || res.Remaining < math.MaxInt64/2 || res.Reset < 0 {
			t.Errorf("%+v %v", res, err)
		}
		if err := r.Charge(bounded(t), "x", math.MaxInt64); err != nil {
			t.Error(err)
		}
		if res, err = r.Take(bounded(t), "x", math.MaxInt64, 0); err != rate.ErrLimited || res.Remaining < 0 || res.RetryAfter <= 0 || res.Reset <= 0 {
			t.Errorf("%+v %v", res, err)
		}
		if err := r.Charge(bounded(t), "x", math.MinInt64); err != nil {
			t.Error(err)
		}
		if res, err = r.Take(bounded(t), "x", math.MaxInt64, 0); err != nil || res.Remaining < 0 {
			t.Errorf("%+v %v", res, err)
		}
	})
}
