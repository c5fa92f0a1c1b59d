package arrivals

import (
	"math"
	"slices"
	"testing"
	"time"

	"pgregory.net/rapid"
)

// all returns the arrivals of all streams before end, in order.
func all(s Schedule, end time.Duration) (times []time.Duration) {
	for i := range s.Streams {
		st := s.Stream(i)
		for at := st.Next(); at < end; at = st.Next() {
			times = append(times, at)
		}
	}
	slices.Sort(times)
	return times
}

func between(times []time.Duration, from, to time.Duration) (n int) {
	for _, t := range times {
		if t >= from && t < to {
			n++
		}
	}
	return n
}

// Equal intervals, whatever the number of streams.
func TestConstant(t *testing.T) {
	for _, streams := range []int{1, 3, 8} {
		times := all(Schedule{Shape: Constant, Rate: 1000, Streams: streams}, time.Second)
		if len(times) != 1000 {
			t.Fatalf("%d streams: %d arrivals in 1s, want 1000", streams, len(times))
		}
		for i, at := range times[1:] {
			if gap := at - times[i]; gap < 999*time.Microsecond || gap > 1001*time.Microsecond {
				t.Fatalf("%d streams: arrival %d after %v, want 1ms", streams, i+1, gap)
			}
		}
	}
}

// Every shape has the mean rate over the time that it is to be measured in, and
// is where it should be.
func TestShapes(t *testing.T) {
	const warmup, measure = time.Second, 4 * time.Second
	for _, c := range []struct {
		shape Shape
		// part of the arrivals in the second half of the window
		late, tolerance float64
	}{{Constant, 0.5, 0.001}, {Poisson, 0.5, 0.02}, {Bursty, 0.5, 0.02}, {Ramp, 4.0 / 6, 0.001}} {
		times := all(Schedule{Shape: c.shape, Rate: 10_000, Streams: 4, Mid: warmup + measure/2}, warmup+measure)
		n := between(times, warmup, warmup+measure)
		if math.Abs(float64(n)-40_000) > 40_000*c.tolerance {
			t.Errorf("%s: %d arrivals, want about 40000", c.shape, n)
		}
		late := float64(between(times, warmup+measure/2, warmup+measure)) / float64(n)
		if math.Abs(late-c.late) > c.tolerance {
			t.Errorf("%s: %.3f of them in the second half, want %.3f", c.shape, late, c.late)
		}
	}
}

// Exponential intervals have a standard deviation as large as their mean.
func TestPoissonVaries(t *testing.T) {
	times := all(Schedule{Shape: Poisson, Rate: 10_000, Streams: 5}, 5*time.Second)
	var sum, squares float64
	for i, at := range times[1:] {
		gap := float64(at - times[i])
		sum += gap
		squares += gap * gap
	}
	n := float64(len(times) - 1)
	mean := sum / n
	if cv := math.Sqrt(squares/n-mean*mean) / mean; cv < 0.97 || cv > 1.03 {
		t.Errorf("coefficient of variation %.3f, want about 1", cv)
	}
}

func TestBurstyIsSilentBetween(t *testing.T) {
	for _, at := range all(Schedule{Shape: Bursty, Rate: 10_000, Streams: 3}, time.Second) {
		if phase := at % BurstPeriod; phase > time.Duration(float64(BurstPeriod)*BurstPart) {
			t.Fatalf("an arrival %v after the start of a burst", phase)
		}
	}
}

// Arrivals never go back, and contestants get the same ones.
func TestStreams(t *testing.T) {
	rapid.Check(t, func(t *rapid.T) {
		s := Schedule{
			Shape: rapid.SampledFrom(Shapes()).Draw(t, "shape"), Rate: rapid.Float64Range(0.001, MaxRate).Draw(t, "rate"),
			Streams: rapid.IntRange(1, 100).Draw(t, "streams"), Mid: time.Duration(rapid.Int64Range(1, int64(2*time.Hour)).Draw(t, "mid")),
		}
		i := rapid.IntRange(0, s.Streams-1).Draw(t, "stream")
		a, b := s.Stream(i), s.Stream(i)
		for last := time.Duration(0); a.n < 100; {
			at := a.Next()
			if at < last || at != b.Next() {
				t.Fatalf("%+v, stream %d: %v after %v", s, i, at, last)
			}
			last = at
		}
	})
}

func TestParse(t *testing.T) {
	for text, want := range map[string]float64{"800": 800, "50k": 50e3, "50k/s": 50e3, "1.5M/s": 1.5e6, "0.5": 0.5, "1e3": 1000} {
		if got, err := ParseRate(text); err != nil || got != want {
			t.Errorf("ParseRate(%q) = %v, %v, want %v", text, got, err, want)
		}
	}
	for _, bad := range []string{"", "0", "-1", "k", "NaN", "Inf", "2000M", "5/m", "5kk", "50 k"} {
		if got, err := ParseRate(bad); err == nil {
			t.Errorf("ParseRate(%q) = %v", bad, got)
		}
	}
	for rate, want := range map[float64]string{800: "800/s", 50e3: "50k/s", 1.5e6: "1.5M/s", 0.5: "0.5/s"} {
		if got := FormatRate(rate); got != want {
			t.Errorf("FormatRate(%v) = %s, want %s", rate, got, want)
		}
	}
	for _, s := range Shapes() {
		if got, err := ParseShape(string(s)); err != nil || got != s {
			t.Errorf("ParseShape(%q) = %v, %v", s, got, err)
		}
	}
	if got, err := ParseShape("Poisson"); err == nil {
		t.Errorf("ParseShape(Poisson) = %v", got)
	}
}
