package lockfree

import (
	"runtime"
	"strconv"
	"testing"

	"github.com/firq-go/firq"
)

// BenchmarkTenantMemory measures what a tenant takes, the map's part included,
// its key's bytes not: once it was served a task and is idle, and with one task
// queued. 100,000 tenants, payload int.
func BenchmarkTenantMemory(b *testing.B) {
	const tenants = 100_000
	keys := make([]string, tenants)
	for i := range keys {
		keys[i] = strconv.Itoa(i)
	}
	for b.Loop() {
		before := heap()
		s, err := New(firq.Config[string, int]{MaxGlobal: tenants})
		if err != nil {
			b.Fatal(err)
		}
		each := func(take bool) {
			for _, k := range keys {
				if err := s.Enqueue(k, firq.Task[int]{}); err != nil {
					b.Fatal(err)
				}
				if take {
					s.TryDequeue()
				}
			}
		}
		each(true)
		b.ReportMetric(float64(heap()-before)/tenants, "idle-B/tenant")
		each(false)
		b.ReportMetric(float64(heap()-before)/tenants, "one-task-B/tenant")
		if err := s.Close(); err != nil {
			b.Fatal(err)
		}
	}
	runtime.KeepAlive(keys)
}

// BenchmarkTaskMemory reports what one more queued task of 8 bytes takes, of tenants that
// have many.
func BenchmarkTaskMemory(b *testing.B) {
	const tenants, each = 64, 1 << 14
	for b.Loop() {
		s, err := New(firq.Config[int, int]{MaxGlobal: tenants * (each + 1)})
		if err != nil {
			b.Fatal(err)
		}
		enqueue := func(n int) {
			for range n {
				for k := range tenants {
					if err := s.Enqueue(k, firq.Task[int]{}); err != nil {
						b.Fatal(err)
					}
				}
			}
		}
		enqueue(1)
		before := heap()
		enqueue(each)
		b.ReportMetric(float64(heap()-before)/(tenants*each), "more-B/task")
		if err := s.Close(); err != nil {
			b.Fatal(err)
		}
	}
}

// heap returns the bytes in use.
func heap() uint64 {
	runtime.GC()
	runtime.GC()
	var m runtime.MemStats
	runtime.ReadMemStats(&m)
	return m.HeapAlloc
}
