package runq

import (
	"fmt"
	"sync"
	"testing"
	"time"

	"github.com/firq-go/firq"
	"github.com/firq-go/firq/lockfree"
)

// overLockfree is a run queue over the lock-free scheduler, for the figures in docs/design/actors.md. What waits
// is a tenant, and its turn is a task whose cost is the processor time since the last one.
type overLockfree struct {
	s *lockfree.Scheduler[*int64, Entry[*int64]] // tenants: the finish tags of their last turns
}

func (q overLockfree) Put(e Entry[*int64]) bool {
	cost := max(e.Tag-*e.Of, 1)
	*e.Of = e.Tag
	return q.s.Enqueue(e.Of, firq.Task[Entry[*int64]]{Payload: e, Cost: cost}) == nil
}

func (q overLockfree) Get(int64) (Entry[*int64], bool) {
	it, ok := q.s.TryDequeue()
	return it.Payload, ok
}

// BenchmarkQueue measures only the way of a turn through the queue: each goroutine takes an entry and puts it back
// with the time that a turn has used.
func BenchmarkQueue(b *testing.B) {
	for _, rq := range []string{"heap", "shards", "lockfree"} {
		for _, goroutines := range []int{1, 8} {
			b.Run(fmt.Sprintf("queue=%s/goroutines=%d", rq, goroutines), func(b *testing.B) {
				switch rq {
				case "heap":
					turns(b, goroutines, New[*int64](1))
				case "shards":
					turns(b, goroutines, New[*int64](16))
				default:
					s, err := lockfree.New(firq.Config[*int64, Entry[*int64]]{
						MaxGlobal: firq.MaxTasks, Quantum: int64(100 * time.Microsecond), NewTenantsFirst: true, TopTenants: -1,
					})
					if err != nil {
						b.Fatal(err)
					}
					turns(b, goroutines, overLockfree{s: s})
					_ = s.Close()
				}
			})
		}
	}
}

func turns[Q interface {
	Put(Entry[*int64]) bool
	Get(now int64) (Entry[*int64], bool)
}](b *testing.B, goroutines int, q Q,
) {
	for i := range int64(256) {
		q.Put(Entry[*int64]{Of: new(int64), Tag: i})
	}
	b.ReportAllocs()
	b.ResetTimer()
	var wg sync.WaitGroup
	for g := range goroutines {
		wg.Go(func() {
			for i := range b.N / goroutines {
				if e, ok := q.Get(0); ok {
					e.Tag += int64(100 + (g*7+i)%500)
					q.Put(e)
				}
			}
		})
	}
	wg.Wait()
}
