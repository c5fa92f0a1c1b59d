package actor

import (
	"math/bits"
	"slices"
	"time"

	"github.com/firq-go/firq/internal/proof/failpoint"
	"github.com/firq-go/firq/watchdog"
)

// watch wakes the monitor, because there are actors that wait for a slot.
func (s *System) watch() {
	if s.monitoring.Load() || s.cfg.Handoff <= 0 || !s.monitoring.CompareAndSwap(false, true) {
		return
	}
	select {
	case s.monitor <- struct{}{}:
	default:
	}
}

// monitorSlots takes slots away from handlers that compute for long while others wait,
// as the Go runtime does with processors. It sleeps while nobody waits.
func (s *System) monitorSlots() {
	step := max(s.cfg.Handoff/2, 1)
	t := time.NewTimer(step)
	defer t.Stop()
	for {
		select {
		case <-s.stopped:
			return
		case <-s.monitor:
		}
		for s.pool.waits() {
			t.Reset(step)
			select {
			case <-s.stopped:
				return
			case <-t.C:
			}
			s.handOff()
		}
		s.monitoring.Store(false)
		if s.pool.waits() { // an entry that came meanwhile has woken no slot
			s.watch()
		}
	}
}

// waits reports whether an actor or a handler waits for a slot.
func (p *pool) waits() bool {
	if p.q.any() {
		return true
	}
	for _, sl := range p.slots {
		if sl.next.Load() != nil {
			return true
		}
	}
	return false
}

func (s *System) handOff() {
	for _, sl := range s.pool.slots {
		since := sl.since.Load()
		if since == 0 || s.now()-since < int64(s.cfg.Handoff) || !s.pool.q.any() && sl.next.Load() == nil {
			continue
		}
		if s.pool.takeAway(sl, since) {
			s.handoffs.Add(1)
			if m := s.cfg.Metrics; m != nil {
				s.hook("Metrics.Handoff", m.Handoff)
			}
		}
	}
}

// takeAway takes a slot from its owner if the owner still runs the handler that began at the
// given time, and passes the slot on. An owner that has just finished that handler either is
// the first to change sl.since, and keeps the slot, or finds it changed, and has lost the slot
// (keeps).
func (p *pool) takeAway(sl *slot, since int64) bool {
	failpoint.At("take away")
	failpoint.Lock(&sl.mu, "slot")
	w := sl.owner.Load()
	took := w != nil && sl.since.CompareAndSwap(since, 0)
	if took {
		failpoint.At("take away now")
		sl.owner.Store(nil)
	}
	sl.mu.Unlock()
	if took {
		p.pass(sl)
	}
	return took
}

// class of a wait: the power of two of nanoseconds that is not below it.
func class(ns int64) int { return min(bits.Len64(uint64(max(ns, 1)-1)), classes-1) }

// Queue lets a Watchdog see the actors that wait for a slot as a queue.
func (s *System) Queue(name string) watchdog.Queue {
	return watchdog.Queue{Name: name, Read: s.pool.q.counters}
}

// Running returns the handlers in progress, longest first, including those that wait
// and those that were abandoned. Elapsed may be short by up to a Slice.
func (s *System) Running() []SlowHandler {
	s.ctxMu.Lock()
	list := make([]*Ctx, 0, len(s.ctxs))
	for c := range s.ctxs {
		list = append(list, c)
	}
	s.ctxMu.Unlock()
	now := s.now()
	var all []SlowHandler
	for _, c := range list {
		a, m, start := c.a.Load(), c.m.Load(), c.start.Load()
		if st := c.st.Load(); st == stale || a == nil || m == nil {
			continue
		}
		all = append(all, SlowHandler{a.name, m.name, time.Duration(max(now-start, 0))})
	}
	slices.SortFunc(all, func(x, y SlowHandler) int { return int(y.Elapsed - x.Elapsed) })
	return all
}
