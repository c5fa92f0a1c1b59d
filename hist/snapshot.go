package hist

import (
	"math"
	"math/bits"
	"time"

	"github.com/firq-go/firq"
)

// Snapshot holds the samples of a Histogram or some Locals at one time. By convention it
// does not change any more once it has been handed on: any number of goroutines
// may then read it. The zero value is empty and ready.
type Snapshot struct{ c counts }

// NewSnapshot returns an empty Snapshot, to merge others into.
func NewSnapshot() *Snapshot { return new(Snapshot) }

// Merge adds all samples of o to s, as if they had been recorded there; o does
// not change. Beyond 2^63-1 samples in total, samples of o are left out.
func (s *Snapshot) Merge(o *Snapshot) { s.c.add(&o.c) }

// Count returns the number of samples.
func (s *Snapshot) Count() uint64 { return uint64(s.c.total) }

// Sum returns the exact sum of all samples, or the largest Duration (292 years)
// if it is more than that.
func (s *Snapshot) Sum() time.Duration {
	if s.c.sumHi != 0 || s.c.sumLo > math.MaxInt64 {
		return math.MaxInt64
	}
	return time.Duration(s.c.sumLo)
}

// Mean returns the arithmetic mean rounded down to 1 ns, 0 when empty. It is
// exact also where Sum is not.
func (s *Snapshot) Mean() time.Duration {
	if s.c.total == 0 {
		return 0
	}
	mean, _ := bits.Div64(s.c.sumHi, s.c.sumLo, uint64(s.c.total))
	return time.Duration(mean)
}

// Min returns the smallest sample, exactly; 0 when empty.
func (s *Snapshot) Min() time.Duration {
	if s.c.total == 0 {
		return 0
	}
	return time.Duration(s.c.min)
}

// Max returns the largest sample, exactly; 0 when empty.
func (s *Snapshot) Max() time.Duration {
	return time.Duration(s.c.max)
}

// Quantile returns the smallest duration such that at least the share q of all
// samples is not above it: the sample of rank ceil(q x Count), or up to 0.1 %
// more, but never more than Max. q of 0 or below (or NaN) gives Min, 1 or above
// gives Max; an empty Snapshot gives 0.
func (s *Snapshot) Quantile(q float64) time.Duration {
	switch {
	case s.c.total == 0:
		return 0
	case q >= 1:
		return s.Max()
	case !(q > 0): // NaN too
		return s.Min()
	}
	v := s.c.valueOfRank(rank(q, s.c.total))
	return time.Duration(min(v, s.c.max))
}

// rank returns ceil(q x total), from 1 to total, for 0 < q < 1. A product that
// is a whole number may come out a little above it (0.07 x 100), hence the step
// down; it also keeps the rank below any total, whatever float64 rounds it to.
func rank(q float64, total int64) int64 {
	return max(int64(math.Ceil(math.Nextafter(q, 0)*float64(total))), 1)
}

// valueOfRank returns the largest value of the slot that holds the sample of the
// given rank, 1 <= rank <= total.
func (c *counts) valueOfRank(rank int64) int64 {
	for i, r := range &c.rows {
		if r == nil {
			continue
		}
		for j := range r {
			if rank -= r[j]; rank <= 0 {
				_, hi := bounds(i<<rowBits + j)
				return hi
			}
		}
	}
	panic("firq: hist: the slots hold fewer samples than were counted")
}

// QueueTime returns the summary that firq.Stats carries.
func (s *Snapshot) QueueTime() firq.QueueTime {
	return firq.QueueTime{
		Sum:     s.Sum(),
		P50:     s.Quantile(0.50),
		P95:     s.Quantile(0.95),
		P99:     s.Quantile(0.99),
		P999:    s.Quantile(0.999),
		Max:     s.Max(),
		Samples: s.Count(),
		Buckets: s.Buckets(),
	}
}
