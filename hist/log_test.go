package hist

import (
	"bytes"
	"errors"
	"math/rand/v2"
	"regexp"
	"slices"
	"strings"
	"testing"
	"time"

	"github.com/HdrHistogram/hdrhistogram-go"
)

// filled returns a snapshot of n samples over the whole range.
func filled(n int) *Snapshot {
	rng := rand.New(rand.NewPCG(7, 8))
	l, s := NewLocal(), NewSnapshot()
	for range n {
		l.Record(time.Duration(shapes["loguniform"](rng)))
	}
	l.Record(Lowest)
	l.Record(Highest)
	l.AddTo(s)
	return s
}

func TestLogReadBack(t *testing.T) {
	start := time.UnixMilli(1_700_000_000_250)
	big, small := filled(5000), NewSnapshot()
	small.c.recordN(42*time.Millisecond, 17)
	var buf bytes.Buffer
	if err := WriteLogHeader(&buf, start); err != nil {
		t.Fatal(err)
	}
	type line struct {
		s      *Snapshot
		tag    string
		start  time.Time
		length time.Duration
	}
	lines := []line{
		{big, "tenant-a", start, time.Second},
		{small, "", start.Add(time.Second), 1500 * time.Millisecond},
		{NewSnapshot(), "idle", start.Add(2 * time.Second), 0},
	}
	for _, l := range lines {
		if err := l.s.WriteLog(&buf, l.tag, l.start, l.length); err != nil {
			t.Fatal(err)
		}
	}
	r := hdrhistogram.NewHistogramLogReader(&buf)
	for i, l := range lines {
		h, err := r.NextIntervalHistogram()
		if err != nil || h == nil {
			t.Fatalf("line %d: %v, %v", i, h, err)
		}
		if h.Tag() != l.tag {
			t.Errorf("line %d: tag %q, want %q", i, h.Tag(), l.tag)
		}
		// The reader cuts off what its floating point leaves below 1 ms.
		near := func(ms int64, want time.Time) bool { d := want.UnixMilli() - ms; return d == 0 || d == 1 }
		if !near(h.StartTimeMs(), l.start) || !near(h.EndTimeMs(), l.start.Add(l.length)) {
			t.Errorf("line %d: from %d to %d ms", i, h.StartTimeMs(), h.EndTimeMs())
		}
		if h.LowestTrackableValue() != int64(Lowest) || h.HighestTrackableValue() != int64(Highest) || h.SignificantFigures() != digits {
			t.Errorf("line %d: another range", i)
		}
		if got := h.TotalCount(); uint64(got) != l.s.Count() {
			t.Errorf("line %d: %d samples, want %d", i, got, l.s.Count())
		}
		if !slices.Equal(h.Export().Counts, l.s.hdr().Export().Counts) {
			t.Errorf("line %d: other counts", i)
		}
	}
	if h, err := r.NextIntervalHistogram(); h != nil || err != nil {
		t.Errorf("after the last line: %v, %v", h, err)
	}
}

// Each line is readable without the header.
func TestLogLineFormat(t *testing.T) {
	s := NewSnapshot()
	s.c.recordN(2*time.Millisecond, 1)
	var buf bytes.Buffer
	if err := s.WriteLog(&buf, "a", time.UnixMilli(1_700_000_000_250), 1500*time.Millisecond); err != nil {
		t.Fatal(err)
	}
	want := regexp.MustCompile(`^Tag=a,1700000000\.250000,1\.500000,2\.000\d+,HIST[A-Za-z0-9+/=]+\n$`)
	if !want.MatchString(buf.String()) {
		t.Errorf("line %q does not match %s", buf.String(), want)
	}
}

// What goes to HdrHistogram must be the same histogram: it and we agree.
func TestHdrAgrees(t *testing.T) {
	s := filled(5000)
	h := s.hdr()
	for _, q := range []float64{0.5, 0.9, 0.99, 0.999} {
		if got, want := int64(s.Quantile(q)), h.ValueAtPercentile(q*100); float64(max(got-want, want-got)) > float64(want)/100 {
			t.Errorf("Quantile(%v) = %d, HdrHistogram says %d", q, got, want)
		}
	}
}

func TestLogRefuses(t *testing.T) {
	s, now := filled(1), time.UnixMilli(1_700_000_000_000)
	var buf bytes.Buffer
	for name, err := range map[string]error{
		"comma":           s.WriteLog(&buf, "a,b", now, 0),
		"comma at end":    s.WriteLog(&buf, "a,", now, 0),
		"space":           s.WriteLog(&buf, " a", now, 0),
		"line break":      s.WriteLog(&buf, "a\n", now, 0),
		"no start":        s.WriteLog(&buf, "", time.Time{}, 0),
		"negative length": s.WriteLog(&buf, "", now, -1),
		"header":          WriteLogHeader(&buf, time.Time{}),
	} {
		if err == nil {
			t.Errorf("%s: no error", name)
		}
	}
	if buf.Len() != 0 {
		t.Errorf("wrote %q", buf.String())
	}
}

type fullDisk struct{ err error }

func (f fullDisk) Write([]byte) (int, error) { return 0, f.err }

func TestWriteErrors(t *testing.T) {
	w := fullDisk{errors.New("no space")}
	s, now := filled(1), time.UnixMilli(1_700_000_000_000)
	for name, err := range map[string]error{
		"WriteLog":         s.WriteLog(w, "", now, 0),
		"WriteLogHeader":   WriteLogHeader(w, now),
		"WritePercentiles": s.WritePercentiles(w),
	} {
		if !errors.Is(err, w.err) {
			t.Errorf("%s: %v", name, err)
		}
	}
}

func TestWritePercentiles(t *testing.T) {
	l, s := NewLocal(), NewSnapshot()
	l.RecordN(100*time.Microsecond, 99)
	l.RecordN(time.Millisecond, 1)
	l.AddTo(s)
	var buf bytes.Buffer
	if err := s.WritePercentiles(&buf); err != nil {
		t.Fatal(err)
	}
	out := strings.Join(strings.Fields(buf.String()), " ")
	for _, want := range []string{
		"Value Percentile TotalCount 1/(1-Percentile)",
		"100.031 0.500000 99 2.00", // us, upper end of the slot
		"1000.447 1.000000 100 inf",
		"Total count = 100]",
	} {
		if !strings.Contains(out, want) {
			t.Errorf("no %q in\n%s", want, buf.String())
		}
	}
}
