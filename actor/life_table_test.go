package actor

import (
	"flag"
	"fmt"
	"os"
	"runtime/debug"
	"slices"
	"sync/atomic"
	"testing"
)

var livesSeen [lives][events]atomic.Uint64

// noteLife ends the program if a life changes in a way that transitions does not have. All tests run
// under it, soaks and schedules too.
func noteLife(from life, on event, to life) {
	if to == lives {
		fmt.Fprintf(os.Stderr, "%v: %q is in no row of transitions\n%s", from, on, debug.Stack())
		os.Exit(3)
	}
	livesSeen[from][on].Add(1)
}

// lifeMain says which rows of transitions no test of the whole package has come across, and fails in a soak.
type lifeMain struct{ *testing.M }

func (m lifeMain) Run() int {
	code := m.M.Run()
	if code != 0 || flag.Lookup("test.run").Value.String() != "" || testing.Short() {
		return code
	}
	for _, r := range transitions {
		rare := r.on == failedFinally && (r.from == restarting || r.from == failed || r.from == rising) // only between two steps of Close
		if livesSeen[r.from][r.on].Load() == 0 && !rare {
			fmt.Fprintf(os.Stderr, "no test has seen %v: %q -> %v, by %s\n", r.from, r.on, r.to, r.who)
			if os.Getenv("FIRQ_SOAK") != "" { // a short run may miss a race
				code = 1
			}
		}
	}
	return code
}

// String returns the event in a few words.
func (e event) String() string {
	return [...]string{"the start has succeeded", "a failure", "a failure without a restart", "siblings are restarted with it", "Kill, c.Stop, the parent's end, Close",
		"Stop, or idle, and nothing waits", "no handler is in progress", "children and last words are over", "the supervisor wants the next incarnation",
		"children and last words are over, or Close", "Done is closed", "?"}[e]
}

// Each pair of a state and an event is in one row of transitions or ignored, or in none.
func TestLifeTable(t *testing.T) {
	var had []string
	for _, r := range transitions {
		row := fmt.Sprint(r.from, r.on)
		if slices.Contains(had, row) || slices.Contains(ignored[r.on], r.from) {
			t.Error("twice:", row)
		}
		had = append(had, row)
	}
}
