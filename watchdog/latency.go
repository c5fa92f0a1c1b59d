package watchdog

import (
	"math"
	"time"
)

// bin holds samples that were at least from.
type bin struct {
	from time.Duration
	n    uint64
}

// summarize reads a histogram. A quantile is the lower bound of the bin that
// holds the sample of rank ceil(q x samples), so it is never too high.
func summarize(bins []bin, q float64) Latency {
	var l Latency
	for _, b := range bins {
		l.Samples += b.n
		if b.n > 0 {
			l.Max = b.from
		}
	}
	if l.Samples == 0 {
		return l
	}
	l.P50, l.Tail = ranked(bins, l.Samples, 0.5), ranked(bins, l.Samples, q)
	return l
}

func ranked(bins []bin, total uint64, q float64) (d time.Duration) {
	rank := uint64(max(math.Ceil(q*float64(total)), 1))
	for _, b := range bins {
		if b.n > 0 {
			d = b.from
		}
		if rank <= b.n {
			break
		}
		rank -= b.n
	}
	return d
}

// grown returns by how much a counter grew. A counter that went back was
// restarted from 0.
func grown(old, now uint64) uint64 {
	if now < old {
		return now
	}
	return now - old
}
