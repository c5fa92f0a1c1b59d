//go:build firq_failpoints

package actor

import (
	"testing"
	"time"

	"github.com/firq-go/firq/actor/internal/runq"
	"github.com/firq-go/firq/internal/proof/failpoint"
)

// slotPlays are about slots: which worker has one, and which gets it next.
var slotPlays = map[string]play{
	"two slots": {2, func(sc *scene) {
		sc.build(2, Config{})
		r, q := sc.actor(sc.s, nil), sc.actor(sc.s, nil)
		sc.sends("one", tell, r, 1)
		sc.sends("two", tell, q, 2)
		sc.end()
	}},
	"two slots and one actor": {2, func(sc *scene) {
		sc.build(2, Config{})
		r := sc.actor(sc.s, nil)
		sc.sends("one", tell, r, 1, 2)
		sc.sends("two", tell, r, 3)
		sc.rest()
		if sc.inOrder(1, 2); sc.count("handled") != 3 {
			sc.Errorf("%v", sc.ends)
		}
		sc.end()
	}},
	"a slot that is taken away": {1, func(sc *scene) {
		sc.build(1, Config{})
		r, q := sc.actor(sc.s, nil), sc.actor(sc.s, nil)
		sc.sends("one", tell, r, 1)
		sc.sends("two", tell, q, 2)
		sc.monitor("monitor")
		sc.end()
	}},
	"the actor that waits for a slot": {2, func(sc *scene) {
		sc.build(1, Config{})
		q := sc.actor(sc.s, nil)
		r := sc.actor(sc.s, func(_ *prop, c *Ctx, n int) (int, error) {
			if err := tell.Tell(c, q, n+10); err != nil {
				sc.Errorf("%v", err)
			}
			sc.accepted[n+10] = true
			failpoint.At("told")
			return n, nil
		})
		r.a.mean, q.a.mean = 1, 1 // short handlers
		sc.sends("one", tell, r, 1)
		sc.monitor("monitor")
		sc.end()
	}},
	"the actor that waits for a slot that is taken away again": {1, func(sc *scene) {
		sc.build(1, Config{})
		q := sc.actor(sc.s, nil)
		r := sc.actor(sc.s, func(_ *prop, c *Ctx, n int) (int, error) {
			if err := tell.Tell(c, q, n+10); err != nil {
				sc.Errorf("%v", err)
			}
			sc.accepted[n+10] = true
			return n, nil
		})
		r.a.mean, q.a.mean = 1, 1
		sc.sends("one", tell, r, 1)
		sc.monitor("first monitor")
		sc.monitor("second monitor")
		sc.end()
	}},
	"the actor that waits for a slot, and others": {1, func(sc *scene) {
		sc.build(2, Config{})
		q := sc.actor(sc.s, nil)
		r := sc.actor(sc.s, func(_ *prop, c *Ctx, n int) (int, error) {
			if err := tell.Tell(c, q, n+10); err != nil {
				sc.Errorf("%v", err)
			}
			sc.accepted[n+10] = true
			return n, nil
		})
		r.a.mean, q.a.mean = 1, 1
		sc.sends("one", tell, r, 1)
		sc.sends("two", tell, q, 2)
		sc.monitor("monitor")
		sc.end()
	}},
	"a slot that is given away": {2, func(sc *scene) {
		sc.build(1, Config{})
		q := sc.actor(sc.s, nil)
		r := sc.actor(sc.s, func(_ *prop, c *Ctx, n int) (int, error) {
			c.Yield()
			return n, nil
		})
		sc.sends("one", tell, r, 1)
		sc.sends("two", tell, q, 2)
		sc.end()
	}},
	"a slot that is given away and taken": {2, func(sc *scene) {
		sc.build(1, Config{})
		q := sc.actor(sc.s, nil)
		r := sc.actor(sc.s, func(_ *prop, c *Ctx, n int) (int, error) {
			c.Yield()
			failpoint.At("back")
			return n, nil
		})
		sc.backlog(r, 1)
		sc.sends("two", tell, q, 2)
		sc.monitor("monitor")
		sc.end()
	}},
	"a slot of who waits": {1, func(sc *scene) {
		sc.build(1, Config{})
		q := sc.actor(sc.s, nil)
		r := sc.actor(sc.s, func(_ *prop, c *Ctx, n int) (int, error) {
			return n, c.Await(func() error { failpoint.At("waits"); return nil })
		})
		sc.sends("one", tell, r, 1)
		sc.sends("two", tell, q, 2)
		sc.monitor("monitor")
		sc.end()
	}},
}

// monitor is a goroutine that takes a slot away, if a handler is in progress.
func (sc *scene) monitor(name string) {
	sc.goes(name, func() {
		sl := sc.s.pool.slots[0]
		if since := sl.since.Load(); since != 0 {
			sc.s.pool.takeAway(sl, since, false)
		}
	})
}

// A worker that loses its slot to the monitor while it takes the actor that waits for that slot
// leaves the actor to workers that have a slot.
func TestLostBeforeNext(t *testing.T) {
	s := newSys(t, Config{Slots: 1, Handoff: time.Hour})
	sl := &slot{}
	p := &pool{sys: s, q: runq.New[claim](1), closed: true} // no worker gets the slot
	sl.pool = p
	w, other, a := &worker{pool: p, now: 9}, &worker{pool: p}, new(actor)
	sl.owner.Store(w)
	sl.since.Store(7)
	sl.next.Store(a)
	restore := failpoint.AtMark("take next", func() { sl.owner.Store(other) }) // after the slot was stamped
	if w.next(sl) != nil || sl.next.Load() != nil {
		t.Error("it has gone on without a slot")
	}
	if e, ok := p.q.Get(0); !ok || e.Of.a != a {
		t.Error("the actor is lost")
	}
	sl.next.Store(a)
	if w.next(sl) != nil || sl.next.Load() != a {
		t.Error("it has taken the actor of another one's slot")
	}
	restore()
	sl.owner.Store(w)
	if w.next(sl) != a || sl.since.Load() != 9 {
		t.Error("it does not take the actor that waits for its slot")
	}
}
