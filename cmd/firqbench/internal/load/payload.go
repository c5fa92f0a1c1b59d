package load

import "time"

// A payload tells the consumer what it needs to know of a task without asking
// its tenant's name:
//
//	bits 0-19   index of the tenant
//	bit  20     1: the task is one of those that the scenario looks at by itself
//	bit  21     1: the task does not count in the window, as its producer goes by the clock
//	bits 22-    its own number, so that a sum over payloads proves that
//	            none was lost and another one delivered twice; with Spec.Rate, when
//	            the task was due, in units of dueUnit ns: where two were due at
//	            once they are alike
const (
	tenantMask  = 1<<20 - 1
	focusBit    = 1 << 20
	freeBit     = 1 << 21
	numberShift = 22

	// 42 bits are enough for the longest warm-up and run, an hour each.
	dueUnit = 2
)

// dueOf returns when a task was due, since run.origin.
func dueOf(payload uint64) time.Duration { return time.Duration(payload >> numberShift * dueUnit) }

// random is a small generator per goroutine (xorshift64*): the shared one of
// math/rand would be a lock or a call per task.
type random uint64

func newRandom(seed int) random { return random(uint64(seed)*0x9E3779B97F4A7C15 | 1) }

func (r *random) next() uint64 {
	x := uint64(*r)
	x ^= x >> 12
	x ^= x << 25
	x ^= x >> 27
	*r = random(x)
	return x * 0x2545F4914F6CDD1D
}

// below returns a number in [0, n), n up to 1<<32.
func (r *random) below(n int) int { return int(r.next() >> 32 * uint64(n) >> 32) }
