// Package schedtest is the contract of package firq as a test suite. Whoever
// implements firq.Scheduler runs it, best under the race detector:
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
// The subtests are named after the part of the contract that they test. A
// call that should have returned is given ten seconds, so that a lost wake-up
// is a failure of one subtest and not a hang; a subtest that hangs in a call
// that takes no context fails with the stacks of all goroutines. Comparisons
// with the model (subtests model/...) print the seed and the shortest sequence
// of calls that they found to go wrong.
//
// # What it cannot test
//
// Whether user code runs under a lock shows only where it calls back; whether a
// parked consumer costs CPU, and how long a call may take, are benchmarks. The
// suite does not know which shard a tenant lives on.
//
// Run, RunPayload and RunLeaks may not be called from a parallel test: they count
// allocations and watch the heap.
package schedtest
