//go:build firq_failpoints

package actor

import "errors"

// endWaitPlays are about handlers that wait for the end of an actor, while a child of it
// calls them.
var endWaitPlays = map[string]play{
	"a start that fails, and its child calls": {2, func(sc *scene) {
		sc.build(2, Config{})
		var x Ref[*prop]
		x = sc.actor(sc.s, func(_ *prop, c *Ctx, n int) (int, error) {
			if n != 1 {
				return n, nil
			}
			_, err := Spawn(c, "", func(c *Ctx) (*prop, error) {
				sc.childCalls(c, x)
				return nil, errStart
			})
			if !errors.Is(err, errStart) {
				sc.Errorf("Spawn: %v", err)
			}
			return n, nil
		})
		sc.sends("sender", tell, x, 1)
		sc.end()
	}},
	"Stop, and a child calls": {2, func(sc *scene) {
		sc.build(2, Config{})
		var x Ref[*prop]
		var told error
		x = sc.actor(sc.s, func(_ *prop, c *Ctx, n int) (int, error) {
			if n != 1 {
				return n, nil
			}
			a, _ := Spawn(sc.s, "", func(c *Ctx) (*prop, error) { sc.childCalls(c, x); return &prop{sc: sc}, nil })
			if told = a.Stop(c); told != nil && !errors.Is(told, ErrDeadlock) {
				sc.Errorf("Stop: %v", told)
			}
			return n, nil
		})
		sc.sends("sender", tell, x, 1)
		sc.end()
	}},
}

// childCalls starts a child whose handler of 2 calls x.
func (sc *scene) childCalls(c *Ctx, x Ref[*prop]) {
	b, err := Spawn(c, "", func(*Ctx) (*prop, error) {
		return &prop{sc: sc, body: func(_ *prop, c *Ctx, n int) (int, error) {
			if _, err := sc.call(c, x, 3); err != nil && !errors.Is(err, ErrDeadlock) {
				sc.Errorf("the child: %v", err)
			}
			return n, nil
		}}, nil
	})
	if err != nil {
		sc.Errorf("the child: %v", err)
		return
	}
	sc.tell(tell, b, 2)
}
