//go:build firq_failpoints

package actor

import (
	"runtime"
	"time"

	"github.com/firq-go/firq"
	"github.com/firq-go/firq/internal/proof/failpoint"
)

// goexitPlays are about handlers that call runtime.Goexit: everything that their goroutine held
// is given back, and no other goroutine waits for it.
var goexitPlays = map[string]play{
	"Goexit, and messages": {2, func(sc *scene) {
		sc.build(1, Config{})
		sup, _ := Supervise(sc.s, "", Supervision{})
		r, q := sc.actor(sup, exits), sc.actor(sc.s, nil)
		sc.sends("one", tell, r, 1, 2)
		sc.sends("two", tell, q, 3)
		sc.rest()
		if sc.count("handled") != 3 {
			sc.Errorf("%v", sc.ends)
		}
		sc.end()
	}},
	"Goexit, and a kill": {2, func(sc *scene) {
		sc.build(1, Config{})
		sup, _ := Supervise(sc.s, "", Supervision{})
		r := sc.actor(sup, exits)
		sc.backlog(r, 2)
		sc.goes("kill", r.Kill)
		sc.rest()
		sc.gone(r)
		sc.end()
	}},
	"Goexit, and the slot taken": {1, func(sc *scene) {
		sc.build(1, Config{})
		r, q := sc.actor(sc.s, exits), sc.actor(sc.s, nil)
		sc.sends("one", tell, r, 1)
		sc.sends("two", tell, q, 2)
		sc.monitor("monitor")
		sc.end()
	}},
	"Goexit, and Close": {2, func(sc *scene) {
		sc.build(1, Config{})
		sup, _ := Supervise(sc.s, "", Supervision{})
		r := sc.actor(sup, exits)
		sc.backlog(r, 2)
		sc.closes()
		sc.rest()
		sc.gone(r)
	}},
	"Goexit, and an urgent message": {1, func(sc *scene) {
		sc.build(1, Config{})
		sup, _ := Supervise(sc.s, "", Supervision{})
		r := sc.actor(sup, exits)
		sc.backlog(r, 4)
		sc.sends("urgent", urgent, r, 11)
		sc.sends("sender", tell, r, 12, 13)
		sc.rest()
		if sc.count("handled") != 7 {
			sc.Errorf("%v", sc.ends)
		}
		sc.end()
	}},
	"Goexit in an inner call": {1, func(sc *scene) {
		sc.build(1, Config{})
		sup, _ := Supervise(sc.s, "", Supervision{})
		q := sc.actor(sup, exits)
		r := sc.actor(sup, func(_ *prop, c *Ctx, n int) (int, error) {
			if n == 2 {
				_, _ = sc.call(c, q, 1)
			}
			return n, nil
		})
		sc.sends("one", tell, r, 2, 3)
		sc.sends("two", tell, q, 5)
		sc.end()
	}},
	"Goexit in a call from outside": {2, func(sc *scene) {
		sc.build(1, Config{})
		sup, _ := Supervise(sc.s, "", Supervision{})
		r := sc.actor(sup, exits)
		sc.goes("caller", func() { sc.accepted[1] = true; _, _ = tell.Call(bg, r, 1) })
		sc.sends("sender", tell, r, 2)
		sc.rest()
		if sc.count("handled") != 2 {
			sc.Errorf("%v", sc.ends)
		}
		sc.end()
	}},
	"Goexit in a reentrant actor": {2, func(sc *scene) {
		sc.build(1, Config{})
		sup, _ := Supervise(sc.s, "", Supervision{})
		r := sc.actor(sup, func(p *prop, c *Ctx, n int) (int, error) {
			if n == 2 {
				return exits(p, c, 1)
			}
			return awaits(p, c, n)
		}, WithReentrancy(Full))
		sc.backlog(r, 1)
		sc.sends("exits", tell, r, 2, 3)
		sc.rest()
		if sc.count("handled") != 3 {
			sc.Errorf("%v", sc.ends)
		}
		sc.end()
	}},
	"Goexit, and time is over": {2, func(sc *scene) {
		sc.build(1, Config{OnTimeout: func(SlowHandler) {}})
		sup, _ := Supervise(sc.s, "", Supervision{})
		var c1 *Ctx
		var run uint64
		r := sc.actor(sup, func(p *prop, c *Ctx, n int) (int, error) {
			if n == 1 {
				c.mu.Lock()
				c1, run = c, c.run
				c.mu.Unlock()
				p.leave()
				defer p.enter()
				failpoint.At("long")
			}
			return exits(p, c, n)
		}, WithHandlerTimeout(time.Hour, Stop))
		sc.sends("sender", tell, r, 1, 2)
		sc.goes("clock", func() {
			if c1 != nil {
				c1.late(r.a, &tell.method, run, Stop)
			}
		})
		sc.rest()
		if sc.count("handled") != 2 {
			sc.Errorf("%v", sc.ends)
		}
		sc.end()
	}},
	"Goexit with an actor that waits for the slot": {2, func(sc *scene) {
		sc.build(1, Config{})
		q := sc.actor(sc.s, nil)
		r := sc.actor(sc.s, func(p *prop, c *Ctx, n int) (int, error) {
			sc.accepted[n+10] = true
			_ = tell.Tell(c, q, n+10)
			return exits(p, c, n)
		})
		r.a.mean, q.a.mean = 1, 1
		sc.sends("one", tell, r, 1)
		sc.monitor("monitor")
		sc.end()
	}},
	"Goexit in a mailbox with a limit": {1, func(sc *scene) {
		sc.build(1, Config{})
		sup, _ := Supervise(sc.s, "", Supervision{})
		r := sc.actor(sup, exits, WithMailbox(Mailbox{1, firq.Backpressure{Policy: firq.Wait, Wait: time.Hour}}))
		sc.sends("one", tell, r, 1, 2)
		sc.sends("two", tell, r, 3)
		sc.end()
	}},
}

// exits is a handler that calls Goexit if n is 1.
func exits(_ *prop, _ *Ctx, n int) (int, error) {
	if n == 1 {
		failpoint.At("exits")
		runtime.Goexit()
	}
	return n, nil
}
