//go:build firq_failpoints

package actor

import (
	"context"
	"errors"
	"time"

	"github.com/firq-go/firq"
	"github.com/firq-go/firq/internal/proof/failpoint"
)

// waitPlays are about handlers that wait: which messages come in during the wait, and which handler
// waits for which.
var waitPlays = map[string]play{
	"an actor that lets everybody in": {2, func(sc *scene) {
		sc.build(1, Config{})
		r := sc.actor(sc.s, awaits, WithReentrancy(Full))
		sc.sends("one", tell, r, 1)
		sc.sends("two", tell, r, 2)
		sc.end()
	}},
	"two handlers of an actor that wait": {2, func(sc *scene) {
		sc.build(1, Config{})
		r := sc.actor(sc.s, func(p *prop, c *Ctx, n int) (int, error) { return awaits(p, c, 1) }, WithReentrancy(Full))
		sc.sends("one", tell, r, 1)
		sc.sends("two", tell, r, 2)
		sc.end()
	}},
	"an actor that waits, and a kill": {2, func(sc *scene) {
		sc.build(1, Config{})
		r := sc.actor(sc.s, awaits, WithReentrancy(Full))
		sc.backlog(r, 2)
		sc.goes("kill", r.Kill)
		sc.rest()
		sc.gone(r)
		sc.end()
	}},
	"a chain that comes back, and somebody else": {1, func(sc *scene) {
		sc.build(1, Config{})
		var r, q Ref[*prop]
		waits := false
		q = sc.actor(sc.s, func(_ *prop, c *Ctx, n int) (int, error) { return sc.call(c, r, n+1) })
		r = sc.actor(sc.s, func(p *prop, c *Ctx, n int) (got int, err error) {
			switch {
			case n == 1:
				waits = true
				p.wait(func() { got, err = sc.call(c, q, 11) })
				if waits = false; err != nil {
					sc.Errorf("%v", err)
				}
			case n == 5 && waits:
				sc.Errorf("somebody else came in")
			}
			return n, nil
		}, WithReentrancy(CallChain))
		sc.sends("one", tell, r, 1)
		sc.sends("else", tell, r, 5)
		sc.rest()
		if sc.count("handled") != 4 {
			sc.Errorf("%v", sc.ends)
		}
		sc.end()
	}},
	"a reader that waits, and a writer": {2, func(sc *scene) {
		sc.build(1, Config{})
		q := sc.actor(sc.s, nil)
		r := sc.actor(sc.s, nil)
		through := NewMethod("t", func(p *prop, c *Ctx, n int) (int, error) {
			sc.ended(n, "handled")
			p.readers++
			_, err := sc.call(c, q, n+10)
			p.readers--
			return n, err
		}, ReadOnly())
		sc.sends("reader", through, r, 1)
		sc.sends("writer", tell, r, 2)
		sc.sends("another", reads, r, 3)
		sc.end()
	}},
	"two calls that cross":                  {2, func(sc *scene) { cross(sc, 1) }},
	"two calls that cross, with two slots":  {1, func(sc *scene) { cross(sc, 2) }},
	"two calls that cross from outside":     {2, func(sc *scene) { crossInline(sc) }},
	"three calls in a ring":                 {1, ringOfThree},
	"a call back and forth":                 {2, backAndForth},
	"a call that its handler has left":      {2, leftInRing},
	"a call beside a ring":                  {1, besideRing},
	"a full mailbox, and an end":            {1, fullAndOver},
	"a call that was let in too late":       {1, letInTooLate},
	"a call of who fails while others rise": {1, failsAgain},
	"a call back to who is taken down":      {1, backBeforeRest},
}

// awaits is a handler that waits if n is 1.
func awaits(p *prop, c *Ctx, n int) (int, error) {
	if n == 1 {
		p.wait(func() { _ = c.Await(func() error { failpoint.At("waits"); return nil }) })
		failpoint.At("back")
	}
	return n, nil
}

// call is a call by a handler.
func (sc *scene) call(c *Ctx, to Ref[*prop], n int) (int, error) {
	sc.accepted[n] = true
	got, err := tell.Call(c, to, n)
	if errors.Is(err, ErrDeadlock) || errors.Is(err, ErrStopped) && sc.ends[n] == "" {
		delete(sc.accepted, n)
	}
	if errors.Is(err, context.Canceled) { // by a caller that has left the call which this handler serves
		delete(sc.accepted, n)
		sc.left[n] = true
	}
	return got, err
}

// crossing is a pair of actors that call each other.
type crossing struct {
	sc      *scene
	r, q    Ref[*prop]
	refused int
}

func (sc *scene) crossing() *crossing {
	x := &crossing{sc: sc}
	x.r = sc.actor(sc.s, func(_ *prop, c *Ctx, n int) (int, error) { return x.to(c, x.q, n, 1) })
	x.q = sc.actor(sc.s, func(_ *prop, c *Ctx, n int) (int, error) { return x.to(c, x.r, n, 2) })
	return x
}

// to calls the other actor if n is mine. The call must not be refused if the one that the other
// actor waits for has been handled already.
func (x *crossing) to(c *Ctx, other Ref[*prop], n, mine int) (int, error) {
	if n != mine {
		return n, nil
	}
	theirs := 10 + 3 - mine
	_, err := x.sc.call(c, other, 10+mine)
	if err != nil {
		x.refused++
		if _, handled := x.sc.ends[theirs]; handled || !errors.Is(err, ErrDeadlock) {
			x.sc.Errorf("%d: %v, though %d was handled: %t", mine, err, theirs, handled)
		}
	}
	return n, nil
}

func (x *crossing) end() {
	x.sc.rest()
	if x.refused > 1 || x.refused != int(x.sc.s.Stats().Deadlocks) || x.refused+x.sc.count("handled") != 4 {
		x.sc.Errorf("%d were refused: %v", x.refused, x.sc.ends)
	}
	x.sc.end()
}

func cross(sc *scene, slots int) {
	sc.build(slots, Config{})
	x := sc.crossing()
	sc.sends("one", tell, x.r, 1)
	sc.sends("two", tell, x.q, 2)
	x.end()
}

// crossInline: both handlers run on their callers' goroutines.
func crossInline(sc *scene) {
	sc.build(1, Config{})
	x := sc.crossing()
	sc.calls("one", tell, x.r, 1)
	sc.calls("two", tell, x.q, 2)
	x.end()
}

func ringOfThree(sc *scene) {
	sc.build(1, Config{})
	refused := 0
	var all [3]Ref[*prop]
	for i := range all {
		all[i] = sc.actor(sc.s, func(_ *prop, c *Ctx, n int) (int, error) {
			if n > 3 {
				return n, nil
			}
			if _, err := sc.call(c, all[(i+1)%3], n+10); err != nil {
				var d *DeadlockError
				if refused++; !errors.As(err, &d) || len(d.Cycle) != 3 {
					sc.Errorf("%v", err)
				}
			}
			return n, nil
		})
	}
	sc.calls("one", tell, all[0], 1)
	sc.calls("two", tell, all[1], 2)
	sc.calls("three", tell, all[2], 3)
	sc.rest()
	if refused > 1 || refused+sc.count("handled") != 6 {
		sc.Errorf("%d were refused: %v", refused, sc.ends)
	}
	sc.end()
}

// backAndForth: two actors call each other, one after the other. Neither call is refused, although
// the caller that was answered may not have woken up yet.
func backAndForth(sc *scene) {
	sc.build(1, Config{})
	var r, q Ref[*prop]
	call := func(c *Ctx, to *Ref[*prop], n int) (int, error) {
		if n < 3 {
			if _, err := sc.call(c, *to, n+10); err != nil {
				sc.Errorf("%d: %v", n, err)
			}
		}
		return n, nil
	}
	q = sc.actor(sc.s, func(_ *prop, c *Ctx, n int) (int, error) {
		if n == 11 { // from r; the next message of q calls r
			sc.accepted[2] = true
			_ = tell.Tell(c, q, 2)
		}
		return call(c, &r, n)
	})
	r = sc.actor(sc.s, func(_ *prop, c *Ctx, n int) (int, error) { return call(c, &q, n) })
	sc.sends("one", tell, r, 1)
	sc.sends("busy", tell, q, 3) // otherwise the call would run on the caller's goroutine
	sc.rest()
	if sc.count("handled") != 5 {
		sc.Errorf("%v", sc.ends)
	}
	sc.end()
}

// leftInRing: by the rule of deadlocks, no handler waits for a call that the calling handler has
// left.
func leftInRing(sc *scene) {
	sc.build(2, Config{})
	left := false
	var r, q Ref[*prop]
	q = sc.actor(sc.s, func(_ *prop, c *Ctx, n int) (int, error) {
		before := left
		if _, err := sc.call(c, r, n+10); errors.Is(err, ErrDeadlock) && before {
			sc.Errorf("%v", err)
		}
		return n, nil
	})
	r = sc.actor(sc.s, func(_ *prop, c *Ctx, n int) (int, error) {
		if n != 1 {
			return n, nil
		}
		k := tell.ask(bg, q.a, c, 2)
		if err := c.waitsFor(&k.f); err != nil {
			sc.Errorf("%v", err)
		}
		if err := q.a.post(&k.envelope, c, fromSender); err != nil {
			sc.Errorf("%v", err)
		}
		failpoint.At("give up")
		if left = k.f.leave(context.Canceled); !left {
			<-k.f.done
		}
		c.noWait(&k.f)
		sc.left[2] = true
		failpoint.At("left")
		return n, nil
	})
	sc.sends("one", tell, r, 1)
	sc.end()
}

// besideRing: two siblings fail together, and a handler of one waits for the other, in vain, which
// it has not been told yet when a handler of a third actor begins to wait for that sibling too.
func besideRing(sc *scene) {
	sc.build(1, Config{})
	sup, _ := Supervise(sc.s, "", Supervision{Strategy: OneForAll})
	r := sc.actor(sup, fails)
	through := func(_ *prop, c *Ctx, n int) (int, error) {
		_, _ = sc.call(c, r, n+10)
		return n, nil
	}
	q, other := sc.actor(sup, through), sc.actor(sc.s, through)
	sc.tell(tell, r, 1)
	sc.tell(tell, q, 2)
	sc.calls("else", tell, other, 3)
	sc.end()
}

// fullAndOver: a call that finds no room has been ended already, because the actor of the calling
// handler has to end before there is any. It leaves nothing behind for the next call.
func fullAndOver(sc *scene) {
	sc.build(2, Config{})
	sup, _ := Supervise(sc.s, "", Supervision{Strategy: OneForAll})
	q := sc.actor(sc.s, nil, WithReentrancy(Full)) // so that calls go through its mailbox
	r := sc.actor(sup, func(p *prop, c *Ctx, n int) (int, error) {
		if n == 1 {
			r, _ := Self[*prop](c)
			sc.tell(tell, r, 3)
		}
		return fails(p, c, n)
	}, WithMailbox(Mailbox{Limit: 1}))
	other := sc.actor(sup, func(_ *prop, c *Ctx, n int) (int, error) {
		_, err := tell.Call(c, r, 12)
		if err == nil {
			sc.accepted[12] = true
		}
		if w := sc.s.waiter(); len(w) > 0 {
			sc.Errorf("the next call is woken by the last one")
		}
		if got, err := sc.call(c, q, 13); err != nil || got != 13 {
			sc.Errorf("%d, %v", got, err)
		}
		return n, nil
	})
	sc.tell(tell, other, 2) // begins
	sc.tell(tell, r, 1)
	sc.end()
}

// letInTooLate: a handler whose call gets room would then wait for itself, and learns what became
// of the call if that has been answered in the meantime.
func letInTooLate(sc *scene) {
	sc.build(1, Config{})
	var r, q Ref[*prop]
	q = sc.actor(sc.s, func(_ *prop, c *Ctx, n int) (int, error) {
		if n == 1 {
			_, _ = sc.call(c, r, 11)
		}
		return n, nil
	}, WithMailbox(Mailbox{1, firq.Backpressure{Policy: firq.Wait, Wait: time.Hour}}))
	r = sc.actor(sc.s, func(_ *prop, c *Ctx, n int) (int, error) {
		if n == 2 {
			_, _ = sc.call(c, q, 12)
		}
		return n, nil
	})
	sc.tell(tell, r, 2) // begins
	sc.tell(tell, q, 1)
	sc.goes("kill", q.Kill)
	sc.end()
}

// failsAgain: of two siblings that are restarted, the first fails immediately, while one of its
// handlers waits for the second, which comes up after it.
func failsAgain(sc *scene) {
	sc.build(2, Config{})
	sup, _ := Supervise(sc.s, "", Supervision{Strategy: OneForAll})
	var r, q Ref[*prop]
	r = sc.actor(sup, func(p *prop, c *Ctx, n int) (int, error) {
		if n == 3 {
			p.wait(func() { _, _ = sc.call(c, q, 13) })
		}
		return fails(p, c, n)
	}, WithReentrancy(Full))
	q = sc.actor(sup, nil)
	for _, n := range []int{1, 3, 101} {
		sc.tell(tell, r, n)
	}
	sc.end()
}

// backBeforeRest: an actor that is to be taken down lets in calls that its handler in progress
// has caused, both before and after that handler begins to wait.
func backBeforeRest(sc *scene) {
	sc.build(2, Config{})
	sup, _ := Supervise(sc.s, "", Supervision{Strategy: OneForAll})
	var r, v Ref[*prop]
	q := sc.actor(sup, fails)
	r = sc.actor(sup, func(p *prop, c *Ctx, n int) (int, error) {
		if n == 2 {
			sc.tell(tell, q, 1)
			p.wait(func() { _, _ = sc.call(c, v, 12) })
		}
		return n, nil
	}, WithReentrancy(CallChain))
	v = sc.actor(sc.s, func(_ *prop, c *Ctx, n int) (int, error) {
		if got, err := sc.call(c, r, n+10); err != nil || got != n+10 {
			sc.Errorf("%d, %v", got, err)
		}
		return n, nil
	})
	sc.tell(tell, r, 2)
	sc.end()
}
