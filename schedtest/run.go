package schedtest

import (
	"fmt"
	"os"
	"runtime"
	"testing"
	"time"

	"github.com/firq-go/firq"
	"github.com/firq-go/firq/internal/proof/race"
)

// The instantiation that the suite works with. A payload is the task's id.
type (
	sched  = firq.Scheduler[string, int]
	config = firq.Config[string, int]
	item   = firq.Item[string, int]
	task   = firq.Task[int]
	stats  = firq.Stats[string]
)

// maker builds a scheduler under test.
type maker func(config) (sched, error)

// check is one subtest.
type check struct {
	name string
	run  func(*testing.T, maker)
	// alone: it counts allocations or watches the heap, so that nothing may
	// run beside it.
	alone bool
}

// sharded runs a check with each number of shards: 1 and 8 if none are given.
func sharded(run func(*testing.T, maker, int), counts ...int) func(*testing.T, maker) {
	if counts == nil {
		counts = []int{1, 8}
	}
	return func(t *testing.T, newSched maker) {
		for _, shards := range counts {
			if run(t, newSched, shards); t.Failed() {
				t.Fatalf("with %d shards", shards)
			}
		}
	}
}

// Run tests that what newScheduler builds keeps the contract of package firq.
func Run[S firq.Scheduler[string, int]](t *testing.T, newScheduler func(firq.Config[string, int]) (S, error)) {
	newSched := func(cfg config) (sched, error) {
		s, err := newScheduler(cfg)
		if err != nil {
			return nil, err // not s: a nil *T in an interface is not nil
		}
		return s, nil
	}
	d := &doors{seed: randomSeed(t, "by key or by handle")}
	for _, g := range groups {
		t.Run(g.name, func(t *testing.T) {
			for _, c := range g.checks {
				t.Run(c.name, func(t *testing.T) {
					if !c.alone {
						t.Parallel()
					}
					m := maker(newSched)
					if !g.direct {
						m = behind(d.of(t.Name()), newSched)
					}
					guard(t, func() { c.run(t, m) })
				})
			}
		})
	}
}

// groups are all checks of Run.
var groups = []struct {
	name   string
	checks []check
	direct bool // by key, and what the check itself does by handle
}{
	{name: "input", checks: inputChecks},
	{name: "order", checks: orderChecks},
	{name: "share", checks: shareChecks},
	{name: "quantum", checks: quantumChecks},
	{name: "charge", checks: chargeChecks},
	{name: "priority", checks: priorityChecks},
	{name: "newest", checks: newestChecks},
	{name: "new-tenants", checks: newTenantChecks},
	{name: "model", checks: modelChecks},
	{name: "fifo", checks: fifoChecks},
	{name: "flows", checks: flowChecks},
	{name: "limits", checks: limitChecks},
	{name: "limits-race", checks: limitRaceChecks},
	{name: "threshold", checks: thresholdChecks},
	{name: "conserve", checks: conserveChecks},
	{name: "deadline", checks: deadlineChecks},
	{name: "reclaim", checks: reclaimChecks},
	{name: "cancel", checks: cancelChecks},
	{name: "cancel-memory", checks: cancelMemoryChecks, direct: true},
	{name: "cancel-race", checks: cancelRaceChecks},
	{name: "policy", checks: policyChecks},
	{name: "wait", checks: waitChecks},
	{name: "wait-race", checks: waitRaceChecks},
	{name: "admission", checks: admissionChecks},
	{name: "in-flight", checks: inFlightChecks},
	{name: "close", checks: closeChecks},
	{name: "shutdown", checks: shutdownChecks},
	{name: "shutdown-left", checks: shutdownLeftChecks},
	{name: "wake", checks: wakeChecks},
	{name: "wake-spent", checks: wakeSpentChecks},
	{name: "never-empty", checks: neverEmptyChecks},
	{name: "re-entry", checks: reentryChecks},
	{name: "shards", checks: shardChecks},
	{name: "fairness", checks: fairnessChecks},
	{name: "costly", checks: costlyChecks},
	{name: "lag", checks: lagChecks},
	{name: "codel", checks: codelChecks},
	{name: "stats", checks: statsChecks},
	{name: "tenants", checks: tenantChecks},
	{name: "crowd", checks: crowdChecks},
	{name: "memory", checks: memoryChecks, direct: true},
	{name: "all", checks: iteratorChecks},
	{name: "handle", checks: handleChecks, direct: true},
	{name: "new-limits", checks: newLimitChecks},
	{name: "new-limits-race", checks: newLimitRaceChecks},
	{name: "limits-for", checks: limitsForChecks},
	{name: "limits-all", checks: limitsAllChecks, direct: true},
}

// patience is how long a call that must return may take. It is far above what
// any machine needs, so that only a lost wake-up exceeds it.
const patience = race.Slowness * 10 * time.Second

// guard runs a check, and panics if it hangs in a call without a context, as go test does at its
// timeout: a check that goes on after its test has ended would panic in other words.
func guard(t *testing.T, run func()) { guardFor(t, 4*patience, run) }

// guardFor is guard with another limit.
func guardFor(t *testing.T, limit time.Duration, run func()) {
	done := make(chan struct{})
	go func() {
		defer close(done) // also after t.FailNow, which ends this goroutine
		run()
	}()
	timer := time.NewTimer(limit)
	defer timer.Stop()
	select {
	case <-done:
	case <-timer.C:
		stacks := make([]byte, 1<<20)
		stacks = stacks[:runtime.Stack(stacks, true)]
		fmt.Fprintf(os.Stderr, "%s\n", stacks)
		panic(t.Name() + ": a call hangs; all goroutines stand above")
	}
}
