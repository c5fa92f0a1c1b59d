//go:build firq_failpoints

package actor

import (
	"errors"
	"time"

	"github.com/firq-go/firq/internal/proof/failpoint"
)

// endPlays are about the end of actors, and of the System.
var endPlays = map[string]play{
	"a kill, and messages": {3, func(sc *scene) {
		sc.build(1, Config{})
		r := sc.actor(sc.s, nil)
		sc.sends("sender", tell, r, 1, 2)
		sc.goes("kill", r.Kill)
		sc.rest()
		sc.gone(r)
		sc.end()
	}},
	"Stop, and messages": {3, func(sc *scene) {
		sc.build(1, Config{})
		r := sc.actor(sc.s, nil)
		sc.sends("sender", tell, r, 1, 2)
		sc.goes("stop", func() {
			if err := r.Stop(bg); err != nil || len(sc.order) < len(sc.accepted) {
				sc.Errorf("%v, %v of %v", err, sc.order, sc.accepted)
			}
		})
		sc.rest()
		sc.gone(r)
		if n := sc.count("a dead letter"); n > 0 {
			sc.Errorf("%d dead letters", n)
		}
		sc.end()
	}},
	"Stop and a kill": {2, func(sc *scene) {
		sc.build(1, Config{})
		r := sc.actor(sc.s, nil)
		sc.backlog(r, 2)
		sc.goes("stop", func() { _ = r.Stop(bg) })
		sc.goes("kill", r.Kill)
		sc.rest()
		sc.gone(r)
		sc.end()
	}},
	"c.Stop, and messages": {3, func(sc *scene) {
		sc.build(1, Config{})
		why := errors.New("why")
		r := sc.actor(sc.s, func(_ *prop, c *Ctx, n int) (int, error) {
			if n == 1 {
				c.Stop(why)
			}
			return n, nil
		})
		sc.sends("sender", tell, r, 1, 2)
		sc.sends("another", tell, r, 3)
		sc.rest()
		sc.gone(r)
		if r.Err() != why {
			sc.Errorf("%v", r.Err())
		}
		sc.end()
	}},
	"the name is free when Done is closed": {3, func(sc *scene) {
		sc.build(1, Config{})
		r := must(sc.T(), Parent(sc.s), "name", func(*Ctx) (*prop, error) { return &prop{sc: sc}, nil })
		sc.goes("kill", r.Kill)
		sc.goes("spawn", func() {
			<-r.Done()
			if _, err := Spawn(sc.s, "name", func(*Ctx) (*prop, error) { return &prop{sc: sc}, nil }); err != nil {
				sc.Errorf("%v", err)
			}
		})
		sc.end()
	}},
	"one is told of the other's end once": {3, func(sc *scene) {
		sc.build(2, Config{})
		q := sc.actor(sc.s, nil)
		told := 0
		down := NewAction("down", func(_ *prop, _ *Ctx, d Down) error { told++; return nil })
		r := sc.actor(sc.s, func(_ *prop, c *Ctx, n int) (int, error) {
			Watch(c, q, down)
			return n, nil
		})
		sc.backlog(r, 1)
		sc.goes("kill", q.Kill)
		sc.Run()
		if told != 1 {
			sc.Errorf("told %d times", told)
		}
		_ = sc.s.Close()
		sc.Run()
	}},
	"AfterFunc and a kill": {3, func(sc *scene) {
		sc.build(1, Config{})
		r := sc.actor(sc.s, nil)
		told := make(chan string, 4)
		sc.goes("first", func() { r.AfterFunc(func() { told <- "first" }) })
		sc.goes("second", func() { r.AfterFunc(func() { told <- "second" }) })
		sc.goes("kill", r.Kill)
		sc.Run()
		if one, other := <-told, <-told; one == other { // a bubble ends the test if one never comes
			sc.Errorf("%s twice", one)
		}
		_ = sc.s.Close()
		sc.Run()
		if len(told) > 0 || len(sc.s.after) > 0 {
			sc.Errorf("told %d more; %d stay", len(told), len(sc.s.after))
		}
	}},
	"a timer, and the end of its actor": {2, func(sc *scene) {
		sc.build(1, Config{})
		var t *Timer
		r := sc.actor(sc.s, func(_ *prop, c *Ctx, n int) (int, error) {
			if n == 1 {
				t = tell.After(c, time.Hour, 7)
			}
			return n, nil
		})
		sc.tell(tell, r, 1)
		sc.Run()
		sc.goes("ring", t.ring)
		sc.goes("kill", r.Kill)
		sc.Run()
		if _, rung := sc.ends[7]; rung {
			sc.accepted[7] = true
		}
		if t.Stop() {
			sc.Errorf("it has not ended")
		}
		_ = sc.s.Close()
		sc.Run()
	}},
	"a timer that rings twice at once": {2, func(sc *scene) {
		sc.build(1, Config{})
		var t *Timer
		n, most := 0, 0
		rung := NewAction("rung", func(p *prop, _ *Ctx, _ int) error {
			p.enter()
			failpoint.At("rung")
			n++
			p.leave()
			return nil
		})
		r := sc.actor(sc.s, func(_ *prop, c *Ctx, n int) (int, error) {
			t = rung.Every(c, time.Hour, 7)
			return n, nil
		})
		sc.tell(tell, r, 1)
		sc.Run()
		for _, name := range []string{"ring", "again"} {
			sc.goes(name, func() {
				t.ring()
				most = max(most, r.Len())
			})
		}
		sc.Run()
		if n < 1 || most > 1 {
			sc.Errorf("handled %d times, %d waited", n, most)
		}
		_ = sc.s.Close()
		sc.Run()
	}},
	"Close, and messages": {2, func(sc *scene) {
		sc.build(1, Config{})
		r := sc.actor(sc.s, nil)
		sc.sends("sender", tell, r, 1, 2)
		sc.closes()
		sc.rest()
		sc.gone(r)
	}},
	"Close, and last words": {2, func(sc *scene) {
		sc.build(1, Config{})
		words := 0
		var r Ref[*prop]
		r, _ = Spawn(sc.s, "", Value(&prop{sc: sc, last: func(c *Ctx) {
			words++
			failpoint.At("still")
			select {
			case <-r.Done():
				if c.w != nil {
					return // they had begun when Close came, which does not wait for them
				}
				sc.Errorf("Done is closed before the last words are over")
			default:
			}
		}}))
		sc.sends("sender", tell, r, 1)
		sc.closes()
		sc.rest()
		if sc.gone(r); words > 1 {
			sc.Errorf("said %d times", words)
		}
	}},
	"Close, and calls": {2, func(sc *scene) {
		sc.build(1, Config{})
		r := sc.actor(sc.s, nil)
		sc.calls("caller", tell, r, 1)
		sc.closes()
		sc.rest()
		sc.gone(r)
	}},
	"Close, and a failure": {2, func(sc *scene) {
		sc.build(1, Config{})
		sup, _ := Supervise(sc.s, "", Supervision{})
		r := sc.actor(sup, fails)
		sc.backlog(r, 2)
		sc.closes()
		sc.rest()
		sc.gone(r)
	}},
	"Close, and a handler that waits": {2, func(sc *scene) {
		sc.build(1, Config{})
		r := sc.actor(sc.s, awaits, WithReentrancy(Full))
		sc.backlog(r, 2)
		sc.closes()
		sc.rest()
		sc.gone(r)
	}},
}

// closes is a goroutine that closes the System.
func (sc *scene) closes() { sc.goes("close", func() { _ = sc.s.Close() }) }
