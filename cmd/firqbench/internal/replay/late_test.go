package replay

import (
	"testing"
	"time"

	"github.com/firq-go/firq/cmd/firqbench/internal/load"
)

// Requests that arrive a timer's grain late are on time; where all arrive together none is late.
func TestLate(t *testing.T) {
	const ms = time.Millisecond
	for _, c := range []struct {
		p99, most time.Duration
		speed     float64
		want      bool
	}{
		{1 * ms, 28 * ms, 10, false},
		{5 * ms, 50 * ms, 10, false},
		{6 * ms, 6 * ms, 10, true},
		{1 * ms, 51 * ms, 10, true},
		{900 * ms, 900 * ms, 0, false},
	} {
		r := Result{Lag: load.Latency{P99: c.p99, Max: c.most}}
		if got := r.Late(&Plan{Speed: c.speed}); got != c.want {
			t.Errorf("%+v: late %v", c, got)
		}
	}
}
