// Package schedtest is the contract of package firq as a test suite. Run it on an
// implementation of firq.Scheduler, preferably under the race detector:
//
//	func TestScheduler(t *testing.T) {
//		schedtest.Run(t, lockfree.New[string, int])
//	}
//
//	func TestSchedulerPayload(t *testing.T) {
//		schedtest.RunPayload(t, lockfree.New[string, *[1 << 16]byte])
//	}
//
//	func TestSchedulerLeaks(t *testing.T) {
//		schedtest.RunLeaks(t, lockfree.New[string, int])
//	}
//
//	func TestSchedulerPanics(t *testing.T) {
//		schedtest.RunPanics(t, lockfree.New[any, int])
//	}
//
// # Reading a failure
//
// The subtests are named after the part of the contract that they test. A call that
// should have returned gets ten seconds, so a lost wake-up is a failure of one subtest
// and not a hang. A subtest that hangs in a call without a context fails with the
// stacks of all goroutines. Comparisons with the model (subtests model/...) print the
// seed and the shortest failing sequence of calls that they found. Most checks enqueue by
// key, by handle or by both, as a seed draws that Run and RunPanics print: with it in the
// variable FIRQ_SEED they draw the same again.
//
// # What it cannot test
//
// Whether user code runs under a lock shows only where that code calls back. Whether a
// parked consumer costs CPU, and how long a call may take, are questions for
// benchmarks. The suite does not know which shard a tenant lives on.
//
// Do not call Run, RunPayload and RunLeaks from a parallel test: they count allocations
// and watch the heap.
package schedtest
