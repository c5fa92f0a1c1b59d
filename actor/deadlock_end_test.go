package actor

import (
	"context"
	"errors"
	"slices"
	"testing"
	"time"
)

// cycle fails unless err is a deadlock of these actors, each waiting for the next one.
func cycle(t *testing.T, err error, names ...string) {
	t.Helper()
	var d *DeadlockError
	if !errors.As(err, &d) {
		t.Errorf("no deadlock: %v", err)
		return
	}
	for range names {
		if slices.Equal(d.Cycle, names) {
			return
		}
		names = append(names[1:], names[0])
	}
	t.Errorf("the cycle is %v, want %v", d.Cycle, names)
}

// waits reports whether a handler of r waits for something.
func waits(r Ref[*box]) bool {
	g := r.a.cur.Load()
	return g != nil && g.wait.Load() != nil
}

var errStart = errors.New("start")

// A start that has failed waits for the end of the children that it has started. If a handler of
// such a child calls an actor that waits for that start, it would wait for itself.
func TestFailedStartAndItsChild(t *testing.T) {
	modes(t, func(t *testing.T, _ context.Context, cfg Config) {
		for _, before := range []bool{true, false} { // the call comes before the failure
			s := newSys(t, cfg)
			x, told := box0(t, s, "x"), make(chan error, 1)
			_, err := do.Call(within(t), x, func(_ *box, c *Ctx) (any, error) {
				_, err := Spawn(c, "a", func(c *Ctx) (*box, error) {
					b, err := Spawn(c, "b", fresh)
					if err != nil {
						return nil, err
					}
					gate := make(chan bool)
					_ = do.Tell(bg, b, func(_ *box, c *Ctx) (any, error) {
						if !before {
							close(gate)
							eventually(t, func() bool { return waits(x) })
						}
						_, err := do.Call(c, x, get)
						told <- err
						return nil, nil
					})
					if before {
						eventually(t, func() bool { return x.Len() == 1 })
					} else {
						<-gate
					}
					return nil, errStart
				})
				return nil, err
			})
			if !errors.Is(err, errStart) {
				t.Errorf("Spawn: %v", err)
			}
			cycle(t, <-told, "x", "a", "b")
			if _, err := do.Call(within(t), x, get); err != nil {
				t.Errorf("x: %v", err)
			}
			books(t, s)
		}
	})
}

// A caller that stops an actor waits for its descendants, too, whether they call before or afterwards.
func TestStopAndItsChild(t *testing.T) {
	modes(t, func(t *testing.T, _ context.Context, cfg Config) {
		for _, before := range []bool{true, false} { // the call comes before Stop
			s := newSys(t, cfg)
			x, a := box0(t, s, "x"), box0(t, s, "a")
			var b Ref[*box]
			if _, err := do.Call(within(t), a, func(_ *box, c *Ctx) (_ any, err error) { b, err = Spawn(c, "b", fresh); return nil, err }); err != nil {
				t.Fatal(err)
			}
			told, began := make(chan error, 2), make(chan bool)
			calls := func() {
				_ = do.Tell(bg, b, func(_ *box, c *Ctx) (any, error) {
					close(began)
					if !before {
						eventually(t, func() bool { return waits(x) })
					}
					_, err := do.Call(c, x, get)
					told <- err
					return nil, nil
				})
			}
			_ = do.Tell(bg, x, func(_ *box, c *Ctx) (any, error) {
				calls()
				<-began // Stop lets a child end without what is in its mailbox
				if before {
					eventually(t, func() bool { return x.Len() == 1 })
				}
				told <- a.Stop(c)
				return nil, nil
			})
			if before {
				cycle(t, <-told, "x", "a", "b")
			} else {
				cycle(t, <-told, "b", "x", "a")
			}
			if err := <-told; err != nil {
				t.Errorf("the other one: %v", err)
			}
			<-a.Done()
			books(t, s)
		}
	})
}

// A handler that a descendant of an actor waits for may not wait for the end of that actor.
func TestStopByCalleeOfItsChild(t *testing.T) {
	modes(t, func(t *testing.T, ctx context.Context, cfg Config) {
		s := newSys(t, cfg)
		x, p := box0(t, s, "x"), sup(t, s, "p", Supervision{})
		b := box0(t, p, "b")
		_, err := do.Call(ctx, b, func(_ *box, c *Ctx) (any, error) {
			return do.Call(c, x, func(_ *box, c *Ctx) (any, error) { return nil, p.Stop(c) })
		})
		cycle(t, err, "b", "x", "p")
		<-p.Done()
	})
}

// A handler waits for the end of another System as it does for the end of an actor.
func TestShutdownOfAnotherSystem(t *testing.T) {
	modes(t, func(t *testing.T, _ context.Context, cfg Config) {
		for _, before := range []bool{true, false} { // the call comes before Shutdown
			s, other := newSys(t, cfg), newSys(t, cfg)
			x, b := box0(t, s, "x"), box0(t, other, "b")
			told := make(chan error, 2)
			_ = do.Tell(bg, x, func(_ *box, c *Ctx) (any, error) {
				_ = do.Tell(bg, b, func(_ *box, c *Ctx) (any, error) {
					if !before {
						eventually(t, func() bool { return waits(x) })
					}
					_, err := do.Call(c, x, get)
					told <- err
					return nil, nil
				})
				if before {
					eventually(t, func() bool { return x.Len() == 1 })
				}
				told <- other.Shutdown(c)
				return nil, nil
			})
			cycle(t, <-told, "b", "x")
			if err := <-told; err != nil {
				t.Errorf("the other one: %v", err)
			}
		}
	})
}

// A supervisor starts the children that it restarts together one by one. So the start of the first
// may not wait for a later one, nor for an actor that waits for a later one.
func TestStartDoesNotWaitForLaterSibling(t *testing.T) {
	for _, by := range []string{"directly", "by another one that waits before", "by another one that waits later"} {
		t.Run(by, func(t *testing.T) { startAndLaterSibling(t, by, None) })
		t.Run(by+", reentrant", func(t *testing.T) { startAndLaterSibling(t, by, CallChain) })
	}
}

func startAndLaterSibling(t *testing.T, by string, how Reentrancy) {
	limit(t, 20*time.Second)
	s := newSys(t, Config{})
	p := sup(t, s, "p", Supervision{Strategy: OneForAll})
	var y, z Ref[*box]
	told := make(chan error, 2)
	again := false
	x := must(t, p, "x", func(c *Ctx) (*box, error) {
		to := z
		switch {
		case !again:
			again = true
			return &box{}, nil
		case by == "directly":
			to = y
		case by == "by another one that waits before":
			_ = do.Tell(bg, z, func(_ *box, c *Ctx) (any, error) { return do.Call(c, y, get) })
			eventually(t, func() bool { return y.Len() == 1 })
		default:
			_ = do.Tell(bg, z, func(_ *box, c *Ctx) (any, error) {
				eventually(t, func() bool { return z.Len() == 1 })
				_, err := do.Call(c, y, get)
				told <- err
				return nil, nil
			})
			_, err := do.Call(c, z, get)
			return &box{}, err
		}
		_, err := do.Call(c, to, get)
		told <- err
		return &box{}, nil
	}, WithReentrancy(how))
	y, z = box0(t, p, "y"), box0(t, s, "z")
	_ = do.Tell(bg, y, boom)
	if by == "directly" {
		cycle(t, <-told, "x", "y")
	} else {
		cycle(t, <-told, "x", "z", "y")
	}
	for _, r := range []Ref[*box]{x, y, z} {
		if _, err := do.Call(within(t), r, get); err != nil {
			t.Errorf("%s: %v", r.Name(), err)
		}
	}
}

// A start may wait for a sibling that was started before it.
func TestStartWaitsForEarlierSibling(t *testing.T) {
	limit(t, 20*time.Second)
	s := newSys(t, Config{})
	p := sup(t, s, "", Supervision{Strategy: OneForAll})
	again, free, told := false, make(chan bool), make(chan error, 1)
	x := must(t, p, "x", func(*Ctx) (*box, error) {
		if again {
			<-free
		}
		return &box{}, nil
	})
	must(t, p, "y", func(c *Ctx) (*box, error) {
		if again {
			_, err := do.Call(c, x, get)
			told <- err
		}
		return &box{}, nil
	})
	again = true
	_ = do.Tell(bg, x, boom)
	eventually(t, func() bool { return x.a.is((*actor).isDown) })
	close(free)
	if err := <-told; err != nil {
		t.Error(err)
	}
}

// And for a sibling that is restarted alone, although that one has the longer backoff.
func TestStartWaitsForSiblingRestartedAlone(t *testing.T) {
	bubble(t, func(t *testing.T) {
		s := newSys(t, Config{})
		p := sup(t, s, "", Supervision{MaxRestarts: 99, Within: time.Hour, Backoff: 10 * time.Millisecond})
		again, told := false, make(chan error, 1)
		var y Ref[*box]
		x := must(t, p, "x", func(c *Ctx) (*box, error) {
			if again {
				_, err := do.Call(c, y, get)
				told <- err
			}
			again = true
			return &box{}, nil
		})
		y = box0(t, p, "y")
		for range 5 {
			_ = do.Tell(bg, y, boom)
		}
		_, _ = do.Call(bg, y, get) // from now on its backoff is longer than that of x
		_ = do.Tell(bg, y, boom)
		_ = do.Tell(bg, x, boom)
		if err := <-told; err != nil {
			t.Error(err)
		}
	})
}
