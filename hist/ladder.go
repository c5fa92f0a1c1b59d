package hist

import (
	"time"

	"github.com/firq-go/firq"
)

// ladder holds the bounds of Buckets, ends the last slot of each: computed once,
// read only.
var ladder, ends = newLadder()

func newLadder() (bounds []time.Duration, ends []int) {
	for unit := time.Microsecond; unit <= Highest; unit *= 10 {
		for _, step := range [...]time.Duration{1, 2, 5} {
			if b := step * unit; b < Highest {
				bounds = append(bounds, b)
			}
		}
	}
	bounds = append(bounds, Highest)
	for _, b := range bounds {
		ends = append(ends, slot(int64(b)))
	}
	return bounds, ends
}

// Buckets returns the samples in 30 buckets for an exporter, in ascending order
// and the same for every Snapshot, empty ones included: up to 1, 2, 5, 10, 20,
// 50 us and so on up to 1,000 s, 2,000 s and 1 h, which is Highest. The counts
// are not cumulative and add up to Count.
//
// A sample that equals a bound is in that bound's bucket, and so may be one that
// is above it by less than the resolution of 0.1 %.
func (s *Snapshot) Buckets() []firq.Bucket {
	buckets := make([]firq.Bucket, len(ladder))
	from := 0
	for b, end := range ends {
		buckets[b] = firq.Bucket{UpperBound: ladder[b], Count: s.c.between(from, end)}
		from = end + 1
	}
	return buckets
}

// between returns the number of samples in the slots from first to last.
func (c *counts) between(first, last int) (n uint64) {
	for i := first >> rowBits; i <= last>>rowBits; i++ {
		if c.rows[i] == nil {
			continue
		}
		lo := max(first-i<<rowBits, 0)
		hi := min(last-i<<rowBits, rowMask)
		for _, k := range c.rows[i][lo : hi+1] {
			n += uint64(k)
		}
	}
	return n
}
