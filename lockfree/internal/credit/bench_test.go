package credit

import (
	"sync/atomic"
	"testing"
)

// counter is what Pool is instead of: one word for all callers.
type counter struct{ left atomic.Int64 }

func (c *counter) Take() bool {
	for {
		n := c.left.Load()
		if n == 0 {
			return false
		}
		if c.left.CompareAndSwap(n, n-1) {
			return true
		}
	}
}

func (c *counter) Give(n int) { c.left.Add(int64(n)) }

type limit interface {
	Take() bool
	Give(n int)
}

func benchmark(b *testing.B, capacity int, f func(l limit, pb *testing.PB)) {
	c := new(counter)
	c.left.Store(int64(capacity))
	for _, impl := range []struct {
		name string
		limit
	}{{"pool", New(capacity)}, {"counter", c}} {
		b.Run("impl="+impl.name, func(b *testing.B) {
			b.ReportAllocs()
			b.RunParallel(func(pb *testing.PB) { f(impl.limit, pb) })
		})
	}
}

// With plenty of credit: what each task costs.
func BenchmarkTakeGive(b *testing.B) {
	benchmark(b, 65_536, func(l limit, pb *testing.PB) {
		for pb.Next() {
			if l.Take() {
				l.Give(1)
			}
		}
	})
}

// With one credit, which all callers want: where the pool is at its worst.
func BenchmarkScarce(b *testing.B) {
	benchmark(b, 1, func(l limit, pb *testing.PB) {
		for pb.Next() {
			if l.Take() {
				l.Give(1)
			}
		}
	})
}

// With none: what a rejection costs.
func BenchmarkRefused(b *testing.B) {
	benchmark(b, 0, func(l limit, pb *testing.PB) {
		for pb.Next() {
			l.Take()
		}
	})
}
