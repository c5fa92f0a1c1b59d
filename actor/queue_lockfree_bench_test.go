package actor

import (
	"context"
	"fmt"
	"sync"
	"testing"
	"time"

	"github.com/firq-go/firq"
	"github.com/firq-go/firq/actor/internal/runq"
	"github.com/firq-go/firq/lockfree"
	"github.com/firq-go/firq/watchdog"
)

// overLockfree is a run queue over the lock-free scheduler, for measurements. An actor is a
// tenant, and an activation is a task. Its cost is the processor time that the actor has used
// since its last activation, so that a turn is charged when the next one is asked for.
type overLockfree struct {
	s    *lockfree.Scheduler[*actor, entry]
	last sync.Map // *actor: *int64, its finish tag when it came last
}

func newOverLockfree(slice time.Duration) *overLockfree {
	s, err := lockfree.New(firq.Config[*actor, entry]{
		MaxGlobal: firq.MaxTasks, Quantum: int64(slice), NewTenantsFirst: true, TopTenants: -1,
	})
	if err != nil {
		panic(err)
	}
	return &overLockfree{s: s}
}

func (q *overLockfree) Put(e entry) bool {
	last, ok := q.last.Load(e.Of.a)
	if !ok {
		last, _ = q.last.LoadOrStore(e.Of.a, new(int64))
	}
	was := last.(*int64)
	cost := max(e.Tag-*was, 1)
	*was = e.Tag
	return q.s.Enqueue(e.Of.a, firq.Task[entry]{Payload: e, Cost: cost}) == nil
}

func (q *overLockfree) Get(int64) (entry, bool) {
	it, ok := q.s.TryDequeue()
	return it.Payload, ok
}

func (q *overLockfree) Close() (left []entry) {
	for e, ok := q.Get(0); ok; e, ok = q.Get(0) {
		left = append(left, e)
	}
	_ = q.s.Close()
	return left
}

func (q *overLockfree) Any() bool  { return q.s.Len() > 0 }
func (q *overLockfree) Now() int64 { return 0 }
func (q *overLockfree) Counters() watchdog.QueueCounters {
	return watchdog.QueueCounters{Len: q.s.Len()}
}

var runQueues = []struct {
	name string
	make func() queue
}{
	{"heap", func() queue { return runq.New[claim](1) }},
	{"shards", func() queue { return runq.New[claim](16) }},
	{"lockfree", func() queue { return newOverLockfree(100 * time.Microsecond) }},
}

// with makes Systems with a run queue for the time of a test.
func with(t testing.TB, make func() queue) {
	was := queueFor
	queueFor = func(int) queue { return make() }
	t.Cleanup(func() { queueFor = was })
}

// The run queue that the benchmarks measure works.
func TestRunQueues(t *testing.T) {
	for _, q := range runQueues {
		t.Run(q.name, func(t *testing.T) {
			limit(t, 20e9)
			with(t, q.make)
			s := newSys(t, Config{Slots: 8})
			var wg sync.WaitGroup
			refs := make([]Ref[*counter], 16)
			for i := range refs {
				refs[i] = must(t, s, "", Value(&counter{}))
			}
			for g := range 4 {
				wg.Go(func() {
					for i := range 2000 {
						_ = add.Tell(bg, refs[(g+i)%len(refs)], 1)
					}
				})
			}
			wg.Wait()
			sum := 0
			for _, r := range refs {
				n, err := add.Call(within(t), r, 0)
				if err != nil {
					t.Fatal(err)
				}
				sum += n
			}
			if sum != 8000 {
				t.Error(sum)
			}
			s.Close()
			books(t, s)
		})
	}
}

// BenchmarkRunQueue measures only the way of a turn through the queue: each goroutine takes an
// actor and puts it back with the time that a turn of the actor's own length has used.
func BenchmarkRunQueue(b *testing.B) {
	for _, rq := range runQueues {
		for _, procs := range []int{1, 8} {
			b.Run(fmt.Sprintf("queue=%s/goroutines=%d", rq.name, procs), func(b *testing.B) {
				q := rq.make()
				for i := range 256 {
					q.Put(entry{Of: claim{a: &actor{}}, Tag: int64(i)})
				}
				b.ReportAllocs()
				b.ResetTimer()
				var wg sync.WaitGroup
				for g := range procs {
					wg.Go(func() {
						for i := range b.N / procs {
							e, ok := q.Get(0)
							if !ok {
								continue
							}
							e.Tag += int64(100 + (g*7+i)%500)
							q.Put(e)
						}
					})
				}
				wg.Wait()
				b.StopTimer()
				q.Close()
			})
		}
	}
}

// BenchmarkTurns measures a System whose turns are one message each, so that the run queue is
// most of the work.
func BenchmarkTurns(b *testing.B) {
	for _, rq := range runQueues {
		b.Run("queue="+rq.name, func(b *testing.B) {
			with(b, rq.make)
			s := newSys(b, Config{Slots: 8, Throughput: 1})
			refs := make([]Ref[*counter], 64)
			for i := range refs {
				refs[i] = must(b, s, "", Value(&counter{}))
			}
			ctx := within(b)
			b.ReportAllocs()
			b.ResetTimer()
			var wg sync.WaitGroup
			for g := range 8 {
				wg.Go(func() {
					for i := range b.N / 8 {
						r := refs[(g*7+i)%len(refs)]
						_ = add.Tell(context.Background(), r, 1)
						if i%2048 == 2047 {
							_, _ = add.Call(ctx, r, 1)
						}
					}
				})
			}
			wg.Wait()
		})
	}
}

// BenchmarkRunQueueShare measures the processor time that actors with messages of 200 us get,
// divided by that of others with messages of 20 us; 1 is fair.
func BenchmarkRunQueueShare(b *testing.B) {
	for _, rq := range runQueues {
		b.Run("queue="+rq.name, func(b *testing.B) {
			with(b, rq.make)
			for range b.N {
				s := newSys(b, Config{Slots: 2})
				var mu sync.Mutex
				var used [2]time.Duration
				for i := range 8 {
					d := []time.Duration{200 * time.Microsecond, 20 * time.Microsecond}[i%2]
					var loop job
					loop = func(_ *box, c *Ctx) (any, error) {
						for start := time.Now(); time.Since(start) < d; {
						}
						mu.Lock()
						used[i%2] += d
						mu.Unlock()
						return nil, do.Tell(c, must3[*box](c), loop)
					}
					_ = do.Tell(bg, box0(b, s, ""), loop)
				}
				time.Sleep(300 * time.Millisecond)
				s.Close()
				mu.Lock()
				b.ReportMetric(float64(used[0])/float64(used[1]), "share")
				mu.Unlock()
			}
		})
	}
}
