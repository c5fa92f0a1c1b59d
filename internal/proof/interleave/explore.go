//go:build firq_failpoints

package interleave

import (
	"fmt"
	"os"
	"slices"
	"strconv"
	"testing"
	"testing/synctest"

	"github.com/firq-go/firq/internal/proof/failpoint"
)

// maxSteps is how long a schedule may be; a longer one is a livelock.
const maxSteps = 5000

// decision is a point at which several goroutines could go on.
type decision struct {
	choices []int // threads, the one without a preemption first
	taken   int   // index of the one that this schedule takes
}

// Explore calls program once for each schedule of the goroutines that it starts, with
// at most the given number of preemptions, or one fewer under -short; FIRQ_PREEMPTIONS=n adds
// n. It stops at the first schedule that fails, and prints it. program must do the
// same each time, apart from what its goroutines do in between. Not for parallel
// tests.
func Explore(t *testing.T, preemptions int, program func(p *Schedule)) (schedules int) {
	t.Helper()
	if testing.Short() && preemptions > 1 {
		preemptions--
	}
	if text := os.Getenv("FIRQ_PREEMPTIONS"); text != "" {
		n, err := strconv.Atoi(text)
		if err != nil || n < 0 {
			t.Fatalf("FIRQ_PREEMPTIONS=%s is not a number of preemptions", text)
		}
		preemptions += n
	}
	var path []decision
	for {
		p := &Schedule{path: path, left: preemptions, current: -1}
		synctest.Test(t, func(t *testing.T) {
			p.t = t
			defer failpoint.Set(p)()
			program(p)
			p.finish()
			if t.Failed() { // then this is the last schedule
				t.Logf("in schedule %d, the steps were:\n%s", schedules+1, p.trace())
			}
		})
		schedules++
		path = p.path
		for len(path) > 0 && path[len(path)-1].taken+1 == len(path[len(path)-1].choices) {
			path = path[:len(path)-1]
		}
		if len(path) == 0 {
			t.Logf("%d schedules with at most %d preemptions", schedules, preemptions)
			return schedules
		}
		path[len(path)-1].taken++
	}
}

// choose says which goroutine goes on, and notes that there was a choice.
func (p *Schedule) choose(enabled []int) (int, error) {
	choices := enabled
	if at := slices.Index(enabled, p.current); at >= 0 {
		if p.left == 0 {
			return p.current, nil
		}
		choices = append([]int{p.current}, slices.Delete(slices.Clone(enabled), at, at+1)...)
	}
	if len(choices) == 1 {
		return choices[0], nil
	}
	if p.depth == len(p.path) {
		p.path = append(p.path, decision{choices: slices.Clone(choices)})
	}
	d := p.path[p.depth]
	p.depth++
	if !slices.Equal(d.choices, choices) {
		return 0, fmt.Errorf("the program is not deterministic: could choose %v, now %v", d.choices, choices)
	}
	next := d.choices[d.taken]
	if next != p.current && choices[0] == p.current {
		p.left--
	}
	return next, nil
}
