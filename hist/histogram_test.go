package hist

import (
	"sync"
	"sync/atomic"
	"testing"
	"time"
	"unsafe"
)

// Recorders and a reader at the same time; each snapshot must be consistent in itself and
// not behind the one before, and the last one exact.
func TestConcurrent(t *testing.T) {
	const goroutines, perGoroutine = 8, 5_000
	h := New()
	var done atomic.Bool
	var recorders, reader sync.WaitGroup
	reader.Go(func() {
		var last uint64
		for !done.Load() {
			s := h.Snapshot()
			if n := s.c.between(0, rows*rowLen-1); n != s.Count() {
				t.Errorf("%d samples in slots, Count %d", n, s.Count())
				return
			}
			if s.Count() < last {
				t.Errorf("Count went from %d to %d", last, s.Count())
				return
			}
			last = s.Count()
		}
	})
	for g := range goroutines {
		recorders.Go(func() {
			for i := range perGoroutine {
				// Spread over the rows, so that stripes grow during snapshots.
				h.Record(time.Duration(i+1) << (2 * g))
			}
		})
	}
	recorders.Wait()
	done.Store(true)
	reader.Wait()
	var samples []int64
	for g := range goroutines {
		for i := range perGoroutine {
			samples = append(samples, int64(i+1)<<(2*g))
		}
	}
	checkAgainst(t, h.Snapshot(), samples)
}

// A recorder must not wait for a stripe that another recorder holds while another one
// is free; with all of them held, it must wait and lose nothing.
func TestRecordAvoidsHeldStripes(t *testing.T) {
	h := newStriped(4)
	if len(h.stripes) != 4 {
		t.Fatalf("%d stripes, want 4", len(h.stripes))
	}
	for free := range h.stripes {
		for i := range h.stripes {
			if i != free {
				h.stripes[i].mu.Lock()
			}
		}
		before := h.stripes[free].c.c.total
		for range 50 { // would not return if it waited
			h.Record(time.Millisecond)
		}
		if got := h.stripes[free].c.c.total - before; got != 50 {
			t.Errorf("stripe %d got %d of 50 samples", free, got)
		}
		for i := range h.stripes {
			if i != free {
				h.stripes[i].mu.Unlock()
			}
		}
	}
	for i := range h.stripes {
		h.stripes[i].mu.Lock()
	}
	var waiting sync.WaitGroup
	for range 10 {
		waiting.Go(func() { h.Record(time.Second) })
	}
	for i := range h.stripes {
		h.stripes[i].mu.Unlock()
	}
	waiting.Wait()
	if s := h.Snapshot(); s.Count() != 4*50+10 || s.Max() != time.Second {
		t.Errorf("Count %d Max %v, want 210 and 1s", s.Count(), s.Max())
	}
}

// Processors must be given different stripes: the same one for all would be one
// mutex for all.
func TestStripesAreHandedOutInTurn(t *testing.T) {
	h := newStriped(8)
	given := make(map[any]bool)
	for range h.stripes {
		given[h.near.New()] = true
	}
	if len(given) != len(h.stripes) {
		t.Errorf("%d of %d stripes were handed out", len(given), len(h.stripes))
	}
}

func TestStripeCount(t *testing.T) {
	for procs, want := range map[int]int{1: 2, 2: 2, 3: 4, 8: 8, 9: 16, 64: 64, 200: 64} {
		if got := len(newStriped(procs).stripes); got != want {
			t.Errorf("%d processors: %d stripes, want %d", procs, got, want)
		}
	}
}

// Neighbouring stripes must not share a cache line, and what each Record touches
// besides row and slot must fit into one.
func TestStripeLayout(t *testing.T) {
	var st stripe
	if size := unsafe.Sizeof(st); size%128 != 0 {
		t.Errorf("a stripe is %d bytes, not a multiple of 128", size)
	}
	if hot := unsafe.Offsetof(st.c) + unsafe.Offsetof(st.c.c.rows); hot > 64 {
		t.Errorf("the fields before rows take %d bytes", hot)
	}
}

func TestRecordDoesNotAllocate(t *testing.T) {
	l, h := NewLocal(), newStriped(2)
	durations := []time.Duration{0, 900, time.Microsecond, time.Millisecond, time.Second, 2 * time.Hour}
	for _, d := range durations {
		l.Record(d)
		for i := range h.stripes {
			h.stripes[i].c.Record(d) // each stripe has its own rows
		}
	}
	for name, f := range map[string]func(time.Duration){
		"Local.Record":     l.Record,
		"Local.RecordN":    func(d time.Duration) { l.RecordN(d, 3) },
		"Local.RecordAll":  func(d time.Duration) { l.RecordAll([]time.Duration{d, d}) },
		"Histogram.Record": h.Record,
	} {
		i := 0
		if n := testing.AllocsPerRun(200, func() { f(durations[i%len(durations)]); i++ }); n != 0 {
			t.Errorf("%s allocates %v times", name, n)
		}
	}
	s := NewSnapshot()
	l.AddTo(s)
	if n := testing.AllocsPerRun(20, func() { l.AddTo(s) }); n != 0 {
		t.Errorf("AddTo a grown Snapshot allocates %v times", n)
	}
}
