package hist

import (
	"math"
	"math/bits"
	"time"
)

// The range. What lies outside counts as Lowest or Highest.
const (
	Lowest  = time.Nanosecond
	Highest = time.Hour
)

// The layout of HdrHistogram for 3 digits: 2,048 is the smallest power of two
// that resolves 2 x 10^3 values. Durations below it have a slot each; from there
// on each power of two is divided into 1,024 slots, so a slot is never wider
// than 1/1,024 of the durations in it.
const (
	digits  = 3
	rowBits = 10
	rowLen  = 1 << rowBits
	rowMask = rowLen - 1
	rows    = 33 // Highest falls into the last one

	maxCount = math.MaxInt64 // where total stops: HdrHistogram's counts are signed
)

type row [rowLen]int64

// counts is one histogram without any lock; Local, the stripes of Histogram and
// Snapshot are made of it. The zero value is empty and ready.
//
// The scalars come first: together with the mutex of a stripe they fill one
// cache line, so that recording touches that line, one row pointer and one slot.
type counts struct {
	total        int64  // samples; the sum of all slots, and so no slot can overflow
	sumLo, sumHi uint64 // sum of the samples in ns, 128 bits: 64 are too few for a busy day
	min, max     int64  // ns, exact; min is meaningless while total is 0
	rows         [rows]*row
}

// slot returns the index of the slot that holds v, Lowest <= v <= Highest.
func slot(v int64) int {
	shift := uint(bits.Len64(uint64(v)|(2*rowLen-1)) - (rowBits + 1))
	return int(shift<<rowBits) + int(v>>(shift&63)) // &63 spares the check for large shifts
}

// bounds returns the smallest and the largest value in ns of slot i.
func bounds(i int) (lo, hi int64) {
	shift := max(i>>rowBits-1, 0)
	sub := int64(i - shift<<rowBits)
	return sub << shift, (sub+1)<<shift - 1
}

func clamp(d time.Duration) int64 {
	return int64(min(max(d, Lowest), Highest))
}

func (c *counts) recordN(d time.Duration, n int64) {
	n = min(n, maxCount-c.total)
	if n <= 0 {
		return
	}
	v := clamp(d)
	c.note(v, v)
	c.total += n
	c.addSum(bits.Mul64(uint64(v), uint64(n)))
	i := slot(v)
	r := c.rows[i>>rowBits]
	if r == nil {
		r = c.grow(i >> rowBits)
	}
	r[i&rowMask] += n
}

// note widens min and max. It comes before total changes, which says whether
// min means anything yet.
func (c *counts) note(lo, hi int64) {
	if hi > c.max {
		c.max = hi
	}
	if lo < c.min || c.total == 0 {
		c.min = lo
	}
}

func (c *counts) addSum(hi, lo uint64) {
	var carry uint64
	c.sumLo, carry = bits.Add64(c.sumLo, lo, 0)
	c.sumHi += hi + carry // cannot overflow: 2^63 samples below 2^42
}

func (c *counts) grow(i int) *row {
	c.rows[i] = new(row)
	return c.rows[i]
}

// add adds all of o, which may be c itself.
func (c *counts) add(o *counts) {
	if o.total == 0 {
		return
	}
	if o.total > maxCount-c.total {
		c.fill(o)
		return
	}
	c.note(o.min, o.max)
	c.total += o.total
	c.addSum(o.sumHi, o.sumLo)
	for i, from := range &o.rows {
		if from == nil {
			continue
		}
		to := c.rows[i]
		if to == nil {
			to = c.grow(i)
		}
		for j := range from {
			to[j] += from[j]
		}
	}
}

// fill adds the smallest samples of o until recordN stops at maxCount. Only more
// than 2^63 samples lead here, so each slot goes in by its lower bound: the sum
// is no longer exact.
func (c *counts) fill(o *counts) {
	for i, from := range &o.rows {
		if from == nil {
			continue
		}
		for j := range from {
			lo, _ := bounds(i<<rowBits + j)
			c.recordN(time.Duration(lo), from[j])
		}
	}
	c.note(o.min, o.max)
}

// missing returns the rows that o has and c has not, as a set of bits.
func (c *counts) missing(o *counts) (set uint64) {
	for i := range &o.rows {
		if o.rows[i] != nil && c.rows[i] == nil {
			set |= 1 << i
		}
	}
	return set
}
