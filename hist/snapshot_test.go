package hist

import (
	"math"
	"math/rand/v2"
	"slices"
	"testing"
	"time"
)

// shapes are distributions of durations in ns that queues are known to have.
var shapes = map[string]func(*rand.Rand) int64{
	"constant":    func(*rand.Rand) int64 { return 123_456_789 },
	"exponential": func(r *rand.Rand) int64 { return 1 + int64(r.ExpFloat64()*2e6) },
	"loguniform":  func(r *rand.Rand) int64 { return int64(math.Exp(r.Float64() * math.Log(float64(Highest)))) },
	"nanoseconds": func(r *rand.Rand) int64 { return 1 + r.Int64N(4000) },
	"twomodes": func(r *rand.Rand) int64 {
		if r.IntN(100) == 0 {
			return int64(time.Second) + r.Int64N(1e6)
		}
		return 20_000 + r.Int64N(5_000)
	},
}

// checker is a *testing.T or a *rapid.T.
type checker interface {
	Helper()
	Errorf(format string, args ...any)
}

// checkAgainst compares s with the samples in ns that went into it.
func checkAgainst(t checker, s *Snapshot, samples []int64) {
	t.Helper()
	slices.Sort(samples)
	n := len(samples)
	var sum int64
	for _, v := range samples {
		sum += v
	}
	if got := s.Count(); got != uint64(n) {
		t.Errorf("Count = %d, want %d", got, n)
	}
	if got := s.Sum(); int64(got) != sum {
		t.Errorf("Sum = %d, want %d", got, sum)
	}
	if n == 0 {
		return
	}
	if got, want := int64(s.Min()), samples[0]; got != want {
		t.Errorf("Min = %d, want %d", got, want)
	}
	if got, want := int64(s.Max()), samples[n-1]; got != want {
		t.Errorf("Max = %d, want %d", got, want)
	}
	if got, want := int64(s.Mean()), sum/int64(n); got != want {
		t.Errorf("Mean = %d, want %d", got, want)
	}
	const den = 10_000
	for _, num := range []int{0, 1, 10, 70, 700, 2500, 5000, 5500, 9000, 9500, 9900, 9990, 9999, den} {
		// The rank in whole numbers, so that rounding in rank shows.
		want := samples[max((num*n+den-1)/den, 1)-1]
		got := int64(s.Quantile(float64(num) / den))
		if got < want || float64(got-want) > float64(want)/1000+1 {
			t.Errorf("Quantile(%d/%d) of %d samples = %d, want %d to 0.1 %% more", num, den, n, got, want)
		}
	}
}

func TestQuantileAgainstSorted(t *testing.T) {
	for name, shape := range shapes {
		t.Run(name, func(t *testing.T) {
			rng := rand.New(rand.NewPCG(1, 2))
			for _, n := range []int{1, 2, 3, 100, 10_000} {
				l := NewLocal()
				samples := make([]int64, n)
				for i := range samples {
					samples[i] = shape(rng)
					l.Record(time.Duration(samples[i]))
				}
				s := NewSnapshot()
				l.AddTo(s)
				checkAgainst(t, s, samples)
			}
		})
	}
}

func TestQuantileOutOfRange(t *testing.T) {
	s := NewSnapshot()
	for _, q := range []float64{-1, 0, 0.5, 1, 2, math.NaN()} {
		if got := s.Quantile(q); got != 0 {
			t.Errorf("empty: Quantile(%v) = %v, want 0", q, got)
		}
	}
	if s.Min() != 0 || s.Max() != 0 || s.Mean() != 0 || s.Sum() != 0 || s.Count() != 0 {
		t.Error("empty: Min, Max, Mean, Sum, Count are not all 0")
	}
	l := NewLocal()
	l.Record(time.Millisecond)
	l.Record(time.Second)
	l.AddTo(s)
	for q, want := range map[float64]time.Duration{
		-1: time.Millisecond, math.Inf(-1): time.Millisecond, math.SmallestNonzeroFloat64: time.Millisecond,
		2: time.Second, math.Inf(1): time.Second,
	} {
		if got := s.Quantile(q); got < want || got > want+want/1000 {
			t.Errorf("Quantile(%v) = %v, want %v", q, got, want)
		}
	}
	if got := s.Quantile(math.NaN()); got != time.Millisecond {
		t.Errorf("Quantile(NaN) = %v, want Min", got)
	}
}

// A rank above the total would have no slot.
func TestRankStaysBelowTotal(t *testing.T) {
	q := math.Nextafter(1, 0)
	for _, total := range []int64{1, 2, 1<<52 + 1, 1<<53 - 1, 1<<53 + 3, 1<<62 + 511, math.MaxInt64} {
		if r := rank(q, total); r < 1 || r > total || total-r > total>>50 {
			t.Errorf("rank(%v, %d) = %d", q, total, r)
		}
	}
}

func TestMerge(t *testing.T) {
	rng := rand.New(rand.NewPCG(3, 4))
	all := NewSnapshot()
	all.Merge(NewSnapshot()) // nothing into nothing
	var samples []int64
	for _, shape := range []string{"exponential", "twomodes", "nanoseconds"} {
		part := NewSnapshot()
		l := NewLocal()
		var own []int64
		for range 1000 {
			v := shapes[shape](rng)
			own = append(own, v)
			l.Record(time.Duration(v))
		}
		l.AddTo(part)
		samples = append(samples, own...)
		all.Merge(part)
		checkAgainst(t, all, samples)
		checkAgainst(t, part, own) // unchanged
	}
	all.Merge(NewSnapshot()) // an empty one must not reset Min
	checkAgainst(t, all, samples)
	all.Merge(all)
	checkAgainst(t, all, append(samples, samples...))
}

// A Snapshot must not share its slots with what goes on being recorded into.
func TestSnapshotIsIndependent(t *testing.T) {
	l, h := NewLocal(), New()
	l.Record(time.Millisecond)
	h.Record(time.Millisecond)
	fromLocal, fromHist := NewSnapshot(), h.Snapshot()
	l.AddTo(fromLocal)
	merged := NewSnapshot()
	merged.Merge(fromLocal)
	for range 100 {
		l.Record(time.Millisecond)
		h.Record(time.Millisecond)
		l.AddTo(fromLocal)
	}
	for name, s := range map[string]*Snapshot{"Histogram": fromHist, "Merge": merged} {
		if n := s.c.between(0, rows*rowLen-1); n != 1 || s.Count() != 1 {
			t.Errorf("%s: %d samples in slots, Count %d, want 1", name, n, s.Count())
		}
	}
}

func TestQueueTime(t *testing.T) {
	l := NewLocal()
	for i := range 10_000 {
		l.Record(time.Duration(i+1) * time.Microsecond)
	}
	s := NewSnapshot()
	l.AddTo(s)
	qt := s.QueueTime()
	for _, c := range []struct {
		name      string
		got, want time.Duration
	}{
		{"P50", qt.P50, 5_000 * time.Microsecond},
		{"P95", qt.P95, 9_500 * time.Microsecond},
		{"P99", qt.P99, 9_900 * time.Microsecond},
		{"P999", qt.P999, 9_990 * time.Microsecond},
	} {
		if c.got < c.want || c.got > c.want+c.want/1000 {
			t.Errorf("%s = %v, want %v", c.name, c.got, c.want)
		}
	}
	if qt.Max != 10*time.Millisecond || qt.Samples != 10_000 || qt.Sum != 50_005*time.Millisecond {
		t.Errorf("Max %v, Samples %d, Sum %v", qt.Max, qt.Samples, qt.Sum)
	}
	if len(qt.Buckets) != len(ladder) {
		t.Errorf("%d buckets, want %d", len(qt.Buckets), len(ladder))
	}
}
