package hist_test

import (
	"fmt"
	"sync"
	"time"

	"github.com/firq-go/firq/hist"
)

// Many goroutines record, and any goroutine looks.
func Example() {
	h := hist.New()
	var wg sync.WaitGroup
	for worker := range 4 {
		wg.Go(func() {
			for i := worker; i < 1000; i += 4 {
				h.Record(time.Duration(i+1) * time.Millisecond)
			}
		})
	}
	wg.Wait()
	s := h.Snapshot()
	fmt.Println("samples", s.Count(), "sum", s.Sum())
	fmt.Println("p50", s.Quantile(0.50).Round(time.Millisecond))
	fmt.Println("p99", s.Quantile(0.99).Round(time.Millisecond))
	fmt.Println("max", s.Max())
	// Output:
	// samples 1000 sum 8m20.5s
	// p50 500ms
	// p99 990ms
	// max 1s
}

// Each shard records under the lock that it holds anyway; a Snapshot of all
// shards together is their sum.
func ExampleLocal() {
	type shard struct {
		mu    sync.Mutex
		waits hist.Local
	}
	shards := make([]shard, 2)
	for i := range shards {
		sh := &shards[i]
		sh.mu.Lock()
		sh.waits.RecordN(time.Duration(i+1)*10*time.Microsecond, 50)
		sh.mu.Unlock()
	}
	all := hist.NewSnapshot()
	for i := range shards {
		shards[i].mu.Lock()
		shards[i].waits.AddTo(all)
		shards[i].mu.Unlock()
	}
	fmt.Println(all.Count(), all.Min(), all.Mean(), all.Max())
	for _, b := range all.Buckets() {
		if b.Count > 0 {
			fmt.Println("up to", b.UpperBound, b.Count)
		}
	}
	// Output:
	// 100 10µs 15µs 20µs
	// up to 10µs 50
	// up to 20µs 50
}
