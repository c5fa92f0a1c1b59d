package compute_test

import (
	"context"
	"errors"
	"sync"
	"sync/atomic"
	"testing"
	"testing/synctest"
	"time"

	"github.com/firq-go/firq/compute"
)

// No execution begins after the end of its leader's context: also if the slot comes free at
// the very moment at which that ends.
func TestNoneBeginsLate(t *testing.T) {
	for _, detach := range []bool{false, true} {
		synctest.Test(t, func(t *testing.T) {
			const limit = 10 * time.Millisecond
			var late, begun atomic.Int64
			type leader struct{}
			s, err := compute.New(func(ctx context.Context, _ compute.Call[int, int]) (int, error) {
				begun.Add(1)
				if l, ok := ctx.Value(leader{}).(*context.Context); ok {
					if d, _ := (*l).Deadline(); (*l).Err() != nil || !time.Now().Before(d) {
						late.Add(1)
					}
				} else {
					time.Sleep(limit) // so that it ends just as the others' contexts do
				}
				return 0, nil
			}, compute.Config[int, int, int]{Limit: 4, Detach: detach})
			if err != nil {
				t.Fatal(err)
			}
			for round := range 50 {
				var wg sync.WaitGroup
				for k := range 4 {
					wg.Go(func() { _, _ = s.Do(context.Background(), k, 1000*round) })
				}
				synctest.Wait()
				for k := range 20 {
					wg.Go(func() {
						ctx, cancel := context.WithTimeout(context.Background(), limit)
						defer cancel()
						l := ctx
						if _, err := s.Do(context.WithValue(ctx, leader{}, &l), k, 1000*round+k+1); err != nil && !errors.Is(err, context.DeadlineExceeded) {
							t.Error(err)
						}
					})
				}
				wg.Wait()
			}
			if err := s.Close(); err != nil {
				t.Error(err)
			}
			if late.Load() > 0 || begun.Load() < 200 {
				t.Errorf("detach %t: %d of %d executions began after the end of their leader's context", detach, late.Load(), begun.Load())
			}
		})
	}
}
