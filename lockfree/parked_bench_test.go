//go:build unix

package lockfree_test

import (
	"context"
	"sync"
	"syscall"
	"testing"
	"time"

	"github.com/firq-go/firq"
	"github.com/firq-go/firq/baseline"
	"github.com/firq-go/firq/lockfree"
)

// cpuTime returns what the process has used.
func cpuTime(b *testing.B) time.Duration {
	var u syscall.Rusage
	if err := syscall.Getrusage(syscall.RUSAGE_SELF, &u); err != nil {
		b.Fatal(err)
	}
	return time.Duration(u.Utime.Nano() + u.Stime.Nano())
}

// BenchmarkParked measures the processor time that 16 consumers without work use
// in half a second. The run with none is what the measurement itself takes.
func BenchmarkParked(b *testing.B) {
	cores := map[string]func() (firq.Scheduler[int, int], error){
		"none":     nil,
		"lockfree": func() (firq.Scheduler[int, int], error) { return lockfree.New(firq.Config[int, int]{}) },
		"baseline": func() (firq.Scheduler[int, int], error) { return baseline.New(firq.Config[int, int]{}) },
	}
	for _, name := range []string{"none", "lockfree", "baseline"} {
		b.Run("impl="+name+"/consumers=16", func(b *testing.B) {
			var wg sync.WaitGroup
			if build := cores[name]; build != nil {
				s, err := build()
				if err != nil {
					b.Fatal(err)
				}
				for range 16 {
					wg.Go(func() { _, _ = s.Dequeue(context.Background()) })
				}
				defer wg.Wait()
				defer s.Close()
			}
			time.Sleep(50 * time.Millisecond) // for them to go to sleep
			b.ResetTimer()
			before := cpuTime(b)
			for range b.N {
				time.Sleep(500 * time.Millisecond)
			}
			b.ReportMetric(float64((cpuTime(b)-before).Microseconds())/float64(b.N), "cpu-us/half-second")
		})
	}
}
