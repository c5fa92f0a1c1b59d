package watchdog

import (
	"math"
	"slices"
	"testing"
	"time"

	"pgregory.net/rapid"

	"github.com/firq-go/firq"
)

// TestSummarize: a quantile is the lower bound of the bucket in which the sample
// of that rank is.
func TestSummarize(t *testing.T) {
	rapid.Check(t, func(t *rapid.T) {
		const width = 10
		samples := rapid.SliceOf(rapid.IntRange(0, 79)).Draw(t, "samples")
		q := rapid.SampledFrom([]float64{0.01, 0.5, 0.9, 0.99, 1}).Draw(t, "q")
		bs := make([]bin, 8)
		for i := range bs {
			bs[i].from = time.Duration(i * width)
		}
		for _, s := range samples {
			bs[s/width].n++
		}
		got := summarize(bs, q)
		var want Latency
		if slices.Sort(samples); len(samples) > 0 {
			at := func(q float64) time.Duration {
				rank := max(int(math.Ceil(q*float64(len(samples)))), 1)
				return time.Duration(samples[rank-1] / width * width)
			}
			want = Latency{P50: at(0.5), Tail: at(q), Max: at(1), Samples: uint64(len(samples))}
		}
		if got != want {
			t.Fatalf("%v of %v: %+v, want %+v", q, samples, got, want)
		}
	})
}

func TestWaits(t *testing.T) {
	old := []firq.Bucket{{UpperBound: 1, Count: 5}, {UpperBound: 2, Count: 7}, {UpperBound: 5, Count: 9}}
	now := []firq.Bucket{{UpperBound: 1, Count: 5}, {UpperBound: 2, Count: 9}, {UpperBound: 5, Count: 3}}
	if got, want := waits(old, now), []bin{{0, 0}, {1, 2}, {2, 3}}; !slices.Equal(got, want) {
		t.Errorf("waits: %v, want %v (the last one was restarted)", got, want)
	}
	if got, want := waits(nil, now), []bin{{0, 5}, {1, 9}, {2, 3}}; !slices.Equal(got, want) {
		t.Errorf("waits without an earlier reading: %v, want %v", got, want)
	}
}

func TestSince(t *testing.T) {
	old := reading{latencies: []bin{{0, 1}, {10, 2}}}
	now := reading{latencies: []bin{{0, 4}, {10, 2}}}
	if got, want := now.since(old), []bin{{0, 3}, {10, 0}}; !slices.Equal(got, want) {
		t.Errorf("since: %v, want %v", got, want)
	}
	if got, want := now.latencies, []bin{{0, 4}, {10, 2}}; !slices.Equal(got, want) {
		t.Errorf("since changed the reading to %v, want %v", got, want)
	}
	if got := (reading{}).since(reading{}); len(got) != 0 {
		t.Errorf("since without the metric: %v", got)
	}
}

func TestSeconds(t *testing.T) {
	for s, want := range map[float64]time.Duration{
		math.Inf(-1): 0, -1: 0, 0: 0, 6.4e-08: 64, 0.1: 100 * ms, 1: time.Second,
		1e30: math.MaxInt64, math.Inf(1): math.MaxInt64,
	} {
		if got := seconds(s); got != want {
			t.Errorf("%v s are %v, want %v", s, got, want)
		}
	}
}

// TestRuntimeMetrics reads this Go's metrics, and one that it does not have.
func TestRuntimeMetrics(t *testing.T) {
	m := newRuntimeMetrics()
	r := m.read()
	if len(r.latencies) == 0 || r.goroutines < 1 || r.processors < 1 {
		t.Errorf("%d buckets, %d goroutines, %d processors", len(r.latencies), r.goroutines, r.processors)
	}
	if !slices.IsSortedFunc(r.latencies, func(a, b bin) int { return int(min(max(a.from-b.from, -1), 1)) }) {
		t.Errorf("the buckets are not in order: %v", r.latencies)
	}
	first := slices.Clone(r.latencies)
	done := make(chan bool)
	for range 1000 {
		go func() { done <- true }()
		<-done
	}
	if again := m.read(); summarize(again.since(r), 1).Samples == 0 {
		t.Error("a thousand goroutines ran and the runtime recorded none of them")
	}
	if !slices.Equal(first, r.latencies) {
		t.Error("a second reading wrote over the first")
	}

	for i := range m.samples {
		m.samples[i].Name = "/sched/nothing-of-this-name:seconds"
	}
	if r := m.read(); r.latencies != nil || r.goroutines != -1 || r.runnable != -1 || r.processors != -1 {
		t.Errorf("without the metrics: %+v", r)
	}
}
