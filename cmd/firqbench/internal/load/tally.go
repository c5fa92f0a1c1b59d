package load

import (
	"fmt"
	"runtime"
	"sync/atomic"
	"time"

	"github.com/firq-go/firq"
	"github.com/firq-go/firq/cmd/firqbench/internal/contest"
	"github.com/firq-go/firq/cmd/firqbench/internal/usage"
)

// drops counts what OnDrop told.
type drops struct {
	count, expired, sum atomic.Uint64
}

// dropped is Config.OnDrop.
func (r *run) dropped(_ string, payload uint64, why firq.DropReason) {
	r.drops.count.Add(1)
	r.drops.sum.Add(payload)
	if why == firq.DropExpired {
		r.drops.expired.Add(1)
	}
	if w := r.window; w != nil && payload&freeBit == 0 {
		w.finished(1)
	}
}

// verify proves that every accepted task was delivered or dropped, once.
func (r *run) verify(producers []*producer, consumers []*consumer) error {
	var accepted, sent, delivered, received uint64
	for _, p := range producers {
		accepted += p.accepted
		sent += p.sum
	}
	for _, c := range consumers {
		delivered += c.total
		received += c.sum
	}
	dropped := r.drops.count.Load()
	if accepted != delivered+dropped {
		return fmt.Errorf("%d tasks accepted, but %d delivered and %d dropped", accepted, delivered, dropped)
	}
	if sent != received+r.drops.sum.Load() {
		return fmt.Errorf("%d tasks accepted and as many delivered or dropped, but not the same ones", accepted)
	}
	return nil
}

// meter reads, at both ends of the measured window, what is not counted by the
// driver's goroutines.
type meter struct {
	elapsed        time.Duration
	mallocs, bytes uint64
	collections    uint32
	expired        uint64
	used           usage.Usage

	began  time.Duration
	wall   time.Time // the same
	before runtime.MemStats
}

// start begins the window. Reading the memory statistics stops the world for
// some microseconds, but is exact: allocations that a processor has not
// reported yet count too.
func (m *meter) start(r *run) {
	runtime.ReadMemStats(&m.before)
	m.expired = r.drops.expired.Load()
	m.used = usage.Now()
	r.phase.CompareAndSwap(warming, measuring) // unless the run has failed
	m.began, m.wall = contest.Now(), time.Now()
}

func (m *meter) stop(r *run) {
	m.elapsed = contest.Now() - m.began
	m.used = usage.Now().Since(m.used)
	if r.Watch != nil {
		r.phase.CompareAndSwap(measuring, recording) // unless the run has failed
	} else if !r.open || !r.phase.CompareAndSwap(measuring, finishing) {
		r.phase.Store(stopping)
	}
	m.expired = r.drops.expired.Load() - m.expired
	var after runtime.MemStats
	runtime.ReadMemStats(&after)
	m.mallocs = after.Mallocs - m.before.Mallocs
	m.bytes = after.TotalAlloc - m.before.TotalAlloc
	m.collections = after.NumGC - m.before.NumGC
}
