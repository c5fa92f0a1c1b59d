package lockfree_test

import (
	"context"
	"fmt"
	"testing"

	"github.com/firq-go/firq"
	"github.com/firq-go/firq/baseline"
	"github.com/firq-go/firq/lockfree"
)

// BenchmarkPair measures one goroutine that enqueues burst tasks, of 64 tenants in turn,
// and dequeues them. With burst=1 each task finds its tenant idle. An operation is
// both calls. docs/design/cost.md counts its instructions.
func BenchmarkPair(b *testing.B) { benchmarkPair(b, 1) }

// BenchmarkPairFlows is BenchmarkPair with eight flows per tenant.
func BenchmarkPairFlows(b *testing.B) { benchmarkPair(b, 8) }

func benchmarkPair(b *testing.B, flows int) {
	names := tenants()
	for _, burst := range []int{1, 1024} {
		each(b, fmt.Sprintf("burst=%d", burst), func(b *testing.B, s scheduler) {
			for done := 0; done < b.N; done += burst {
				pair(b, s, names, flows, done, min(burst, b.N-done))
			}
		})
	}
}

// BenchmarkPairBatch measures one goroutine that enqueues 1,024 tasks, 32 of each of 32 tenants
// at a time, and dequeues them, 32 at a time. The time per operation is that of one
// task: its part of both calls.
func BenchmarkPairBatch(b *testing.B) {
	const batch, burst = 32, 1024
	names := tenants()
	each(b, fmt.Sprintf("batch=%d", batch), func(b *testing.B, s scheduler) {
		var tasks [batch]firq.Task[int]
		var items [batch]firq.Item[string, int]
		for done := 0; done < b.N; done += burst {
			for i := range burst / batch {
				if _, err := s.EnqueueBatch(names[(done/batch+i)%len(names)], tasks[:]); err != nil {
					b.Fatal(err)
				}
			}
			for left := burst; left > 0; {
				n, err := s.DequeueBatch(context.Background(), items[:])
				if err != nil {
					b.Fatal(err)
				}
				for i := range items[:n] {
					items[i].Done()
				}
				left -= n
			}
		}
	})
}

type scheduler = firq.Scheduler[string, int]

// each runs a benchmark with each scheduler, with one shard and with two.
func each(b *testing.B, name string, run func(b *testing.B, s scheduler)) {
	cores := map[string]func(firq.Config[string, int]) (scheduler, error){
		"lockfree": func(c firq.Config[string, int]) (scheduler, error) { return lockfree.New(c) },
		"baseline": func(c firq.Config[string, int]) (scheduler, error) { return baseline.New(c) },
	}
	for _, impl := range []string{"lockfree", "baseline"} {
		for _, shards := range []int{1, 2} {
			b.Run(fmt.Sprintf("impl=%s/shards=%d/%s", impl, shards, name), func(b *testing.B) {
				s, err := cores[impl](firq.Config[string, int]{Shards: shards})
				if err != nil {
					b.Fatal(err)
				}
				b.ReportAllocs()
				run(b, s)
				if err := s.Close(); err != nil {
					b.Fatal(err)
				}
			})
		}
	}
}

// tenants returns the names of 64 tenants.
func tenants() []string {
	names := make([]string, 64)
	for i := range names {
		names[i] = fmt.Sprint("tenant-", i)
	}
	return names
}

func pair(b *testing.B, s firq.Scheduler[string, int], names []string, flows, first, n int) {
	for i := first; i < first+n; i++ {
		if err := s.Enqueue(names[i%len(names)], firq.Task[int]{Payload: i, Flow: uint64(i / len(names) % flows)}); err != nil {
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
