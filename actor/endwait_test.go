package actor

import (
	"context"
	"errors"
	"slices"
	"sync"
	"testing"
	"time"
)

// cycle fails unless err is a deadlock of these actors, each of which waits for the next one.
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

// A start that has failed waits for the end of the children that it has started. A handler
// of theirs that calls who waits for that start would wait for itself.
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

// Who stops an actor waits for its descendants, too, whether they call before or afterwards.
func TestStopAndItsChild(t *testing.T) {
	modes(t, func(t *testing.T, _ context.Context, cfg Config) {
		for _, before := range []bool{true, false} { // the call comes before Stop
			s := newSys(t, cfg)
			x, a := box0(t, s, "x"), box0(t, s, "a")
			var b Ref[*box]
			if _, err := do.Call(within(t), a, func(_ *box, c *Ctx) (_ any, err error) { b, err = Spawn(c, "b", fresh); return nil, err }); err != nil {
				t.Fatal(err)
			}
			told := make(chan error, 2)
			calls := func() {
				_ = do.Tell(bg, b, func(_ *box, c *Ctx) (any, error) {
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

// A handler that a descendant of the actor waits for does not wait for its end.
func TestStopByWhoIsCalledByItsChild(t *testing.T) {
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

// The end of a System is waited for by handlers of another one as that of an actor is.
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

// A supervisor starts those that it restarts together one by one. So the start of the first
// does not wait for one that comes after it, nor for who waits for that.
func TestStartDoesNotWaitForWhoComesLater(t *testing.T) {
	for name, by := range map[string]bool{"directly": false, "by another one": true} {
		t.Run(name, func(t *testing.T) {
			limit(t, 20*time.Second)
			s := newSys(t, Config{})
			p := sup(t, s, "p", Supervision{Strategy: OneForAll})
			var y, z Ref[*box]
			told := make(chan error, 1)
			again := false
			x := must(t, p, "x", func(c *Ctx) (*box, error) {
				if again {
					to := y
					if by {
						_ = do.Tell(bg, z, func(_ *box, c *Ctx) (any, error) { return do.Call(c, y, get) })
						eventually(t, func() bool { return y.Len() == 1 })
						to = z
					}
					_, err := do.Call(c, to, get)
					told <- err
				}
				again = true
				return &box{}, nil
			})
			y, z = box0(t, p, "y"), box0(t, s, "z")
			_ = do.Tell(bg, y, boom)
			if by {
				cycle(t, <-told, "x", "z", "y")
			} else {
				cycle(t, <-told, "x", "y")
			}
			for _, r := range []Ref[*box]{x, y, z} {
				if _, err := do.Call(within(t), r, get); err != nil {
					t.Errorf("%s: %v", r.Name(), err)
				}
			}
		})
	}
}

// It may wait for one that was started before it, and for one that is restarted alone.
func TestStartWaitsForWhoComesEarlier(t *testing.T) {
	limit(t, 20*time.Second)
	s := newSys(t, Config{})
	for _, how := range []Strategy{OneForAll, OneForOne} {
		p := sup(t, s, "", Supervision{Strategy: how})
		refs := make([]Ref[*box], 2)
		told := make(chan error, 2)
		again := false
		asks := func(i int) func(*Ctx) (*box, error) {
			return func(c *Ctx) (*box, error) {
				if again {
					_, err := do.Call(c, refs[i], get)
					told <- err
				}
				return &box{}, nil
			}
		}
		free := make(chan bool)
		slow := func(*Ctx) (*box, error) {
			if again {
				<-free
			}
			return &box{}, nil
		}
		if how == OneForAll {
			refs[0], refs[1] = must(t, p, "", slow), must(t, p, "", asks(0))
		} else {
			refs[0], refs[1] = must(t, p, "", asks(1)), must(t, p, "", slow)
		}
		again = true
		hold := block(t, refs[0])
		_ = do.Tell(bg, refs[0], boom)
		if how == OneForOne {
			_ = do.Tell(bg, refs[1], boom)
			eventually(t, func() bool { return refs[1].a.lifeNow() == down })
		}
		hold()
		eventually(t, func() bool { return refs[0].a.lifeNow() == down })
		close(free)
		if err := <-told; err != nil {
			t.Errorf("%v: %v", how, err)
		}
		s.Close()
		s = newSys(t, Config{})
	}
}

// A handler whose wait was ended by a ctx does not wait any more, though it has not got
// its turn back yet.
func TestWaitIsOverBeforeTheTurn(t *testing.T) {
	limit(t, 20*time.Second)
	for name, wait := range map[string]func(c *Ctx, ctx context.Context, b Ref[*box]) error{
		"Future.Wait": func(c *Ctx, ctx context.Context, b Ref[*box]) error {
			_, err := do.Start(c, b, get).Wait(ctx)
			return err
		},
		"Stop": func(_ *Ctx, ctx context.Context, b Ref[*box]) error { return b.Stop(ctx) },
	} {
		t.Run(name, func(t *testing.T) {
			s := newSys(t, Config{Slots: 4})
			x, b, via := box0(t, s, "x", WithReentrancy(CallChain)), box0(t, s, "b"), box0(t, s, "via")
			goOn, told, over := make(chan bool), make(chan error, 1), make(chan error, 1)
			_ = do.Tell(bg, b, func(_ *box, c *Ctx) (any, error) {
				<-goOn
				_, err := do.Call(c, x, get)
				told <- err
				return nil, nil
			})
			in, out := make(chan bool), make(chan bool)
			_ = do.Tell(bg, x, func(_ *box, c *Ctx) (any, error) {
				self := Ref[*box]{x.a}
				do.Start(c, via, func(_ *box, c *Ctx) (any, error) { // comes in while x waits, and stays
					return do.Call(c, self, func(*box, *Ctx) (any, error) { close(in); <-out; return nil, nil })
				})
				ctx, cancel := context.WithCancel(c)
				go func() { <-in; cancel() }()
				over <- wait(c, ctx, b)
				return nil, nil
			})
			<-in
			eventually(t, func() bool { x.a.mu.Lock(); defer x.a.mu.Unlock(); return len(x.a.x.resume) == 1 })
			close(goOn)
			eventually(t, func() bool { return x.Len() == 1 || len(told) > 0 })
			close(out)
			if err := <-over; !errors.Is(err, context.Canceled) {
				t.Errorf("x: %v", err)
			}
			if err := <-told; err != nil {
				t.Errorf("b: %v", err)
			}
		})
	}
}

// A full mailbox in which there is a message of the call chain will have room, though the
// actor waits for who wants it.
func TestRoomBehindTheCallChain(t *testing.T) {
	limit(t, 20*time.Second)
	s := newSys(t, Config{Slots: 1, Handoff: -1})
	x := box0(t, s, "x", WithReentrancy(CallChain), WithMailbox(Mailbox{1, waitFor(time.Hour)}))
	b1, b2, hog := box0(t, s, "b1"), box0(t, s, "b2"), box0(t, s, "hog")
	hogged, free, told := make(chan bool), make(chan bool), make(chan error, 1)
	var met [2]chan bool
	met[0], met[1] = make(chan bool), make(chan bool)
	_ = do.Tell(bg, x, func(_ *box, c *Ctx) (any, error) {
		f := do.Start(c, b1, func(_ *box, c *Ctx) (any, error) {
			_ = c.Await(func() error { close(met[0]); <-hogged; return nil }) // from here on without a slot
			return do.Call(c, x, get)
		})
		_, err := do.Start(c, b2, func(_ *box, c *Ctx) (any, error) {
			_ = c.Await(func() error {
				close(met[1])
				eventually(t, func() bool { return x.Len() == 1 })
				return nil
			})
			wanted := func() bool { x.a.mu.Lock(); defer x.a.mu.Unlock(); return len(x.a.x.room) == 1 }
			free := sync.OnceFunc(func() { close(free) })
			go func() { eventually(t, wanted); free() }()
			err := do.Tell(c, x, inc)
			free()
			told <- err
			return nil, nil
		}).Wait(c)
		_, err1 := f.Wait(c)
		return nil, errors.Join(err, err1)
	})
	<-met[0]
	<-met[1]
	_ = do.Tell(bg, hog, func(*box, *Ctx) (any, error) { close(hogged); <-free; return nil, nil })
	if err := <-told; err != nil {
		t.Error(err)
	}
	<-free
	if n, err := do.Call(within(t), x, get); n != 1 || err != nil {
		t.Error(n, err)
	}
}

// A reentrant actor waits, too, while the start of an actor does that its handler starts.
func TestReentrantDuringStart(t *testing.T) {
	modes(t, func(t *testing.T, ctx context.Context, cfg Config) {
		for _, how := range []Reentrancy{None, CallChain, Full} {
			s := newSys(t, cfg)
			x, y := box0(t, s, "x", WithReentrancy(how)), box0(t, s, "y")
			n, err := do.Call(ctx, x, func(b *box, c *Ctx) (any, error) {
				_, err := Spawn(c, "a", func(c *Ctx) (*box, error) {
					_, err := do.Call(c, y, func(_ *box, c *Ctx) (any, error) { return do.Call(c, x, inc) })
					return &box{}, err
				})
				return b.n, err
			})
			if how == None {
				cycle(t, err, "x", "a", "y")
			} else if n != 1 || err != nil {
				t.Errorf("%v: %v %v", how, n, err)
			}
			if _, err := do.Call(ctx, x, get); err != nil {
				t.Errorf("%v: %v", how, err)
			}
			books(t, s)
		}
	})
}
