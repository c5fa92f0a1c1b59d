package actor

import (
	"errors"
	"fmt"
	"slices"
	"testing"
	"time"
)

// A handler may not wait for the next incarnation of an actor if its own actor has to end before
// that: a sibling that is restarted together with that actor, or a child of it.
func TestCallOfActorThatEndsFirst(t *testing.T) {
	for _, before := range []bool{true, false} { // the call comes before the failure
		t.Run(fmt.Sprint("sibling, call first: ", before), func(t *testing.T) {
			limit(t, 20*time.Second)
			s := newSys(t, Config{})
			p := sup(t, s, "", Supervision{Strategy: OneForAll})
			x, y := box0(t, p, "x"), box0(t, p, "y")
			endsFirst(t, x, y, before, func() { _ = do.Tell(bg, x, boom) })
		})
		t.Run(fmt.Sprint("child, call first: ", before), func(t *testing.T) {
			limit(t, 20*time.Second)
			s := newSys(t, Config{})
			x := box0(t, sup(t, s, "", Supervision{}), "x")
			var y Ref[*box]
			if _, err := do.Call(within(t), x, func(_ *box, c *Ctx) (any, error) {
				var err error
				y, err = Spawn(c, "y", fresh)
				return nil, err
			}); err != nil {
				t.Fatal(err)
			}
			endsFirst(t, x, y, before, func() { _ = do.Tell(bg, x, boom) })
		})
	}
}

// endsFirst lets x fail while a handler of y calls it, or has called it.
func endsFirst(t *testing.T, x, y Ref[*box], before bool, fail func()) {
	t.Helper()
	hold, held, told := make(chan bool), make(chan bool), make(chan error, 1)
	_ = do.Tell(bg, x, func(*box, *Ctx) (any, error) { close(held); <-hold; return nil, nil })
	<-held
	fail() // the next message
	called := make(chan bool)
	down := func() bool { x.a.mu.Lock(); defer x.a.mu.Unlock(); return x.a.isDown() || x.a.ends() }
	_ = do.Tell(bg, y, func(_ *box, c *Ctx) (any, error) {
		if !before {
			close(called)
			eventually(t, down)
		}
		_, err := do.Call(c, x, get)
		told <- err
		return nil, nil
	})
	if before {
		eventually(t, func() bool { return x.Len() == 2 })
	} else {
		<-called
	}
	close(hold)
	var d *DeadlockError
	if err := <-told; !errors.As(err, &d) || len(d.Cycle) != 2 || !slices.Contains(d.Cycle, "x") || !slices.Contains(d.Cycle, "y") {
		t.Errorf("%v", err)
	}
	if _, err := do.Call(within(t), x, get); err != nil {
		t.Errorf("x: %v", err)
	}
}

// An actor whose next step of life has to wait for the handlers in progress still handles the
// calls that one of those waits for in its own call chain. Otherwise neither would ever happen.
func TestCallChainBeforeLife(t *testing.T) {
	t.Run("call chain", func(t *testing.T) { callBeforeLife(t, CallChain) })
	t.Run("full", func(t *testing.T) { callBeforeLife(t, Full) })
}

func callBeforeLife(t *testing.T, re Reentrancy) {
	for name, due := range map[string]func(x, y Ref[*box]){
		"taken down": func(x, y Ref[*box]) {
			_ = do.Tell(bg, y, boom) // and x goes with it
			eventually(t, func() bool { x.a.mu.Lock(); defer x.a.mu.Unlock(); return x.a.awaited })
		},
		"nudged": func(x, _ Ref[*box]) { x.a.nudge() },
	} {
		for _, before := range []bool{true, false} { // the call comes before that
			t.Run(fmt.Sprint(name, ", call first: ", before), func(t *testing.T) {
				limit(t, 20*time.Second)
				s := newSys(t, Config{})
				p := sup(t, s, "", Supervision{Strategy: OneForAll})
				x, y := box0(t, p, "x", WithReentrancy(re)), box0(t, p, "y")
				_, err := do.Call(within(t), x, func(_ *box, c *Ctx) (any, error) {
					self, via := Ref[*box]{a: x.a}, must(t, s, "", fresh)
					if !before {
						due(x, y)
					}
					return do.Call(c, via, func(_ *box, c *Ctx) (any, error) {
						if before {
							due(x, y)
						}
						return do.Call(c, self, get)
					})
				})
				if err != nil {
					t.Error(err)
				}
				if _, err := do.Call(within(t), x, get); err != nil {
					t.Errorf("afterwards: %v", err)
				}
			})
		}
	}
}

// The same if the handler that waits for the next incarnation does not have the turn of its
// actor, but keeps others out: because it reads, or the actor lets only its call chain in.
func TestCallThroughOthersOfActorThatEndsFirst(t *testing.T) {
	for name, c := range map[string]struct {
		m  *Method[*box, job, any]
		re Reentrancy
	}{"reader": {look, None}, "call chain": {do, CallChain}} {
		t.Run(name, func(t *testing.T) {
			limit(t, 20*time.Second)
			s := newSys(t, Config{})
			x, z := box0(t, sup(t, s, "", Supervision{}), "x"), box0(t, s, "z", WithReentrancy(c.re))
			var y Ref[*box]
			if _, err := do.Call(within(t), x, func(_ *box, c *Ctx) (_ any, err error) { y, err = Spawn(c, "y", fresh); return nil, err }); err != nil {
				t.Fatal(err)
			}
			hold, held, told := make(chan bool), make(chan bool), make(chan error, 1)
			_ = do.Tell(bg, x, func(*box, *Ctx) (any, error) { close(held); <-hold; return nil, nil })
			<-held
			_ = do.Tell(bg, x, boom)
			_ = c.m.Tell(bg, z, func(_ *box, c *Ctx) (any, error) { _, err := do.Call(c, x, get); told <- err; return nil, nil })
			eventually(t, func() bool { return x.Len() == 2 })
			_ = do.Tell(bg, y, func(_ *box, c *Ctx) (any, error) { return do.Call(c, z, get) })
			eventually(t, func() bool { return z.Len() == 1 })
			close(hold)
			if err := <-told; !errors.Is(err, ErrDeadlock) {
				t.Errorf("%v", err)
			}
			if _, err := do.Call(within(t), x, get); err != nil {
				t.Errorf("x: %v", err)
			}
		})
	}
}

// Nor may such a handler wait for the end of an actor that has to be restarted first.
func TestStopByActorThatEndsFirst(t *testing.T) {
	limit(t, 20*time.Second)
	s := newSys(t, Config{})
	p := sup(t, s, "", Supervision{Strategy: OneForAll})
	x, y := box0(t, p, "x"), box0(t, p, "y")
	hold, held, told := make(chan bool), make(chan bool), make(chan error, 1)
	_ = do.Tell(bg, x, func(*box, *Ctx) (any, error) { close(held); <-hold; return nil, nil })
	<-held
	_ = do.Tell(bg, x, boom)
	_ = do.Tell(bg, y, func(_ *box, c *Ctx) (any, error) { told <- x.Stop(c); return nil, nil })
	eventually(t, func() bool { x.a.mu.Lock(); defer x.a.mu.Unlock(); return x.a.draining })
	eventually(t, func() bool { g := y.a.cur.Load(); return g != nil && g.wait.Load() != nil })
	close(hold)
	if err := <-told; !errors.Is(err, ErrDeadlock) {
		t.Errorf("%v", err)
	}
	<-x.Done()
}

// A failed actor handles nothing while one of its handlers still waits, whatever its
// reentrancy. So its callers wait for that handler as well.
func TestCallOfActorThatFailsDuringTheWait(t *testing.T) {
	limit(t, 20*time.Second)
	s := newSys(t, Config{})
	p := sup(t, s, "", Supervision{Strategy: OneForAll})
	x, y := box0(t, p, "x"), box0(t, p, "y")
	z := box0(t, sup(t, s, "", Supervision{}), "z", WithReentrancy(Full))
	hold, told := make(chan bool), make(chan error, 2)
	stays := func(r Ref[*box], then job) {
		held := make(chan bool)
		gate := hold
		_ = do.Tell(bg, r, func(b *box, c *Ctx) (any, error) { close(held); <-gate; return then(b, c) })
		<-held
	}
	calls := func(r, to Ref[*box]) {
		_ = do.Tell(bg, r, func(_ *box, c *Ctx) (any, error) { _, err := do.Call(c, to, get); told <- err; return nil, nil })
	}
	stays(x, boom)
	calls(z, x)
	eventually(t, func() bool { return x.Len() == 1 })
	xFails := hold
	hold = make(chan bool)
	stays(z, boom)
	calls(y, z)
	eventually(t, func() bool { return z.Len() == 1 })
	close(xFails)
	eventually(t, func() bool { return y.a.is((*actor).isAwaited) })
	close(hold)
	if err := errors.Join(<-told, <-told); !errors.Is(err, ErrDeadlock) {
		t.Errorf("%v", err)
	}
	for _, r := range []Ref[*box]{x, y, z} {
		if _, err := do.Call(within(t), r, get); err != nil {
			t.Errorf("%s: %v", r.Name(), err)
		}
	}
}
