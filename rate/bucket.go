package rate

import (
	"math"
	"time"
)

// bucket is what one tenant has used: tokens spent since an instant at which the burst was
// whole, and what has come back since is multiplied out anew each time. So no rounding
// adds up, however often it is asked, and costs and debts are integers. (The usual form of
// GCRA, one instant at which the burst will be whole, loses a token of a picosecond in
// nanoseconds, and in a float64 of seconds.)
//
// Invariant: 0 <= spent, and spent minus what has come back is what is used: at most the
// burst, unless there is a debt.
type bucket struct {
	since int64   // when all had come back, in nanoseconds
	spent int64   // since then
	rate  float64 // Limit.PerSecond by which it comes back
}

// maxBack bounds what a bucket counts as come back before it counts anew, so that spent
// does not overflow by use, only by a debt, where it saturates.
const maxBack = 1 << 61

// used returns what is used now, by a rate that may have changed: what is owed stays the
// same number then.
func (b *bucket) used(now int64, rate float64) int64 {
	back := tokens(b.rate, now-b.since)
	if back >= b.spent {
		*b = bucket{max(now, b.since), 0, rate} // max: clocks are read before the lock is taken
		return 0
	}
	used := b.spent - back
	if rate != b.rate || back > maxBack {
		*b = bucket{max(now, b.since), used, rate} // less than a token is lost
	}
	return used
}

// needs returns how much must come back, of all that is spent, before a call of this cost
// passes, after calls that take ahead.
func (b *bucket) needs(burst, cost, ahead int64) int64 {
	spent := add(b.spent, ahead)
	if cost > burst {
		return spent // the burst has to be whole
	}
	return spent - (burst - cost)
}

// ready returns when so much will have come back; math.MaxInt64: not in 146 years.
func (b *bucket) ready(needs int64) int64 { return add(b.since, after(b.rate, needs)) }

// take takes cost if there is enough.
func (b *bucket) take(now int64, limit Limit, cost int64) bool {
	if used := b.used(now, limit.PerSecond); used > 0 && (cost > limit.Burst || used > limit.Burst-cost) {
		return false
	}
	b.spent = add(b.spent, cost)
	return true
}

// result returns how it stands with a bucket of this limit.
func (l Limit) result(now, spent, since int64) Result {
	return Result{
		Limit:     l,
		Remaining: max(0, l.Burst-max(0, spent-tokens(l.PerSecond, now-since))),
		Reset:     time.Duration(max(0, add(since, about(l.PerSecond, spent))-now)),
	}
}

// giveBack gives n back, at most until all is there.
func (b *bucket) giveBack(now, n int64) {
	used := b.used(now, b.rate)
	b.spent -= min(n, used)
}

// tokens returns how much comes back in that many nanoseconds, rounded down.
func tokens(rate float64, ns int64) int64 {
	if ns <= 0 {
		return 0
	}
	f := rate * float64(ns) / 1e9
	if f >= 1<<63 {
		return math.MaxInt64
	}
	return int64(f)
}

// after is the inverse: the fewest nanoseconds in which n come back, to within the
// precision of a float64, and never too few.
func after(rate float64, n int64) int64 {
	if n <= 0 {
		return 0
	}
	ns := about(rate, n)
	if ns == math.MaxInt64 {
		return ns
	}
	for tokens(rate, ns) < n {
		ns += 1 + ns>>52
	}
	if tokens(rate, ns-1) >= n {
		ns--
	}
	return ns
}

// about is after, maybe a nanosecond off.
func about(rate float64, n int64) int64 {
	f := float64(n) / rate * 1e9
	if f >= 1<<62 {
		return math.MaxInt64
	}
	return int64(math.Ceil(f))
}

// add adds numbers that are not negative, and saturates.
func add(a, b int64) int64 {
	if a > math.MaxInt64-b {
		return math.MaxInt64
	}
	return a + b
}
