package gate

import (
	"context"
	"sync"
	"testing"

	"golang.org/x/sync/semaphore"
)

// BenchmarkUncontended is one goroutine that takes a permit and gives it back.
func BenchmarkUncontended(b *testing.B) {
	ctx := context.Background()
	b.Run("impl=gate", func(b *testing.B) {
		g := New[string](4, Config[string]{})
		b.ReportAllocs()
		for b.Loop() {
			p, err := g.Acquire(ctx, "a", Request{})
			if err != nil {
				b.Fatal(err)
			}
			p.Release()
		}
	})
	b.Run("impl=semaphore", func(b *testing.B) {
		s := semaphore.NewWeighted(4)
		b.ReportAllocs()
		for b.Loop() {
			if err := s.Acquire(ctx, 1); err != nil {
				b.Fatal(err)
			}
			s.Release(1)
		}
	})
	b.Run("impl=gate/inflight=1", func(b *testing.B) { // everything through the queue
		g := New[string](4, Config[string]{MaxInFlightPerTenant: 1})
		b.ReportAllocs()
		for b.Loop() {
			p, err := g.Acquire(ctx, "a", Request{})
			if err != nil {
				b.Fatal(err)
			}
			p.Release()
		}
	})
}

// BenchmarkContended is 8 goroutines of 8 tenants for 2 slots: nearly every
// permit is waited for.
func BenchmarkContended(b *testing.B) {
	const workers, slots = 8, 2
	ctx := context.Background()
	run := func(b *testing.B, once func(i int)) {
		b.ReportAllocs()
		var wg sync.WaitGroup
		for i := range workers {
			n := b.N / workers
			wg.Go(func() {
				for range n {
					once(i)
				}
			})
		}
		wg.Wait()
	}
	names := [workers]string{"a", "b", "c", "d", "e", "f", "g", "h"}
	b.Run("impl=gate", func(b *testing.B) {
		g := New[string](slots, Config[string]{})
		run(b, func(i int) {
			p, err := g.Acquire(ctx, names[i], Request{})
			if err != nil {
				b.Error(err)
			}
			p.Release()
		})
	})
	b.Run("impl=semaphore", func(b *testing.B) {
		s := semaphore.NewWeighted(slots)
		run(b, func(int) {
			if err := s.Acquire(ctx, 1); err != nil {
				b.Error(err)
			}
			s.Release(1)
		})
	})
}
