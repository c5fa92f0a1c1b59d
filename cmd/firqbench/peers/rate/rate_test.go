// Package rate compares package rate with golang.org/x/time/rate, and firqfleet.Rate with redis_rate.
package rate

import (
	"context"
	"strconv"
	"sync"
	"testing"

	xrate "golang.org/x/time/rate"

	"github.com/firq-go/firq/rate"
)

// BenchmarkTake is a Take of each of 1,024 tenants in turn, by all processors, that passes.
// x/time/rate knows no tenants: there is a Limiter for each in a sync.Map, as is usual.
//
//	go test -run '^$' -bench Take -count 10 ./rate
func BenchmarkTake(b *testing.B) {
	keys := make([]string, 1024)
	for i := range keys {
		keys[i] = "tenant" + strconv.Itoa(i)
	}
	const perSecond, burst = 1e11, 1e9
	b.Run("impl=firq", func(b *testing.B) {
		l := rate.New(rate.Config[string]{Limit: rate.Limit{PerSecond: perSecond, Burst: burst}})
		ctx := context.Background()
		b.ReportAllocs()
		b.RunParallel(func(pb *testing.PB) {
			for i := 0; pb.Next(); i++ {
				if _, err := l.Take(ctx, keys[i%len(keys)], 1, 0); err != nil {
					b.Error(err)
				}
			}
		})
	})
	b.Run("impl=xtime", func(b *testing.B) {
		var limiters sync.Map
		b.ReportAllocs()
		b.RunParallel(func(pb *testing.PB) {
			for i := 0; pb.Next(); i++ {
				l, ok := limiters.Load(keys[i%len(keys)])
				if !ok {
					l, _ = limiters.LoadOrStore(keys[i%len(keys)], xrate.NewLimiter(perSecond, burst))
				}
				if !l.(*xrate.Limiter).Allow() {
					b.Error("refused")
				}
			}
		})
	})
}
