package firqprom

import (
	"math"
	"time"

	"github.com/prometheus/client_golang/prometheus"
	dto "github.com/prometheus/client_model/go"

	"github.com/firq-go/firq"
)

// schema is the resolution of the native buckets: 2^schema to each power of two.
// Finer ones would pretend: the classic buckets they are made from are 2 to 2.5
// wide.
const schema = 3

// histogram has classic buckets and, if native is not nil, those of a
// native histogram as well, which client_golang makes only one at a time as
// constant metrics. Immutable.
type histogram struct {
	prometheus.Metric // with the classic buckets
	native            *dto.Histogram
}

// Write writes both kinds of buckets.
func (h histogram) Write(out *dto.Metric) error {
	if err := h.Metric.Write(out); err != nil || h.native == nil {
		return err
	}
	to := out.GetHistogram()
	to.Schema, to.ZeroThreshold, to.ZeroCount = h.native.Schema, h.native.ZeroThreshold, h.native.ZeroCount
	to.PositiveSpan, to.PositiveDelta = h.native.PositiveSpan, h.native.PositiveDelta
	return nil
}

// newHistogram returns the histogram of q in that unit. Its count is that of the
// buckets, which are to hold all samples, so that it is consistent in itself in
// any case.
func newHistogram(desc *prometheus.Desc, q *firq.QueueTime, unit time.Duration, native bool, labels ...string) prometheus.Metric {
	var count uint64
	upTo := make(map[float64]uint64, len(q.Buckets))
	for _, b := range q.Buckets {
		count += b.Count
		if b.UpperBound < math.MaxInt64 { // which is no bound
			upTo[in(unit, b.UpperBound)] = count
		}
	}
	sum := in(unit, q.Sum)
	classic := prometheus.MustNewConstHistogram(desc, count, sum, upTo, labels...)
	if !native {
		return classic
	}
	return histogram{classic, newNative(desc, q.Buckets, count, sum, unit, labels)}
}

// in returns d in a unit: 1 (ns), or time.Second.
func in(unit, d time.Duration) float64 { return float64(d) / float64(unit) }

// newNative returns a histogram with native buckets only.
func newNative(desc *prometheus.Desc, buckets []firq.Bucket, count uint64, sum float64, unit time.Duration, labels []string) *dto.Histogram {
	at := make(map[int]int64, len(buckets))
	for _, b := range buckets {
		if b.Count > 0 { // an empty bucket would only take up room
			at[index(in(unit, max(b.UpperBound, 1)))] += int64(b.Count)
		}
	}
	var m dto.Metric
	_ = prometheus.MustNewConstNativeHistogram(desc, count, sum, at, nil, 0, schema,
		prometheus.DefNativeHistogramZeroThreshold, time.Time{}, labels...).Write(&m) // it cannot fail
	return m.Histogram
}

// index returns the native bucket that holds v > 0: the least i with v <= 2^(i/8).
func index(v float64) int {
	return int(math.Ceil(math.Log2(v) * (1 << schema)))
}
