package schedtest

import (
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

// Run tests that what newScheduler builds keeps the contract of package firq.
func Run[S firq.Scheduler[string, int]](t *testing.T, newScheduler func(firq.Config[string, int]) (S, error)) {
	newSched := func(cfg config) (sched, error) {
		s, err := newScheduler(cfg)
		if err != nil {
			return nil, err // not s: a nil *T in an interface is not nil
		}
		return s, nil
	}
	for _, g := range []struct {
		name   string
		checks []check
	}{
		{"input", inputChecks},
		{"order", orderChecks},
		{"share", shareChecks},
		{"quantum", quantumChecks},
		{"charge", chargeChecks},
		{"priority", priorityChecks},
		{"newest", newestChecks},
		{"new-tenants", newTenantChecks},
		{"model", modelChecks},
		{"fifo", fifoChecks},
		{"flows", flowChecks},
		{"limits", limitChecks},
		{"limits-race", limitRaceChecks},
		{"threshold", thresholdChecks},
		{"conserve", conserveChecks},
		{"deadline", deadlineChecks},
		{"reclaim", reclaimChecks},
		{"cancel", cancelChecks},
		{"cancel-memory", cancelMemoryChecks},
		{"cancel-race", cancelRaceChecks},
		{"policy", policyChecks},
		{"wait", waitChecks},
		{"wait-race", waitRaceChecks},
		{"admission", admissionChecks},
		{"in-flight", inFlightChecks},
		{"close", closeChecks},
		{"shutdown", shutdownChecks},
		{"shutdown-left", shutdownLeftChecks},
		{"wake", wakeChecks},
		{"wake-spent", wakeSpentChecks},
		{"never-empty", neverEmptyChecks},
		{"re-entry", reentryChecks},
		{"shards", shardChecks},
		{"fairness", fairnessChecks},
		{"costly", costlyChecks},
		{"lag", lagChecks},
		{"codel", codelChecks},
		{"stats", statsChecks},
		{"tenants", tenantChecks},
		{"crowd", crowdChecks},
		{"memory", memoryChecks},
		{"all", iteratorChecks},
		{"handle", handleChecks},
		{"new-limits", newLimitChecks},
		{"new-limits-race", newLimitRaceChecks},
		{"limits-for", limitsForChecks},
		{"limits-all", limitsAllChecks},
	} {
		t.Run(g.name, func(t *testing.T) { runChecks(t, newSched, g.checks) })
	}
	for _, g := range []struct {
		name   string
		checks []check
	}{
		{"order", orderChecks},
		{"quantum", quantumChecks},
		{"limits", limitChecks},
		{"limits-race", limitRaceChecks},
		{"threshold", thresholdChecks},
		{"reclaim", reclaimChecks},
		{"cancel", cancelChecks},
		{"policy", policyChecks},
		{"wait", waitChecks},
		{"wait-race", waitRaceChecks},
		{"admission", admissionChecks},
		{"close", closeChecks},
		{"shutdown", shutdownChecks},
		{"re-entry", reentryChecks},
		{"tenants", tenantChecks},
		{"crowd", crowdChecks},
		{"new-limits", newLimitChecks},
		{"limits-for", limitsForChecks},
	} {
		t.Run(g.name+", by handle", func(t *testing.T) { runChecks(t, handled(newSched), g.checks) })
	}
}

func runChecks(t *testing.T, newSched maker, checks []check) {
	for _, c := range checks {
		t.Run(c.name, func(t *testing.T) {
			if !c.alone {
				t.Parallel()
			}
			guard(t, func() { c.run(t, newSched) })
		})
	}
}

// patience is how long a call that must return may take. It is far above what
// any machine needs, so that only a lost wake-up exceeds it.
const patience = race.Slowness * 10 * time.Second

// guard runs a check and fails it if it hangs in a call without a context.
func guard(t *testing.T, run func()) { guardFor(t, 4*patience, run) }

// guardFor is guard with a limit of its own.
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
		t.Fatalf("a call hangs; all goroutines:\n%s", stacks)
	}
}
