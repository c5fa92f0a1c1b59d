package firqprom_test

import (
	"fmt"
	"sync"
	"sync/atomic"
	"testing"

	"github.com/firq-go/firq"
	"github.com/firq-go/firq/contrib/firqprom"
	"github.com/firq-go/firq/metrics/metricstest"
)

// Scrapes that overlap with each other and with calls of the scheduler are
// consistent: counters only grow from one scrape to the next, and the histogram
// is one in itself.
func TestConcurrentCollect(t *testing.T) {
	for name, newScheduler := range metricstest.Cores {
		t.Run(name, func(t *testing.T) {
			s := newScheduler(t, firq.Config[string, string]{MaxGlobal: 64, MaxPerTenant: 16, Shards: 2})
			reg := pedantic(t, collector(t, s, firqprom.Options[string]{NativeHistogram: true}))
			var stop atomic.Bool
			var load, scrapes sync.WaitGroup
			load.Go(func() {
				for i := 0; !stop.Load(); i++ {
					_ = s.Enqueue(fmt.Sprint("t", i%5), firq.Task[string]{})
					if i%3 != 0 {
						s.TryDequeue()
					}
				}
			})
			for range 3 {
				scrapes.Go(func() {
					var last float64
					for range 100 {
						families, err := reg.Gather()
						if err != nil {
							t.Error(err)
							return
						}
						for _, f := range families {
							switch f.GetName() {
							case "firq_enqueued_total":
								now := f.Metric[0].GetCounter().GetValue()
								if now < last {
									t.Errorf("%s fell from %v to %v", f.GetName(), last, now)
								}
								last = now
							case "firq_queue_time_ns":
								h := f.Metric[0].GetHistogram()
								if n := h.Bucket[len(h.Bucket)-1].GetCumulativeCount(); n != h.GetSampleCount() {
									t.Errorf("the buckets hold %d of %d samples", n, h.GetSampleCount())
								}
							}
						}
					}
				})
			}
			scrapes.Wait()
			stop.Store(true)
			load.Wait()
		})
	}
}
