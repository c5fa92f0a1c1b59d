package lockfree_test

import (
	"context"
	"fmt"
	"testing"

	"github.com/firq-go/firq"
	"github.com/firq-go/firq/baseline"
	"github.com/firq-go/firq/lockfree"
)

// BenchmarkPair is one goroutine that enqueues burst tasks, of 64 tenants in turn,
// and dequeues them. With burst=1 each task finds its tenant idle. An operation is
// both calls. docs/design.md counts its instructions.
func BenchmarkPair(b *testing.B) { benchmarkPair(b, 1) }

// BenchmarkPairFlows is BenchmarkPair with tasks of eight flows of each tenant.
func BenchmarkPairFlows(b *testing.B) { benchmarkPair(b, 8) }

func benchmarkPair(b *testing.B, flows int) {
	type scheduler = firq.Scheduler[string, uint64]
	cores := map[string]func(firq.Config[string, uint64]) (scheduler, error){
		"lockfree": func(c firq.Config[string, uint64]) (scheduler, error) { return lockfree.New(c) },
		"baseline": func(c firq.Config[string, uint64]) (scheduler, error) { return baseline.New(c) },
	}
	var names [64]string
	for i := range names {
		names[i] = fmt.Sprint("tenant-", i)
	}
	for _, impl := range []string{"lockfree", "baseline"} {
		for _, shards := range []int{1, 2} {
			for _, burst := range []int{1, 1024} {
				b.Run(fmt.Sprintf("impl=%s/shards=%d/burst=%d", impl, shards, burst), func(b *testing.B) {
					s, err := cores[impl](firq.Config[string, uint64]{Shards: shards})
					if err != nil {
						b.Fatal(err)
					}
					b.ReportAllocs()
					for done := 0; done < b.N; done += burst {
						pair(b, s, names[:], flows, done, min(burst, b.N-done))
					}
					if err := s.Close(); err != nil {
						b.Fatal(err)
					}
				})
			}
		}
	}
}

func pair(b *testing.B, s firq.Scheduler[string, uint64], names []string, flows, first, n int) {
	for i := first; i < first+n; i++ {
		if err := s.Enqueue(names[i%len(names)], firq.Task[uint64]{Payload: uint64(i), Flow: uint64(i / len(names) % flows)}); err != nil {
			b.Fatal(err)
		}
	}
	for range n {
		it, err := s.Dequeue(context.Background())
		if err != nil {
			b.Fatal(err)
		}
		it.Done()
	}
}
