package compute

import (
	"context"
	"errors"
	"fmt"

	"github.com/puzpuzpuz/xsync/v3"

	"github.com/firq-go/firq"
	"github.com/firq-go/firq/gate"
)

// SetLimit changes how many executions may run concurrently, all groups together: 0 to
// gate.MaxSlots, anything else panics. With 0 nothing is executed until it rises. If it
// is below the number of groups, the groups without a slot get no calls, and the calls
// that wait there queue elsewhere. Running executions are not disturbed.
func (s *Server[T, K, V]) SetLimit(n int) {
	if n < 0 || n > gate.MaxSlots {
		panic(fmt.Sprintf("firq: compute: limit: %d, must be 0 to %d", n, gate.MaxSlots))
	}
	s.groups.SetLimit(n)
}

// SetGroups changes how many groups there are: 1 to MaxGroups, anything else panics.
// They are numbered from 0 on. More groups take keys of all others, fewer give those of
// the last ones to the others; no other key moves, and the cache does not change. Calls
// that wait in a removed group queue elsewhere; its executions run to their end there,
// and until then come on top of the limit.
func (s *Server[T, K, V]) SetGroups(n int) {
	if n < 1 || n > MaxGroups {
		panic(fmt.Sprintf("firq: compute: groups: %d, must be 1 to %d", n, MaxGroups))
	}
	s.groups.set(func(d *division[T]) (int, int) { return d.limit, n })
}

// SetQuantum overrides a tenant's quantum in all groups; below 1 counts as 1. 0
// restores what Config.Gate says, and may call QuantumFor. For a tenant that is not
// equal to itself (NaN) it does nothing.
func (s *Server[T, K, V]) SetQuantum(tenant T, q int64) {
	if s.tenants.Tenant(tenant) == nil {
		s.groups.setQuantum(tenant, q)
	}
}

// Shutdown refuses later calls with firq.ErrClosed, hits too, and returns nil once every
// call that came before has been answered, and every execution has ended, refreshes
// behind included. When ctx is done first it returns ctx.Err(), and the server goes on
// draining; when Close comes first, firq.ErrClosed.
func (s *Server[T, K, V]) Shutdown(ctx context.Context) error { return s.life.shutdown(ctx) }

// Close refuses later calls with firq.ErrClosed, and immediately ends those that wait for a
// slot or have joined an execution with the same error. The contexts of executions end; a call on
// whose goroutine one runs returns when it has ended. Close itself does not wait. A
// second call, or one after a Shutdown that came to its end, does nothing. It returns
// nil.
func (s *Server[T, K, V]) Close() error {
	s.life.kill()
	return nil
}

// count counts a call of a key in p, by how it ended.
func (s *Server[T, K, V]) count(p *shard[T, K, V], source Source, err error) {
	switch source {
	case Hit, Stale:
		s.countKept(source)
	case Coalesced:
		p.coalesced.Add(1)
	case Executed:
		p.executed.Add(1)
	case None:
		s.countNone(err)
	}
}

// countKept notes a hit or a stale answer.
func (s *Server[T, K, V]) countKept(source Source) {
	if source == Hit {
		s.hits.Inc()
	} else {
		s.stale.Inc()
	}
}

func (s *Server[T, K, V]) countNone(err error) {
	switch {
	case errors.Is(err, firq.ErrClosed):
		s.closed.Add(1)
	case isAny(err, firq.ErrInvalidTask, ErrCycle):
	case errors.Is(err, ErrTooManyWaiters):
		s.refusedWaiters.Add(1)
	case errors.Is(err, firq.ErrGlobalFull):
		s.refusedGlobal.Add(1)
	case errors.Is(err, firq.ErrTimeout):
		s.refusedTimeout.Add(1)
	case errors.Is(err, firq.ErrRejected):
		s.refusedTenant.Add(1)
	default:
		s.gaveUp.Add(1)
	}
}

// Stats returns a snapshot. It walks over the shards and groups, and takes their locks in
// turn.
func (s *Server[T, K, V]) Stats() Stats[T] {
	st := Stats[T]{
		Hits: count(s.hits), Stale: count(s.stale),
		GaveUp: s.gaveUp.Load(), Closed: s.closed.Load(),
		RefusedGlobal: s.refusedGlobal.Load(), RefusedTenant: s.refusedTenant.Load(),
		RefusedTimeout: s.refusedTimeout.Load(), RefusedWaiters: s.refusedWaiters.Load(),
		Panics: s.panics.Load(), Abandoned: s.abandoned.Load(), Behind: s.behind.Load(), Spilled: s.spilled.Load(),
		Limit: s.groups.Limit(),
	}
	st.Refused = st.RefusedGlobal + st.RefusedTenant + st.RefusedTimeout + st.RefusedWaiters
	for _, gr := range s.groups.every() {
		st.Waiting += gr.gate.Waiting()
	}
	for _, gr := range s.groups.now.Load().groups {
		st.Groups = append(st.Groups, gr.gate.Stats())
	}
	for i := range s.shards {
		p := &s.shards[i]
		p.mu.Lock()
		st.Flights += p.n
		st.Executions += p.begun
		st.Succeeded += p.succeeded
		st.Failed += p.failed
		p.took.flush(&s.times)
		p.mu.Unlock()
		st.Executed += p.executed.Load()
		st.Coalesced += p.coalesced.Load()
	}
	st.Executing = int(st.Executions - st.Succeeded - st.Failed)
	switch {
	case s.own != nil:
		st.Entries, st.Weight = int(s.own.n.Load()), s.own.weight.Load()
	case s.other != nil:
		st.Entries = s.other.cache.Len()
		st.Weight = int64(st.Entries)
	}
	st.ExecTime = s.times.queueTime()
	return st
}
func count(c *xsync.Counter) uint64 { return uint64(c.Value()) }
