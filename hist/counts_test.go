package hist

import (
	"encoding/binary"
	"math"
	"testing"
	"time"

	"github.com/HdrHistogram/hdrhistogram-go"
)

// The log format numbers the slots, so ours must be HdrHistogram's, all of them.
func TestSlotsAreHdrHistograms(t *testing.T) {
	ref := hdrhistogram.New(int64(Lowest), int64(Highest), digits)
	if got := len(ref.Export().Counts); got != rows*rowLen {
		t.Fatalf("HdrHistogram has %d slots, we have %d", got, rows*rowLen)
	}
	// A sample in the last slot makes Distribution list them all.
	lo, _ := bounds(rows*rowLen - 1)
	if err := ref.RecordValue(lo); err != nil {
		t.Fatal(err)
	}
	bars := ref.Distribution()
	if len(bars) != rows*rowLen {
		t.Fatalf("HdrHistogram lists %d slots, want %d", len(bars), rows*rowLen)
	}
	for i, b := range bars {
		if lo, hi := bounds(i); lo != b.From || hi != b.To {
			t.Fatalf("slot %d is [%d, %d], HdrHistogram's [%d, %d]", i, lo, hi, b.From, b.To)
		}
		if slot(b.From) != i || slot(b.To) != i {
			t.Fatalf("slot(%d) = %d, slot(%d) = %d, want %d", b.From, slot(b.From), b.To, slot(b.To), i)
		}
	}
	if last := slot(int64(Highest)) >> rowBits; last != rows-1 {
		t.Errorf("Highest is in row %d of %d", last, rows)
	}
}

func TestClamp(t *testing.T) {
	for _, c := range []struct{ d, want time.Duration }{
		{0, Lowest},
		{-1, Lowest},
		{math.MinInt64, Lowest},
		{Lowest, Lowest},
		{Highest, Highest},
		{Highest + 1, Highest},
		{math.MaxInt64, Highest},
	} {
		l, h := NewLocal(), New()
		l.Record(c.d)
		l.RecordN(c.d, 2)
		h.Record(c.d)
		s := h.Snapshot()
		l.AddTo(s)
		if s.Count() != 4 || s.Sum() != 4*c.want || s.Min() != c.want || s.Max() != c.want || s.Quantile(0.5) != c.want {
			t.Errorf("4 x %d: Count %d Sum %d Min %d Max %d P50 %d, want all at %d",
				c.d, s.Count(), s.Sum(), s.Min(), s.Max(), s.Quantile(0.5), c.want)
		}
	}
}

func TestRecordN(t *testing.T) {
	l := NewLocal()
	l.RecordN(time.Hour, 0)
	l.RecordN(time.Hour, -5)
	l.RecordN(3*time.Microsecond, 7)
	l.RecordN(time.Second, 1_000_000_000)
	s := NewSnapshot()
	l.AddTo(s)
	if want := 7*3*time.Microsecond + 1_000_000_000*time.Second; s.Count() != 1_000_000_007 || s.Sum() != want {
		t.Errorf("Count %d Sum %d, want 1000000007 and %d", s.Count(), s.Sum(), want)
	}
	if s.Min() != 3*time.Microsecond || s.Max() != time.Second {
		t.Errorf("Min %v Max %v", s.Min(), s.Max())
	}
}

// Sum stops at the largest Duration; Mean goes on.
func TestSumSaturates(t *testing.T) {
	l := NewLocal()
	l.RecordN(time.Hour, 2_000_000)
	s := NewSnapshot()
	l.AddTo(s)
	if want := 2_000_000 * time.Hour; s.Sum() != want {
		t.Fatalf("Sum = %d, want %d", s.Sum(), want)
	}
	l.RecordN(time.Hour, 1_000_000) // past 2^63 ns
	s = NewSnapshot()
	l.AddTo(s)
	if s.Sum() != math.MaxInt64 || s.Mean() != time.Hour {
		t.Errorf("Sum %d, Mean %v", s.Sum(), s.Mean())
	}
	all := NewLocal()
	all.RecordN(time.Hour, 5_124_095)
	all.RecordAll([]time.Duration{time.Hour, time.Hour}) // past 2^64
	s = NewSnapshot()
	all.AddTo(s)
	if s.Mean() != time.Hour {
		t.Errorf("RecordAll: Mean %v", s.Mean())
	}
	l.RecordN(time.Hour, 2_124_095)
	l.Record(time.Hour) // past 2^64
	s = NewSnapshot()
	l.AddTo(s)
	if s.Sum() != math.MaxInt64 || s.Mean() != time.Hour {
		t.Errorf("Sum %d, Mean %v", s.Sum(), s.Mean())
	}
	l = NewLocal()
	l.RecordN(time.Hour, 4_000_000)
	l.RecordN(time.Hour, 4_000_000) // past 2^64 in one step
	l.AddTo(s)
	s.Merge(s)
	if s.Sum() != math.MaxInt64 || s.Mean() != time.Hour || s.Count() != 2*(5_124_096+8_000_000) {
		t.Errorf("Sum %d, Mean %v, Count %d", s.Sum(), s.Mean(), s.Count())
	}
}

// The total stops at 2^63-1, and the slots with it.
func TestCountSaturates(t *testing.T) {
	check := func(step string, c *counts) {
		t.Helper()
		s := Snapshot{c: *c}
		if n := c.between(0, rows*rowLen-1); s.Count() != math.MaxInt64 || n != math.MaxInt64 {
			t.Errorf("%s: Count %d, slots %d", step, s.Count(), n)
		}
	}
	l := NewLocal()
	l.RecordN(time.Millisecond, math.MaxInt64-10)
	l.RecordN(time.Hour, math.MaxInt64)
	check("RecordN", &l.c)
	l.Record(time.Second)
	check("Record", &l.c)
	all := NewLocal()
	all.RecordN(time.Millisecond, math.MaxInt64-2)
	all.RecordAll([]time.Duration{1, 2, 3})
	check("RecordAll", &all.c)
	s := NewSnapshot()
	l.AddTo(s)
	s.Merge(s)
	check("Merge", &s.c)
	if got, want := s.Quantile(0.5), time.Millisecond; got < want || got > want+want/1000 {
		t.Errorf("P50 = %v, want %v", got, want)
	}
	part := NewSnapshot()
	part.c.recordN(time.Minute, 1)
	part.Merge(s)
	check("Merge into some", &part.c)
	if part.Min() > time.Millisecond || part.Max() != Highest {
		t.Errorf("Min %v Max %v", part.Min(), part.Max())
	}
}

// A histogram pays only for the powers of two it has seen.
func TestRowsOnDemand(t *testing.T) {
	used := func(c *counts) (n int) {
		for _, r := range c.rows {
			if r != nil {
				n++
			}
		}
		return n
	}
	l := NewLocal()
	if n := used(&l.c); n != 0 {
		t.Errorf("an empty Local has %d rows", n)
	}
	l.RecordN(0, 0)
	l.Record(time.Millisecond)
	l.Record(time.Millisecond + 1)
	if n := used(&l.c); n != 1 {
		t.Errorf("a Local with one power of two has %d rows", n)
	}
	s := NewSnapshot()
	if set := s.c.missing(&l.c); set != 1<<10 { // 2^19 to 2^20 ns
		t.Errorf("the rows %b are missing in an empty Snapshot", set)
	}
	l.AddTo(s)
	if set := s.c.missing(&l.c); set != 0 {
		t.Errorf("the rows %b are still missing", set)
	}
	if n := used(&s.c); n != 1 {
		t.Errorf("its Snapshot has %d rows", n)
	}
}

// FuzzLocal compares with a plain list of samples; each 8 bytes are a duration.
func FuzzLocal(f *testing.F) {
	f.Add([]byte{})
	f.Add(binary.LittleEndian.AppendUint64(nil, 1<<63))
	var seed []byte
	for i := range 64 {
		seed = binary.LittleEndian.AppendUint64(seed, 1<<i-uint64(i%3))
	}
	f.Add(seed)
	f.Fuzz(func(t *testing.T, data []byte) {
		l := NewLocal()
		var samples []int64
		for ; len(data) >= 8 && len(samples) < 1<<16; data = data[8:] {
			d := time.Duration(binary.LittleEndian.Uint64(data))
			l.Record(d)
			samples = append(samples, min(max(int64(d), int64(Lowest)), int64(Highest)))
		}
		s := NewSnapshot()
		l.AddTo(s)
		checkAgainst(t, s, samples)
	})
}
