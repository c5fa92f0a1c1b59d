package hist

import (
	"math/bits"
	"time"
)

// Local is a histogram for one writer at a time: it has no lock, the
// caller's protects it. Recording takes about 5 ns and allocates only when a
// duration is the first of its power of two (8 kB, at most 33 times). The zero
// value is empty and ready.
type Local struct{ c counts }

// NewLocal returns an empty Local.
func NewLocal() *Local { return new(Local) }

// Record counts d, clamped to [Lowest, Highest]. Under the caller's lock.
func (l *Local) Record(d time.Duration) {
	c := &l.c
	if c.total == maxCount {
		return
	}
	v := clamp(d)
	c.note(v, v)
	c.total++
	var carry uint64
	c.sumLo, carry = bits.Add64(c.sumLo, uint64(v), 0)
	c.sumHi += carry
	i := slot(v)
	r := c.rows[i>>rowBits]
	if r == nil {
		r = c.grow(i >> rowBits)
	}
	r[i&rowMask]++
}

// RecordAll counts each of ds, as Record does, for half the price if they are many. Under the caller's lock.
func (l *Local) RecordAll(ds []time.Duration) {
	c := &l.c
	if len(ds) == 0 || int64(len(ds)) > maxCount-c.total {
		for _, d := range ds {
			l.Record(d)
		}
		return
	}
	lo, hi := int64(Highest), int64(Lowest)
	sumLo, sumHi := c.sumLo, c.sumHi
	for _, d := range ds {
		v := clamp(d)
		lo, hi = min(lo, v), max(hi, v)
		var carry uint64
		sumLo, carry = bits.Add64(sumLo, uint64(v), 0)
		sumHi += carry
		i := slot(v)
		r := c.rows[i>>rowBits]
		if r == nil {
			r = c.grow(i >> rowBits)
		}
		r[i&rowMask]++
	}
	c.note(lo, hi)
	c.total += int64(len(ds))
	c.sumLo, c.sumHi = sumLo, sumHi
}

// RecordN counts d n times; n below 1 does nothing. The total number of samples
// stops at 2^63-1. Under the caller's lock.
func (l *Local) RecordN(d time.Duration, n int64) { l.c.recordN(d, n) }

// AddTo adds everything recorded so far to s, and keeps it. Under the caller's
// lock, and as a write to s: below 1 us for each power of two in use, more when
// s has to grow for it.
func (l *Local) AddTo(s *Snapshot) { s.c.add(&l.c) }
