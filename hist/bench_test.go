package hist

import (
	"io"
	"math/rand/v2"
	"sync"
	"testing"
	"time"

	"github.com/HdrHistogram/hdrhistogram-go"
)

// benchWaits are waits as of a queue under load: 1,024 samples over about ten
// powers of two. The index must be masked.
var benchWaits = func() (w [1024]time.Duration) {
	rng := rand.New(rand.NewPCG(9, 10))
	for i := range w {
		w[i] = 1 + time.Duration(rng.ExpFloat64()*float64(time.Millisecond))
	}
	return w
}()

func BenchmarkLocalRecord(b *testing.B) {
	b.Run("impl=hist", func(b *testing.B) {
		b.ReportAllocs()
		l := NewLocal()
		for i := 0; b.Loop(); i++ {
			l.Record(benchWaits[i&1023])
		}
	})
	b.Run("impl=hdrhistogram", func(b *testing.B) {
		b.ReportAllocs()
		h := hdrhistogram.New(int64(Lowest), int64(Highest), digits)
		for i := 0; b.Loop(); i++ {
			_ = h.RecordValue(int64(benchWaits[i&1023]))
		}
	})
}

func BenchmarkHistogramRecord(b *testing.B) {
	run := func(name string, record func(time.Duration)) {
		b.Run(name, func(b *testing.B) {
			b.ReportAllocs()
			b.RunParallel(func(pb *testing.PB) {
				for i := 0; pb.Next(); i++ {
					record(benchWaits[i&1023])
				}
			})
		})
	}
	run("impl=striped", New().Record)
	var mu sync.Mutex
	l := NewLocal()
	run("impl=mutex", func(d time.Duration) {
		mu.Lock()
		l.Record(d)
		mu.Unlock()
	})
}

func BenchmarkAdd(b *testing.B) {
	b.Run("impl=hist", func(b *testing.B) {
		b.ReportAllocs()
		l, s := NewLocal(), NewSnapshot()
		for _, d := range benchWaits {
			l.Record(d)
		}
		for b.Loop() {
			l.AddTo(s)
		}
	})
	b.Run("impl=hdrhistogram", func(b *testing.B) {
		b.ReportAllocs()
		from := hdrhistogram.New(int64(Lowest), int64(Highest), digits)
		to := hdrhistogram.New(int64(Lowest), int64(Highest), digits)
		for _, d := range benchWaits {
			_ = from.RecordValue(int64(d))
		}
		for b.Loop() {
			to.Merge(from)
		}
	})
}

func BenchmarkSnapshot(b *testing.B) {
	h := New()
	for _, d := range benchWaits {
		h.Record(d)
	}
	s := h.Snapshot()
	b.Run("step=Snapshot", func(b *testing.B) {
		b.ReportAllocs()
		for b.Loop() {
			s = h.Snapshot()
		}
	})
	b.Run("step=QueueTime", func(b *testing.B) {
		b.ReportAllocs()
		for b.Loop() {
			s.QueueTime()
		}
	})
	b.Run("step=WriteLog", func(b *testing.B) {
		b.ReportAllocs()
		for b.Loop() {
			if err := s.WriteLog(io.Discard, "t", time.UnixMilli(1), time.Second); err != nil {
				b.Fatal(err)
			}
		}
	})
}
