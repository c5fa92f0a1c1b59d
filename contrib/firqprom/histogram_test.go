package firqprom_test

import (
	"math"
	"testing"
	"time"

	"github.com/prometheus/client_golang/prometheus"
	dto "github.com/prometheus/client_model/go"
	"pgregory.net/rapid"

	"github.com/firq-go/firq"
	"github.com/firq-go/firq/contrib/firqprom"
	"github.com/firq-go/firq/hist"
	"github.com/firq-go/firq/metrics/metricstest"
)

// queueTime collects the histogram of q.
func queueTime(t rapid.TB, q firq.QueueTime, native bool) *dto.Histogram {
	t.Helper()
	src := metricstest.Of(firq.Stats[string]{QueueTime: q})
	c, err := firqprom.New(src, firqprom.Options[string]{NativeHistogram: native})
	if err != nil {
		t.Fatal(err)
	}
	reg := prometheus.NewPedanticRegistry()
	if err := reg.Register(c); err != nil {
		t.Fatal(err)
	}
	families, err := reg.Gather()
	if err != nil {
		t.Fatal(err)
	}
	for _, f := range families {
		if f.GetName() == "firq_queue_time_ns" {
			return f.Metric[0].GetHistogram()
		}
	}
	t.Fatal("no histogram")
	return nil
}

// expand returns the native buckets by their upper bounds.
func expand(h *dto.Histogram) map[float64]uint64 {
	buckets := map[float64]uint64{}
	i, count, d := 0, int64(0), 0
	for _, span := range h.PositiveSpan {
		i += int(span.GetOffset())
		for range span.GetLength() {
			count += h.PositiveDelta[d]
			if count != 0 {
				buckets[math.Exp2(float64(i)/math.Exp2(float64(h.GetSchema())))] = uint64(count)
			}
			d, i = d+1, i+1
		}
	}
	return buckets
}

// TestHistogram: of any samples, both kinds of buckets say how many were not
// above a classic bound, the native ones to 9 %.
func TestHistogram(t *testing.T) {
	rapid.Check(t, func(t *rapid.T) {
		local := hist.NewLocal()
		for _, v := range rapid.SliceOfN(rapid.Int64Range(0, int64(2*time.Hour)), 0, 50).Draw(t, "waits") {
			shift := rapid.IntRange(0, 40).Draw(t, "shift")
			local.RecordN(time.Duration(v>>shift), rapid.Int64Range(1, 1<<40).Draw(t, "times"))
		}
		snap := hist.NewSnapshot()
		local.AddTo(snap)
		q := snap.QueueTime()
		h := queueTime(t, q, true)

		if h.GetSampleCount() != q.Samples || h.GetSampleSum() != float64(q.Sum) {
			t.Fatalf("count %d and sum %v of %d samples of sum %v", h.GetSampleCount(), h.GetSampleSum(), q.Samples, q.Sum)
		}
		native := expand(h)
		var upTo, total uint64
		for i, b := range q.Buckets {
			upTo += b.Count
			if c := h.Bucket[i]; c.GetUpperBound() != float64(b.UpperBound) || c.GetCumulativeCount() != upTo {
				t.Fatalf("%d up to %v, want %d up to %v", c.GetCumulativeCount(), c.GetUpperBound(), upTo, b.UpperBound)
			}
			var n uint64
			for bound, count := range native {
				if bound < float64(b.UpperBound)*math.Exp2(1.0/8)*(1+1e-12) {
					n += count
				}
			}
			if n != upTo {
				t.Fatalf("the native buckets hold %d up to %v and 9 %%, want %d", n, b.UpperBound, upTo)
			}
		}
		for bound, count := range native {
			total += count
			if bound < 1000 {
				t.Fatalf("%d samples up to %v ns: below the first bound", count, bound)
			}
		}
		if total != q.Samples {
			t.Fatalf("the native buckets hold %d of %d samples", total, q.Samples)
		}
	})
}

// A power of two is a bound: what is not above it is in its bucket.
func TestNativeBounds(t *testing.T) {
	for _, c := range []struct {
		upper time.Duration
		want  float64
	}{
		{0, 1}, {1, 1}, {2, 2}, {1024, 1024}, {1 << 40, 1 << 40},
		{1025, 1024 * math.Exp2(1.0/8)}, {1023, 1024},
	} {
		h := queueTime(t, firq.QueueTime{Samples: 3, Buckets: []firq.Bucket{{UpperBound: c.upper, Count: 3}}}, true)
		if got := expand(h); len(got) != 1 || got[c.want] != 3 {
			t.Errorf("up to %v: %v, want 3 up to %v", int64(c.upper), got, c.want)
		}
	}
}

// An empty histogram must look native too: a series that becomes native with its
// first sample would be a mix.
func TestNativeEmpty(t *testing.T) {
	h := queueTime(t, hist.NewSnapshot().QueueTime(), true)
	if h.Schema == nil || h.GetZeroThreshold() == 0 {
		t.Errorf("an empty histogram does not look native: %v", h)
	}
}

func TestNativeIsOptional(t *testing.T) {
	h := queueTime(t, metricstest.Queue().QueueTime, false)
	if h.Schema != nil || h.ZeroThreshold != nil || len(h.PositiveSpan) != 0 || len(h.Bucket) != 3 {
		t.Errorf("native buckets without the option: %v", h)
	}
}

// The durations of handlers are in seconds, below 1 too.
func TestNativePool(t *testing.T) {
	reg := pedantic(t, everyKind(t, firqprom.Options[string]{NativeHistogram: true})["pool"].c)
	families, err := reg.Gather()
	if err != nil {
		t.Fatal(err)
	}
	for _, f := range families {
		if f.GetName() != "firq_pool_handler_duration_seconds" {
			continue
		}
		got := expand(f.Metric[0].GetHistogram())
		for bound, count := range got { // 1 us, and twice 1.5 s, which is in the bucket up to 2 s
			small := bound >= 1e-6 && bound < 1.1e-6 && count == 1
			if !small && (bound != 2 || count != 2) {
				t.Errorf("%d up to %v", count, bound)
			}
		}
		if len(got) != 2 {
			t.Errorf("%v", got)
		}
		return
	}
	t.Fatal("no histogram")
}
