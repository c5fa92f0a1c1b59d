package watchdog

import (
	"fmt"
	"runtime"
	"testing"
	"time"

	"github.com/firq-go/firq"
	"github.com/firq-go/firq/baseline"
	"github.com/firq-go/firq/lockfree"
)

// BenchmarkInterval measures one interval: the metrics, and a queue that
// has served 10,000 tasks of several tenants.
func BenchmarkInterval(b *testing.B) {
	for _, tenants := range []int{0, 1, 10_000} {
		for _, core := range []string{"lockfree", "baseline"} {
			if tenants == 0 && core == "baseline" {
				continue
			}
			b.Run(fmt.Sprintf("impl=%s/tenants=%d", core, tenants), func(b *testing.B) {
				var o Options
				if tenants > 0 {
					o.Queues = []Queue{served(b, core, tenants)}
				}
				w, err := New(o)
				if err != nil {
					b.Fatal(err)
				}
				w.begin(time.Now())
				out := make(chan Report, pending)
				b.ReportAllocs()
				for b.Loop() {
					w.interval(time.Now(), out)
				}
			})
		}
	}
}

func served(b *testing.B, core string, tenants int) Queue {
	var s firq.Scheduler[int, int]
	var err error
	if core == "lockfree" {
		s, err = lockfree.New(firq.Config[int, int]{})
	} else {
		s, err = baseline.New(firq.Config[int, int]{})
	}
	if err != nil {
		b.Fatal(err)
	}
	for i := range 10_000 {
		if err := s.Enqueue(i%tenants, firq.Task[int]{}); err != nil {
			b.Fatal(err)
		}
	}
	for range 10_000 {
		s.TryDequeue()
	}
	b.Cleanup(func() { _ = s.Close() })
	return QueueOf(core, s.Stats)
}

// BenchmarkStacks takes a profile of many parked goroutines; "all" is
// runtime.Stack, which stops the world.
func BenchmarkStacks(b *testing.B) {
	for _, parked := range []int{100, 10_000} {
		release := make(chan bool)
		for range parked {
			go func() { <-release }()
		}
		b.Run(fmt.Sprintf("impl=profile/goroutines=%d", parked), func(b *testing.B) {
			for b.Loop() {
				stacks(64 << 10)
			}
		})
		b.Run(fmt.Sprintf("impl=all/goroutines=%d", parked), func(b *testing.B) {
			buf := make([]byte, 64<<10)
			for b.Loop() {
				runtime.Stack(buf, true)
			}
		})
		close(release)
	}
}
