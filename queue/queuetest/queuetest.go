// Package queuetest is the contract of package queue as a suite of tests, for an engine that you write:
//
//	func TestContract(t *testing.T) {
//		queuetest.Run(t, func(tb testing.TB, c queue.Config[string]) *queue.Queue[string] {
//			q, err := queue.New(tb.Context(), newEngine(tb), c)
//			...
//			return q
//		}, queuetest.Options{})
//	}
package queuetest

import (
	"crypto/rand"
	"slices"
	"sync/atomic"
	"testing"

	"github.com/firq-go/firq/queue"
)

// Open opens a queue; the same Name in one test is another client of the same queue. It closes the queue when the test ends,
// after what the suite has registered with tb before.
type Open func(tb testing.TB, c queue.Config[string]) *queue.Queue[string]

// Options say what an engine does otherwise.
type Options struct {
	Skip     []string // names of tests that do not hold, which the log then names
	Only     []string // names of tests; nil: all
	AnyBytes bool     // names may be any bytes; else valid UTF-8 without NUL
}

// tests are the contract.
var tests = []struct {
	name string
	f    func(t *testing.T, s *suite)
}{
	{"HeadersOfAnyBytes", testHeadersOfAnyBytes},
	{"GlobOfZero", testGlobOfZero},
	{"Years", testYears},
	{"SmallWeights", testSmallWeights},
	{"DeadLetterFilters", testDeadLetterFilters},
	{"Requeue", testRequeue},
	{"Get", testGet},
	{"List", testList},
	{"Results", testResults},
	{"ResultsEnd", testResultsEnd},
	{"ResultsOfRun", testResultsOfRun},
	{"Retention", testRetention},
	{"DequeueGivenUp", testDequeueGivenUp},
	{"DequeueBatch", testDequeueBatch},
	{"FromOrder", testFromOrder},
	{"AckRacesLease", testAckRacesLease},
	{"ManyAcks", testManyAcks},
	{"NoPrefetch", testNoPrefetch},
	{"Ties", testTies},
	{"IdleSavesNothing", testIdleSavesNothing},
	{"ComingAndGoingGainsNothing", testComingAndGoingGainsNothing},
	{"Charge", testCharge},
	{"PausedSavesNothing", testPausedSavesNothing},
	{"RoundCosts", testRoundCosts},
	{"Fencing", testFencing},
	{"LateAck", testLateAck},
	{"LastLease", testLastLease},
	{"Release", testRelease},
	{"Extend", testExtend},
	{"Nack", testNack},
	{"EndlessDelays", testEndlessDelays},
	{"ReleaseIsNotCharged", testReleaseIsNotCharged},
	{"RunOutcomes", testRunOutcomes},
	{"Heartbeats", testHeartbeats},
	{"Causes", testCauses},
	{"StopGivesBack", testStopGivesBack},
	{"RunFrom", testRunFrom},
	{"AckTwiceInOneCall", testAckTwiceInOneCall},
	{"NackCharges", testNackCharges},
	{"TenantStats", testTenantStats},
	{"QueueTimesOfDelayed", testQueueTimesOfDelayed},
	{"OldestIsLow", testOldestIsLow},
	{"Survey", testSurvey},
	{"SameID", testSameID},
	{"SameIDRefused", testSameIDRefused},
	{"UniqueKey", testUniqueKey},
	{"UniqueFor", testUniqueFor},
	{"DeadlineAndDelay", testDeadlineAndDelay},
	{"TTL", testTTL},
	{"HeadersAreTaken", testHeadersAreTaken},
	{"Priorities", testPriorities},
	{"Ageing", testAgeing},
	{"Limits", testLimits},
	{"SetTenantLimit", testSetTenantLimit},
	{"Weights", testWeights},
	{"Cancel", testCancel},
	{"RateBound", testRateBound},
	{"RateWakes", testRateWakes},
	{"RateDebt", testRateDebt},
	{"RateChanged", testRateChanged},
	{"RateCorrected", testRateCorrected},
	{"RateOrder", testRateOrder},
	{"RateHead", testRateHead},
	{"RateRun", testRateRun},
	{"RateIdle", testRateIdle},
	{"Model", testModel},
}

// suite is what a test runs on.
type suite struct {
	open     Open
	anyBytes bool
}

// Run runs the tests, in parallel, each with its own queues.
func Run(t *testing.T, open Open, o Options) {
	t.Helper()
	for _, name := range slices.Concat(o.Skip, o.Only) {
		if !slices.Contains(Names(), name) {
			t.Errorf("queuetest: there is no test %q", name)
		}
	}
	for _, x := range tests {
		if o.Only != nil && !slices.Contains(o.Only, x.name) {
			continue
		}
		t.Run(x.name, func(t *testing.T) {
			if slices.Contains(o.Skip, x.name) {
				t.Skip("this engine does it otherwise")
			}
			t.Parallel()
			x.f(t, &suite{open, o.AnyBytes})
		})
	}
}

// Names returns the names of the tests.
func Names() (names []string) {
	for _, x := range tests {
		names = append(names, x.name)
	}
	return names
}

var opened atomic.Int64

// once is of this process: a server may have queues of others.
var once = rand.Text()[:8]
