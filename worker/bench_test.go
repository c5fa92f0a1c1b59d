package worker_test

import (
	"context"
	"testing"
	"time"

	"github.com/firq-go/firq"
	"github.com/firq-go/firq/worker"
)

// BenchmarkOverhead drains a backlog of b.N tasks with an empty handler: a plain
// loop over Dequeue against a pool of one worker, without and with limits.
func BenchmarkOverhead(b *testing.B) {
	type options = worker.Options[int, int]
	handler := func(context.Context, *firq.Item[int, int]) error { return nil }
	for name, newScheduler := range cores[int, int]() {
		fill := func(b *testing.B, task firq.Task[int]) firq.Scheduler[int, int] {
			s := newScheduler(b, firq.Config[int, int]{MaxGlobal: 1 << 24})
			for i := range b.N {
				if err := s.Enqueue(i%64, task); err != nil {
					b.Fatal(err)
				}
			}
			go func() { _ = s.Shutdown(context.Background()) }()
			b.ReportAllocs()
			b.ResetTimer()
			return s
		}
		b.Run("core="+name+"/loop=plain", func(b *testing.B) {
			s := fill(b, firq.Task[int]{})
			for {
				it, err := s.Dequeue(b.Context())
				if err != nil {
					return
				}
				_ = handler(b.Context(), &it)
				it.Done()
			}
		})
		for _, v := range []struct {
			name string
			task firq.Task[int]
			opts options
		}{
			{"worker", firq.Task[int]{}, options{}},
			{"worker/timeout=warn", firq.Task[int]{}, options{Timeout: time.Minute}},
			{"worker/timeout=cancel", firq.Task[int]{}, options{Timeout: time.Minute, TimeoutMode: worker.Cancel}},
			{"worker/deadline", firq.Task[int]{Deadline: time.Now().Add(time.Hour)}, options{}},
		} {
			b.Run("core="+name+"/loop="+v.name, func(b *testing.B) {
				s := fill(b, v.task)
				v.opts.Concurrency = 1
				if err := worker.Run(b.Context(), s, handler, v.opts); err != nil {
					b.Fatal(err)
				}
			})
		}
	}
}
