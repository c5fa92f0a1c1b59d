//go:build firq_failpoints

package actor

import (
	"errors"

	"github.com/firq-go/firq/internal/proof/failpoint"
)

// lifePlays are about incarnations: failures, restarts, and the messages that come in between.
var lifePlays = map[string]play{
	"a failure, and messages": {2, func(sc *scene) {
		sc.build(1, Config{})
		sup, _ := Supervise(sc.s, "", Supervision{})
		r := sc.actor(sup, fails)
		sc.sends("one", tell, r, 1, 2)
		sc.sends("two", tell, r, 3)
		sc.rest()
		if st := sc.s.Stats(); sc.count("handled") != 3 || st.Restarts != 1 {
			sc.Errorf("%v, %+v", sc.ends, st)
		}
		sc.end()
	}},
	"a failure, and a kill": {2, func(sc *scene) {
		sc.build(1, Config{})
		sup, _ := Supervise(sc.s, "", Supervision{})
		r := sc.actor(sup, fails)
		sc.backlog(r, 2)
		sc.goes("kill", r.Kill)
		sc.rest()
		sc.gone(r)
		sc.end()
	}},
	"a failure, and Stop": {2, func(sc *scene) {
		sc.build(1, Config{})
		sup, _ := Supervise(sc.s, "", Supervision{})
		r := sc.actor(sup, fails)
		sc.backlog(r, 2)
		sc.goes("stop", func() { _ = r.Stop(bg) })
		sc.rest()
		sc.gone(r)
		if sc.count("handled") != 2 || r.Err() != nil {
			sc.Errorf("%v, %v", sc.ends, r.Err())
		}
		sc.end()
	}},
	"a failure, and the supervisor stops": {2, func(sc *scene) {
		sc.build(1, Config{})
		sup, _ := Supervise(sc.s, "", Supervision{})
		r := sc.actor(sup, fails)
		sc.backlog(r, 2)
		sc.goes("stop", func() { _ = sup.Stop(bg) })
		sc.rest()
		sc.gone(r)
		sc.end()
	}},
	"a failure too many": {2, func(sc *scene) {
		sc.build(1, Config{})
		sup, _ := Supervise(sc.s, "", Supervision{MaxRestarts: -1})
		r, q := sc.actor(sup, fails), sc.actor(sup, nil)
		sc.sends("one", tell, r, 1)
		sc.sends("two", tell, q, 2)
		sc.rest()
		sc.gone(r)
		sc.gone(q)
		sc.end()
	}},
	"two failures, one for all": {1, func(sc *scene) {
		sc.build(1, Config{})
		sup, _ := Supervise(sc.s, "", Supervision{Strategy: OneForAll})
		r, q := sc.actor(sup, fails), sc.actor(sup, fails)
		sc.sends("one", tell, r, 1, 3)
		sc.sends("two", tell, q, 101, 4)
		sc.rest()
		if st := sc.s.Stats(); sc.count("handled") != 4 || st.Actors != 2 {
			sc.Errorf("%v, %+v", sc.ends, st)
		}
		sc.end()
	}},
	"two failures together, one for all": {1, func(sc *scene) {
		sc.build(2, Config{})
		sup, _ := Supervise(sc.s, "", Supervision{Strategy: OneForAll})
		r, q := sc.actor(sup, fails), sc.actor(sup, fails)
		sc.tell(tell, r, 1)
		sc.tell(tell, q, 101)
		sc.rest()
		if st := sc.s.Stats(); sc.count("handled") != 2 || st.Actors != 2 {
			sc.Errorf("%v, %+v", sc.ends, st)
		}
		sc.end()
	}},
	"two failures together, one too many": {1, func(sc *scene) {
		sc.build(2, Config{})
		sup, _ := Supervise(sc.s, "", Supervision{Strategy: OneForAll, MaxRestarts: 1})
		r, q := sc.actor(sup, fails), sc.actor(sup, fails)
		sc.tell(tell, r, 1)
		sc.tell(tell, q, 101)
		sc.rest()
		sc.gone(r)
		sc.gone(q)
		sc.end()
	}},
	"a failure beside a call on its caller's goroutine": {2, func(sc *scene) {
		sc.build(1, Config{})
		sup, _ := Supervise(sc.s, "", Supervision{})
		r := sc.actor(sup, fails)
		sc.calls("caller", tell, r, 2)
		sc.sends("sender", tell, r, 1)
		sc.rest()
		if sc.count("handled") != 2 {
			sc.Errorf("%v", sc.ends)
		}
		sc.end()
	}},
	"a failure while another handler waits": {2, func(sc *scene) {
		sc.build(1, Config{})
		sup, _ := Supervise(sc.s, "", Supervision{})
		r := sc.actor(sup, func(p *prop, c *Ctx, n int) (int, error) {
			if n == 2 {
				panic(n)
			}
			return awaits(p, c, n)
		}, WithReentrancy(Full))
		sc.backlog(r, 1)
		sc.sends("fails", tell, r, 2, 3)
		sc.rest()
		if st := sc.s.Stats(); sc.count("handled") != 3 || st.Restarts != 1 {
			sc.Errorf("%v, %+v", sc.ends, st)
		}
		sc.end()
	}},
	"a child, and the end of its parent": {2, func(sc *scene) {
		sc.build(1, Config{})
		r := sc.actor(sc.s, func(_ *prop, c *Ctx, n int) (int, error) {
			_, err := Spawn(c, "kid", func(*Ctx) (*prop, error) { return &prop{sc: sc}, nil })
			if err != nil && !errors.Is(err, ErrStopped) {
				sc.Errorf("%v", err)
			}
			return n, nil
		})
		sc.backlog(r, 1)
		sc.goes("kill", r.Kill)
		sc.rest()
		sc.gone(r)
		if n := sc.s.Stats().Actors; n != 0 {
			sc.Errorf("%d actors are left", n)
		}
		sc.end()
	}},
	"a child, and its parent fails": {2, func(sc *scene) {
		sc.build(1, Config{})
		sup, _ := Supervise(sc.s, "", Supervision{})
		var kid Ref[*prop]
		r := sc.actor(sup, func(p *prop, c *Ctx, n int) (int, error) {
			if n == 1 {
				kid, _ = Spawn(c, "", func(*Ctx) (*prop, error) { return &prop{sc: sc}, nil })
				panic(n)
			}
			return n, nil
		})
		sc.backlog(r, 2)
		sc.goes("kid", func() { kid.Kill() })
		sc.rest()
		sc.gone(kid)
		if sc.count("handled") != 2 {
			sc.Errorf("%v", sc.ends)
		}
		sc.end()
	}},
}

// fails is a handler that panics if n is 1 or 101.
func fails(_ *prop, _ *Ctx, n int) (int, error) {
	if n%100 == 1 {
		failpoint.At("fails")
		panic(n)
	}
	return n, nil
}
