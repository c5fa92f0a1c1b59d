package firqprom_test

import (
	"fmt"
	"testing"

	"github.com/prometheus/client_golang/prometheus"

	"github.com/firq-go/firq"
	"github.com/firq-go/firq/contrib/firqprom"
	"github.com/firq-go/firq/lockfree"
)

// BenchmarkGather is one scrape, without the text format.
func BenchmarkGather(b *testing.B) {
	for _, tenants := range []int{10, 10_000} {
		for _, native := range []bool{false, true} {
			b.Run(fmt.Sprintf("tenants=%d/native=%v", tenants, native), func(b *testing.B) {
				s, err := lockfree.New(firq.Config[string, string]{})
				if err != nil {
					b.Fatal(err)
				}
				for i := range 50_000 {
					_ = s.Enqueue(fmt.Sprint("tenant", i%tenants), firq.Task[string]{})
					if i%2 == 0 {
						s.TryDequeue()
					}
				}
				c, err := firqprom.New(s, firqprom.Options[string]{NativeHistogram: native})
				if err != nil {
					b.Fatal(err)
				}
				reg := prometheus.NewRegistry()
				reg.MustRegister(c)
				for b.Loop() {
					if _, err := reg.Gather(); err != nil {
						b.Fatal(err)
					}
				}
			})
		}
	}
}
