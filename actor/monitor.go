package actor

import (
	"log/slog"
	"runtime"
	"slices"
	"time"

	"github.com/firq-go/firq/internal/proof/failpoint"
	"github.com/firq-go/firq/watchdog"
)

// A handler that blocks outside of Await, or computes for long, has a slot that it does not
// need, or does not share. One goroutine looks for that, while actors wait for slots and only
// then. It may take a slot at any time during a handler (takeAway); the handler goes on
// without, and its worker finds out when it looks at the slot next.

const (
	looks     = 4                // of the monitor in a row, before it rests
	patience  = 8                // rests in a row before entries do not interrupt them any more
	lookAfter = time.Millisecond // then, and if no entry comes, the monitor looks again
	toldAfter = time.Millisecond // a handler that blocks is logged if it takes so long
)

// monitorSlots takes slots away from handlers that block, or compute for long, while others
// wait, as the Go runtime does with processors. It sleeps while no actor waits. Where it looks in
// vain again and again, as while handlers compute, entries wake it each millisecond at most.
func (s *System) monitorSlots() {
	// One timer for all looks.
	t := time.NewTimer(0)
	defer t.Stop()
	inVain := 0 // since it has taken a slot
	for {
		select {
		case <-s.stopped:
			return
		case <-s.monitor:
			// Asleep until an actor waits for a slot that is not free.
		}
		for look := true; look; look = s.pool.waits() {
			// A handler that blocks: its slot was taken, and the next look follows immediately.
			if s.takeBlocked() {
				inVain = 0
				continue
			}
			// By time alone it looks twice per Handoff, so a handler loses its slot after one
			// to one and a half.
			step := max(s.cfg.Handoff/2, 1)
			// The runtime tells who computes: then it looks each millisecond, as a handler may
			// begin to block any time.
			if s.busy != nil {
				inVain++
				step = min(step, lookAfter)
				// After several looks in vain entries do not wake it any more: handlers
				// compute, and it would only take processor time from them.
				s.awake.Store(inVain > patience)
			}
			if inVain <= patience && !s.pool.waits() {
				break
			}
			t.Reset(step)
			select {
			case <-s.stopped:
				return
			case <-t.C:
			case <-s.monitor:
			}
			s.awake.Store(true)
			// Whatever they do: those that have run for Handoff lose their slots.
			s.takeLate()
		}
		s.awake.Store(false)
		// Pairs with watch, which found awake set: the entry was there before the Store, or
		// finds awake cleared.
		if s.pool.waits() { // an entry that came in between has woken no slot
			s.watch()
		}
	}
}

// takeBlocked takes the slot of a handler that blocks. Those that compute run, or wait for a
// processor: so if fewer goroutines do than slots have a handler in progress, the handlers of the
// others block. Which ones they are the runtime does not tell. The slot of the oldest is taken: if
// that one computes after all, there are processors left for it. A handler that has just been
// started may be about to block, therefore it looks several times.
func (s *System) takeBlocked() bool {
	if s.busy == nil {
		return false
	}
	for range looks {
		if !s.pool.waits() {
			return false
		}
		// Before busy is read: a handler that begins in between makes that figure larger, and
		// then no slot is taken.
		sl, since, started := s.pool.oldest()
		if n := s.busy(); sl != nil && n < started && s.pool.takeAway(sl, since, n == 0) {
			return true
		}
		// Handlers that have just begun get the processor, and may block.
		runtime.Gosched()
	}
	return false
}

// takeLate takes the slots of handlers that have run for Config.Handoff.
func (s *System) takeLate() {
	for s.pool.waits() {
		sl, since, _ := s.pool.oldest()
		// The oldest is not late, and so none is.
		if sl == nil || s.now()-since < int64(s.cfg.Handoff) {
			return
		}
		s.pool.takeAway(sl, since, false)
	}
}

// oldest returns the slot with the handler that has been in progress for the longest, nil if
// there is none, and how many slots have one.
func (p *pool) oldest() (old *slot, since int64, started int) {
	for _, sl := range p.slots {
		t := sl.since.Load()
		// No handler is in progress there.
		if t == 0 {
			continue
		}
		if started++; old == nil || t < since {
			old, since = sl, t
		}
	}
	return old, since, started
}

// takeAway takes a slot from its owner if the owner still runs the handler that began at the
// given time, and passes the slot on. An owner that has just finished that handler either is
// the first to change sl.since, and keeps the slot, or finds it changed, and has lost the slot
// (keeps). blocked: no goroutine computes, so that handler blocks.
func (p *pool) takeAway(sl *slot, since int64, blocked bool) bool {
	failpoint.At("take away")
	failpoint.Lock(&sl.mu, "slot")
	w := sl.owner.Load()
	// The handler that was looked at, or none: its successor has another time.
	took := w != nil && sl.since.CompareAndSwap(since, 0)
	if took {
		failpoint.At("take away now")
		// Before the owner goes: the worker reads it once it sees that the slot is lost.
		w.blocked.Store(blocked)
		sl.owner.Store(nil)
	}
	sl.mu.Unlock()
	if took {
		p.pass(sl)
		p.sys.handoffs.Add(1)
		p.sys.metric("Metrics.Handoff", Metrics.Handoff)
	}
	return took
}

// tellBlocked logs, once for each method, that the handler which is over has blocked with a
// slot that others waited for.
func (w *worker) tellBlocked() {
	if !w.blocked.Swap(false) {
		return
	}
	c, s := w.ctx, w.pool.sys
	m, a := c.m.Load(), c.a.Load()
	took := time.Duration(s.now() - c.start.Load())
	// Too short to be worth a line, as what waits for the garbage collector.
	if took < toldAfter {
		return
	}
	// Once per method: the reader of the log knows from then on.
	if _, told := s.blockers.LoadOrStore(m, struct{}{}); !told {
		s.log(slog.LevelWarn, "actor: a handler blocks outside of Await, and others wait for its slot",
			"actor", a.name, "method", m.name, "elapsed", took)
	}
}

// Queue lets a Watchdog see the actors that wait for a slot as a queue.
func (s *System) Queue(name string) watchdog.Queue {
	return watchdog.Queue{Name: name, Read: s.pool.q.Counters}
}

// Running returns the handlers in progress, longest first, including those that wait
// and those that were abandoned. Elapsed may be short by up to a Slice.
func (s *System) Running() []SlowHandler {
	now := s.now()
	var all []SlowHandler
	for _, c := range s.allCtxs() {
		a, m, start := c.a.Load(), c.m.Load(), c.start.Load()
		// Read without a lock: a handler may end in between, and then the line is a moment old.
		if st := c.st.Load(); st == stale || a == nil || m == nil {
			continue
		}
		all = append(all, SlowHandler{a.name, m.name, time.Duration(max(now-start, 0))})
	}
	slices.SortFunc(all, func(x, y SlowHandler) int { return int(y.Elapsed - x.Elapsed) })
	return all
}

// see makes the monitor take slots from handlers that block. Not in a bubble of testing/synctest: there
// time alone decides, as goroutines outside of the bubble would.
func (s *System) see(m *meter) {
	if s.clk.Bubbled() {
		return
	}
	if m != nil {
		s.busy = m.others
	} else {
		s.cfg.Handoff = unseenHandoff
	}
}
