package compare

import (
	"fmt"
	"math"
	"math/rand/v2"
	"testing"

	"github.com/firq-go/firq/cmd/firqbench/internal/report"
	"github.com/firq-go/firq/cmd/firqbench/internal/suite"
)

// machineLike makes files of one program as machines make them: rounds scatter by 3 %,
// and all rounds of a series lie off by their own amount, 5 % in the mean. speed is
// how fast the program is in the first slow cells; in the others it is 1.
func machineLike(r *rand.Rand, files, rounds, cells, slow int, speed float64) (fs []*report.File) {
	for range files {
		var cs []suite.Cell
		for i := range cells {
			off := math.Exp(0.05 * r.NormFloat64())
			if i < slow {
				off *= speed
			}
			rs := make([]float64, rounds)
			for k := range rs {
				rs[k] = 1e6 * off * math.Exp(0.03*r.NormFloat64())
			}
			cs = append(cs, cell(fmt.Sprintf("s%d", i), rates{"lockfree": rs}))
		}
		fs = append(fs, file(cs...))
	}
	return fs
}

// What happens to a program that has not changed, and to one that has become slower, in
// 100 comparisons of 20 scenarios each; -v prints the figures.
func TestFalseAlarms(t *testing.T) {
	trials, cells := 100, 20
	if testing.Short() {
		trials = 20
	}
	for _, c := range []struct {
		what         string
		files        int
		slow         int // scenarios
		speed        float64
		seen, missed int // at least, and at most, this many trials with a regression
	}{
		{"one series of 9 rounds each", 1, 0, 1, 0, 0},
		{"8 series each, nothing changed", 8, 0, 1, 0, trials / 20},
		{"8 series each, all 5 % slower", 8, cells, 0.95, trials / 4, trials},
		{"8 series each, one scenario 10 % slower", 8, 1, 0.9, trials / 4, trials},
		{"8 series each, one scenario 20 % slower", 8, 1, 0.8, trials * 95 / 100, trials},
		{"8 series each, all 10 % slower", 8, cells, 0.9, trials * 98 / 100, trials},
	} {
		r := rand.New(rand.NewPCG(7, 11))
		alarms, differ := 0, 0
		for range trials {
			before, after := machineLike(r, c.files, 9, cells, 0, 1), machineLike(r, c.files, 9, cells, c.slow, c.speed)
			got, err := Files(before, after, Options{Threshold: 0.02, Metrics: choose(t, "tasks/s")})
			if err != nil {
				t.Fatal(err)
			}
			if got.Err() != nil {
				alarms++
			}
			for _, row := range got.Rows {
				if row.Verdict == Differs {
					differ++
				}
			}
		}
		t.Logf("%s: a regression in %d of %d, the series differ in %d of %d rows", c.what, alarms, trials, differ, trials*cells)
		if alarms < c.seen || alarms > c.missed {
			t.Errorf("%s: a regression in %d of %d trials, want %d to %d", c.what, alarms, trials, c.seen, c.missed)
		}
		if c.files == 1 && differ < trials*cells/4 {
			t.Errorf("only %d of %d rows differ: the series are not as they are on machines", differ, trials*cells)
		}
	}
}
