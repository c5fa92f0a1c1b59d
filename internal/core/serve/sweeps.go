package serve

import (
	"sync"
	"sync/atomic"

	"github.com/firq-go/firq/internal/proof/failpoint"
)

// SweepStep is how many tenants one call of Shared.Sweep looks at.
const SweepStep = 32

// sweeps forget the tenants of all shards that have been idle for TenantIdle. There is
// no goroutine for it: calls that take a shard's lock anyway do it, a few tenants each,
// of one shard after the other; so a shard without calls is swept too, as long as
// there is any traffic. A sweep begins every half TenantIdle.
type sweeps struct {
	next atomic.Int64 // when the next one begins; in the past while one goes on
	mu   sync.Mutex   // no goroutine waits for it
	// Guarded by mu.
	shard int  // that the sweep has come to
	begun bool // it has looked at some of its tenants
}

func (sh *Shared[K, T]) sweepEvery() int64 { return max(int64(sh.Config.TenantIdle)/2, 1) }

// SweepDue reports whether to call Sweep.
func (sh *Shared[K, T]) SweepDue(now int64) bool { return now >= sh.sweeps.next.Load() }

// Sweep begins a sweep, or goes on with it. look calls SweepSome for a shard, unless its
// lock is taken: then it does nothing, and the next call tries again. The caller holds
// no lock.
func (sh *Shared[K, T]) Sweep(now int64, look func(shard int, start bool) (looked, more bool)) {
	s := &sh.sweeps
	if !s.mu.TryLock() {
		return
	}
	defer s.mu.Unlock()
	failpoint.At("sweep")
	if !sh.SweepDue(now) {
		return // another call has just come to the end
	}
	looked, more := look(s.shard, !s.begun)
	if !looked {
		return
	}
	if s.begun = more; more {
		return
	}
	if s.shard++; s.shard == sh.Config.Shards {
		s.shard = 0
		s.next.Store(now + sh.sweepEvery())
	}
}
