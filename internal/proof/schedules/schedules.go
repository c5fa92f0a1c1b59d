//go:build firq_failpoints

package schedules

import (
	"context"
	"errors"
	"fmt"
	"testing"
	"time"

	"github.com/firq-go/firq"
	"github.com/firq-go/firq/internal/proof/interleave"
)

type (
	// Scheduler is what the programs call.
	Scheduler = firq.Scheduler[string, int]
	config    = firq.Config[string, int]
	task      = firq.Task[int]
)

var dropOldest = firq.Backpressure{Policy: firq.DropOldest}

// Core is a core under test.
type Core struct {
	// New builds a scheduler.
	New func(firq.Config[string, int]) (Scheduler, error)
	// Shard tells on which shard a tenant of the scheduler lives.
	Shard func(s Scheduler, tenant string) int
	// Rings says that while goroutines meet tasks go by rings and lanes: calls come to the marks of
	// these. Alone says that none has met yet; programs that direct each step of these ways are skipped.
	Rings, Alone bool
}

// Run runs all programs.
func Run(t *testing.T, c Core) {
	for _, group := range []map[string]program{sleeping, polling, limits, waiting, leaving, crowded, ending, sharded, ordered, more, changing, batched, lagging} {
		for name, p := range group {
			t.Run(name, func(t *testing.T) {
				interleave.Explore(t, p.preemptions, func(ip *interleave.Schedule) {
					st := &stage{Schedule: ip, core: c, ends: map[int]string{}, accepted: map[int]bool{}}
					p.f(st)
					st.close()
				})
			})
		}
	}
}

// program is one case: its goroutines, and what has to be true afterwards.
type program struct {
	preemptions int
	f           func(st *stage)
}

// stage is one run of a program: a scheduler, and what became of each task. Only one
// goroutine runs at a time, so its fields need no lock.
type stage struct {
	*interleave.Schedule
	core     Core
	s        Scheduler
	accepted map[int]bool
	ends     map[int]string // how each task ended
	taking   int            // calls of try that are in progress: what they took is not in ends yet
}

// build makes the scheduler.
func (st *stage) build(cfg config) {
	if cfg.Shards == 0 {
		cfg.Shards = 1
	}
	if cfg.OnDrop == nil {
		cfg.OnDrop = func(_ string, payload int, why firq.DropReason) { st.ended(payload, fmt.Sprint(why)) }
	}
	s, err := st.core.New(cfg)
	if err != nil {
		st.T().Fatal(err)
	}
	st.s = s
}

// ended notes the end of a task, which must be its only one.
func (st *stage) ended(payload int, how string) {
	if was, twice := st.ends[payload]; twice {
		st.Errorf("task %d ended twice: %s and %s", payload, was, how)
	}
	st.ends[payload] = how
}

// enqueue offers tasks to a tenant and returns the last error.
func (st *stage) enqueue(tenant string, payloads ...int) (err error) {
	for _, n := range payloads {
		err = st.offer(tenant, task{Payload: n})
	}
	return err
}

func (st *stage) offer(tenant string, x task) error {
	err := st.s.Enqueue(tenant, x)
	if err == nil {
		st.accepted[x.Payload] = true
	}
	return err
}

// queue is enqueue for what must be accepted.
func (st *stage) queue(tenant string, payloads ...int) {
	for _, n := range payloads {
		if err := st.enqueue(tenant, n); err != nil {
			st.Errorf("Enqueue(%q, %d): %v", tenant, n, err)
		}
	}
}

// wait is EnqueueWait.
func (st *stage) wait(ctx context.Context, tenant string, n int) error {
	err := st.s.EnqueueWait(ctx, tenant, task{Payload: n})
	if err == nil {
		st.accepted[n] = true
	}
	return err
}

// try takes an item if there is one.
func (st *stage) try() (it firq.Item[string, int], ok bool) {
	st.taking++
	if it, ok = st.s.TryDequeue(); ok {
		st.ended(it.Payload, "delivered")
	}
	st.taking--
	return it, ok
}

// tryBatch is try by DequeueBatch, which does not wait.
func (st *stage) tryBatch() bool {
	ctx, cancel := context.WithCancel(context.Background())
	cancel()
	var dst [1]firq.Item[string, int]
	st.taking++
	n, _ := st.s.DequeueBatch(ctx, dst[:])
	st.taking--
	if n > 0 {
		st.ended(dst[0].Payload, "delivered")
	}
	return n > 0
}

// must takes an item that has to be there.
func (st *stage) must() firq.Item[string, int] {
	it, ok := st.try()
	if !ok {
		st.Errorf("TryDequeue found nothing")
	}
	return it
}

// dequeue waits for an item.
func (st *stage) dequeue() (firq.Item[string, int], error) {
	it, err := st.s.Dequeue(context.Background())
	if err == nil {
		st.ended(it.Payload, "delivered")
	}
	return it, err
}

// rest takes all items that are left, and returns their payloads in order.
func (st *stage) rest() (payloads []int) {
	for {
		it, ok := st.try()
		if !ok {
			return payloads
		}
		it.Done()
		payloads = append(payloads, it.Payload)
	}
}

// awake fails if one of the goroutines sleeps.
func (st *stage) awake(names ...string) {
	for _, name := range names {
		if st.Asleep(name) {
			st.Errorf("%s sleeps", name)
		}
	}
}

// everything fails unless each accepted task has ended, and no other task has.
func (st *stage) everything() {
	for n := range st.accepted {
		if _, ok := st.ends[n]; !ok {
			st.Errorf("task %d was accepted and is gone", n)
		}
	}
	for n, how := range st.ends {
		if !st.accepted[n] {
			st.Errorf("task %d was refused and is %s", n, how)
		}
	}
	if n := st.s.Len(); n != 0 {
		st.Errorf("Len is %d in the end", n)
	}
}

// close ends the run, after which no goroutine sleeps and every task has ended.
func (st *stage) close() {
	st.s.Close()
	st.Run()
	st.everything()
	if _, err := st.s.Dequeue(context.Background()); !errors.Is(err, firq.ErrClosed) {
		st.Errorf("Dequeue after Close: %v", err)
	}
	if x := st.s.Stats(); x.Enqueued != x.Dequeued+x.Expired+x.DroppedPolicy+x.Cancelled+x.Closed ||
		x.Enqueued != uint64(len(st.accepted)) {
		st.Errorf("the books do not add up: %+v", x)
	}
}

// expire lets time pass beyond a deadline.
func expire() { time.Sleep(time.Second) }
