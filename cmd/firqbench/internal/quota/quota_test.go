package quota

import "testing"

func TestLimitRefuses(t *testing.T) {
	for _, percent := range []int{-1, 0, Most + 1} {
		if _, err := Limit(percent, Period); err == nil {
			t.Errorf("%d percent was taken", percent)
		}
	}
}

func TestProcessors(t *testing.T) {
	for _, c := range []struct{ percent, machine, want int }{
		{80, 1, 1}, {80, 16, 2}, {200, 16, 2}, {201, 16, 3}, {1600, 16, 16}, {9900, 16, 16},
	} {
		if got := Processors(c.percent, c.machine); got != c.want {
			t.Errorf("%d %% of a machine of %d: %d, want %d", c.percent, c.machine, got, c.want)
		}
	}
}
