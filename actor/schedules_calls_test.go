//go:build firq_failpoints

package actor

import (
	"context"
	"errors"
	"time"

	"github.com/firq-go/firq/internal/proof/failpoint"
)

// callPlays are about calls: what answers them, and which goroutine has gone before.
var callPlays = map[string]play{
	"inline, and a message": {2, func(sc *scene) {
		sc.build(1, Config{})
		r := sc.actor(sc.s, nil)
		sc.calls("caller", tell, r, 1)
		sc.sends("sender", tell, r, 2)
		sc.rest()
		if sc.count("handled") != 2 {
			sc.Errorf("%v", sc.ends)
		}
		sc.end()
	}},
	"inline twice": {2, func(sc *scene) {
		sc.build(1, Config{})
		r := sc.actor(sc.s, nil)
		sc.calls("one", tell, r, 1)
		sc.calls("two", tell, r, 2)
		sc.rest()
		if sc.count("handled") != 2 {
			sc.Errorf("%v", sc.ends)
		}
		sc.end()
	}},
	"inline, and a kill": {3, func(sc *scene) {
		sc.build(1, Config{})
		r := sc.actor(sc.s, nil)
		sc.calls("caller", tell, r, 1)
		sc.goes("kill", r.Kill)
		sc.rest()
		sc.gone(r)
		sc.end()
	}},
	"inline, and a panic": {2, func(sc *scene) {
		sc.build(1, Config{})
		r := sc.actor(sc.s, func(_ *prop, _ *Ctx, n int) (int, error) {
			if n == 1 {
				panic(n)
			}
			return n, nil
		})
		sc.calls("caller", tell, r, 1)
		sc.sends("sender", tell, r, 2)
		sc.rest()
		sc.gone(r)
		sc.end()
	}},
	"a caller that leaves": {2, func(sc *scene) {
		sc.build(1, Config{})
		r := sc.actor(sc.s, nil)
		left := sc.fickle("fickle", r, 1)
		sc.sends("sender", tell, r, 2)
		sc.rest()
		if st := sc.s.Stats(); *left && st.Cancelled != uint64(2-sc.count("handled")) || !*left && st.Cancelled != 0 {
			sc.Errorf("it has left: %t, %v, and the books say %+v", *left, sc.ends, st)
		}
		sc.end()
	}},
	"a caller that leaves, and a kill": {2, func(sc *scene) {
		sc.build(1, Config{})
		r := sc.actor(sc.s, nil)
		sc.fickle("fickle", r, 1)
		sc.goes("kill", r.Kill)
		sc.end()
	}},
	"a caller that leaves what is stashed": {2, func(sc *scene) {
		sc.build(1, Config{})
		put := false
		r := sc.actor(sc.s, func(_ *prop, c *Ctx, n int) (int, error) {
			if n == 1 && !put {
				put = true
				delete(sc.ends, 1)
				c.Stash()
			} else {
				c.Unstash()
			}
			return n, nil
		})
		sc.fickle("fickle", r, 1)
		sc.Run()
		sc.tell(tell, r, 2)
		sc.end()
	}},
	"a future that is left": {2, func(sc *scene) {
		sc.build(2, Config{})
		q := sc.actor(sc.s, nil)
		r := sc.actor(sc.s, func(_ *prop, c *Ctx, n int) (int, error) {
			tell.Start(c, q, n+10) // its future is not waited for
			sc.left[n+10] = true
			return n, nil
		})
		sc.sends("one", tell, r, 1)
		sc.end()
	}},
	"time is over when the handler returns": {2, func(sc *scene) {
		sc.build(1, Config{OnTimeout: func(SlowHandler) {}})
		l := sc.late(sc.s)
		sc.fickle("caller", l.r, 1)
		l.clock()
		sc.rest()
		if st := sc.s.Stats(); l.gone && st.Abandoned != 1 || st.Abandoned > 1 {
			sc.Errorf("%t, %+v", l.gone, st)
		}
		sc.end()
	}},
	"time is over, and the next incarnation": {2, func(sc *scene) {
		sc.build(1, Config{OnTimeout: func(SlowHandler) {}})
		sup, _ := Supervise(sc.s, "", Supervision{})
		l := sc.late(sup)
		sc.sends("sender", tell, l.r, 1, 2)
		l.clock()
		sc.rest()
		if sc.count("handled") != 2+l.sent {
			sc.Errorf("%v", sc.ends)
		}
		if st := sc.s.Stats(); st.Abandoned != st.Restarts {
			sc.Errorf("%+v", st)
		}
		sc.end()
	}},
	"time is over, and a kill": {1, func(sc *scene) {
		sc.build(1, Config{OnTimeout: func(SlowHandler) {}})
		sup, _ := Supervise(sc.s, "", Supervision{})
		l := sc.late(sup)
		sc.backlog(l.r, 2)
		l.clock()
		sc.goes("kill", l.r.Kill)
		sc.rest()
		sc.gone(l.r)
		sc.end()
	}},
	"time is over, and the slot taken": {1, func(sc *scene) {
		sc.build(1, Config{OnTimeout: func(SlowHandler) {}})
		sup, _ := Supervise(sc.s, "", Supervision{})
		l := sc.late(sup)
		sc.backlog(l.r, 2)
		l.clock()
		sc.monitor("monitor")
		sc.end()
	}},
}

// gone fails unless the actor has ended.
func (sc *scene) gone(r Ref[*prop]) {
	select {
	case <-r.Done():
	default:
		sc.Errorf("it has not ended: life %d, turn %d", r.a.life, r.a.turn)
	}
}

// fickle is a goroutine that calls r, and gives up if there is no answer yet. (With a
// context that ends, chance would decide whether it sees the answer or the end first.)
func (sc *scene) fickle(name string, r Ref[*prop], n int) (left *bool) {
	left = new(bool)
	sc.goes(name, func() {
		k := tell.ask(bg, r.a, nil, n)
		if err := r.a.post(&k.envelope, nil, fromSender); err != nil {
			return
		}
		failpoint.At("give up")
		if *left = k.f.leave(context.Canceled); *left {
			sc.left[n] = true
			return
		}
		sc.accepted[n] = true
		<-k.f.done
		if got, err := k.result(sc.s); err == nil && got != n {
			sc.Errorf("%d answers %d", n, got)
		} else if err != nil && !errors.Is(err, ErrTimeout) && !errors.Is(err, ErrStopped) {
			sc.Errorf("%d: %v", n, err)
		}
	})
	return left
}

// lateness is an actor whose first handler may be abandoned.
type lateness struct {
	sc   *scene
	r    Ref[*prop]
	c    *Ctx
	run  uint64
	gone bool // the handler was abandoned
	sent int
}

func (sc *scene) late(p Parent) *lateness {
	l := &lateness{sc: sc}
	other := sc.actor(sc.s, nil)
	l.r = sc.actor(p, func(p *prop, c *Ctx, n int) (int, error) {
		if n != 1 {
			if l.gone && p.suspends > 0 {
				sc.Errorf("the next handler has the state of the abandoned one")
			}
			return n, nil
		}
		c.mu.Lock()
		l.run = c.run
		c.mu.Unlock()
		l.c = c
		p.suspends++ // marks the state of this incarnation
		failpoint.At("long")
		gone := l.gone
		switch err := tell.Tell(c, other, 50); {
		case err == nil:
			l.sent++
			sc.accepted[50] = true
			if gone {
				sc.Errorf("an abandoned handler has sent a message")
			}
		case !errors.Is(err, ErrStale):
			sc.Errorf("%v", err)
		}
		p.suspends--
		if l.gone {
			p.suspends++
		}
		return n, nil
	}, WithHandlerTimeout(time.Hour, Stop))
	return l
}

// clock is a goroutine that ends the time of the first handler at an arbitrary moment. If that
// handler has not begun, clock does nothing.
func (l *lateness) clock() {
	l.sc.goes("clock", func() {
		if l.c == nil {
			return
		}
		before := l.sc.s.abandoned.Load()
		l.c.late(l.r.a, &tell.method, l.run, Stop)
		l.gone = l.sc.s.abandoned.Load() > before
	})
}
