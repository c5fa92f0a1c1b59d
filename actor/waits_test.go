package actor

import (
	"context"
	"errors"
	"sync"
	"testing"
	"time"
)

// The caller of a message that was put aside waits for the actor. So a handler of the actor that calls
// this caller would wait for itself.
func TestDeadlockByStash(t *testing.T) {
	modes(t, func(t *testing.T, ctx context.Context, cfg Config) {
		s := newSys(t, cfg)
		x, a := box0(t, s, "x"), box0(t, s, "a")
		put := false
		_ = do.Tell(bg, x, func(_ *box, c *Ctx) (any, error) {
			return do.Call(c, a, func(b *box, c *Ctx) (any, error) {
				if !put {
					put = true
					c.Stash()
				}
				return b.n, nil
			})
		})
		eventually(t, func() bool { return a.Len() == 1 })
		_, err := do.Call(ctx, a, func(_ *box, c *Ctx) (any, error) {
			c.Unstash()
			return do.Call(c, x, get)
		})
		cycle(t, err, "a", "x")
		if _, err := do.Call(within(t), x, get); err != nil {
			t.Error(err)
		}
		books(t, s)
	})
}

// A dedicated thread does not change the rule of deadlocks.
func TestDeadlockOfDedicated(t *testing.T) {
	modes(t, func(t *testing.T, ctx context.Context, cfg Config) {
		s := newSys(t, cfg)
		x, y := box0(t, s, "x", Dedicated()), box0(t, s, "y", Dedicated(), WithReentrancy(CallChain))
		_, err := do.Call(ctx, x, func(_ *box, c *Ctx) (any, error) {
			return do.Call(c, y, func(_ *box, c *Ctx) (any, error) { return do.Call(c, x, get) })
		})
		cycle(t, err, "x", "y")
		if n, err := do.Call(ctx, y, func(_ *box, c *Ctx) (any, error) {
			return do.Call(c, x, func(_ *box, c *Ctx) (any, error) { return do.Call(c, y, inc) })
		}); n != 1 || err != nil {
			t.Error(n, err)
		}
	})
}

// Last words, and the start of a later incarnation, wait as other handlers do: in vain, for a
// handler that waits for the actor.
func TestDeadlockOfLastWordsAndStarts(t *testing.T) {
	modes(t, func(t *testing.T, _ context.Context, cfg Config) {
		s := newSys(t, cfg)
		y, told := box0(t, s, "y"), make(chan error, 3)
		x := must(t, s, "x", func(*Ctx) (*box, error) {
			return &box{end: func(c *Ctx, _ error) {
				eventually(t, func() bool { return waits(y) })
				_, err := do.Call(c, y, get)
				told <- err
			}}, nil
		})
		_, err := do.Call(within(t), y, func(_ *box, c *Ctx) (any, error) { return nil, x.Stop(c) })
		if err != nil {
			t.Errorf("Stop: %v", err)
		}
		cycle(t, <-told, "y", "x")

		_, err = Spawn(s, "a", func(c *Ctx) (*box, error) {
			self, _ := Self[*box](c)
			_, err := do.Call(c, y, func(_ *box, c *Ctx) (any, error) { return do.Call(c, self, get) })
			return &box{}, err
		})
		cycle(t, err, "a", "y")

		again := false
		z := must(t, sup(t, s, "", Supervision{}), "z", func(c *Ctx) (*box, error) {
			if again {
				eventually(t, func() bool { return waits(y) })
				_, err := do.Call(c, y, get)
				told <- err
			}
			again = true
			return &box{}, nil
		})
		free := block(t, z)
		_ = do.Tell(bg, z, boom)
		_ = do.Tell(bg, y, func(_ *box, c *Ctx) (any, error) { _, err := do.Call(c, z, get); told <- err; return nil, nil })
		free()
		cycle(t, <-told, "y", "z")
		if err := <-told; err != nil {
			t.Errorf("y: %v", err)
		}
	})
}

// A handler cannot wait for its own System, nor for an ancestor of its actor.
func TestDeadlockOfOwnEnd(t *testing.T) {
	modes(t, func(t *testing.T, ctx context.Context, cfg Config) {
		s := newSys(t, cfg)
		x := box0(t, s, "x")
		if _, err := do.Call(ctx, x, func(_ *box, c *Ctx) (any, error) { return nil, s.Shutdown(c) }); !errors.Is(err, ErrDeadlock) {
			t.Error(err)
		}
		var y Ref[*box]
		if _, err := do.Call(ctx, x, func(_ *box, c *Ctx) (_ any, err error) { y, err = Spawn(c, "y", fresh); return nil, err }); err != nil {
			t.Fatal(err)
		}
		_, err := do.Call(ctx, y, func(_ *box, c *Ctx) (any, error) { return nil, x.Stop(c) })
		cycle(t, err, "x", "y")
		<-x.Done()
	})
}

// A handler whose wait was ended by a ctx does not wait any more, although it has not got its
// turn back yet.
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
				self := Ref[*box]{a: x.a}
				do.Start(c, via, func(_ *box, c *Ctx) (any, error) { // its call comes in while x waits, and stays
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

// A full mailbox that holds a message of the call chain will have room, although the actor waits
// for the sender that wants the room.
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

// A reentrant actor also waits while its handler starts an actor and that actor's start waits.
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

// A start that is already in progress waits for no other start, until it fails.
func TestStartWaitsForStartInProgress(t *testing.T) {
	for name, fails := range map[string]bool{"and succeeds": false, "and fails": true} {
		t.Run(name, func(t *testing.T) {
			limit(t, 20*time.Second)
			s := newSys(t, Config{})
			p := sup(t, s, "", Supervision{Strategy: OneForAll, MaxRestarts: 9})
			var x, y Ref[*box]
			starting, goOn, told := make(chan bool, 9), make(chan error, 9), make(chan error, 9)
			var starts [2]int
			y = must(t, p, "y", func(c *Ctx) (*box, error) {
				if starts[0]++; starts[0] == 3 {
					_, err := do.Call(c, x, get)
					told <- err
				}
				return &box{}, nil
			}, WithReentrancy(CallChain))
			x = must(t, p, "x", func(c *Ctx) (*box, error) {
				if starts[1]++; starts[1] == 2 {
					starting <- true
					return &box{}, <-goOn
				}
				return &box{}, nil
			})
			_ = do.Tell(bg, x, boom)
			<-starting
			_ = do.Tell(bg, y, boom) // while x starts
			eventually(t, func() bool { return x.Len() == 1 || len(told) > 0 })
			if fails {
				goOn <- errStart
				cycle(t, <-told, "y", "x")
			} else {
				goOn <- nil
				if err := <-told; err != nil {
					t.Error(err)
				}
			}
			for _, r := range []Ref[*box]{x, y} {
				if _, err := do.Call(within(t), r, get); err != nil {
					t.Errorf("%s: %v", r.Name(), err)
				}
			}
		})
	}
}

// A start that waits for a sibling also waits in vain once that sibling is being taken down.
func TestStartWaitsForSiblingTakenDown(t *testing.T) {
	limit(t, 20*time.Second)
	s := newSys(t, Config{})
	p := sup(t, s, "", Supervision{Strategy: OneForAll, MaxRestarts: 9})
	starting, goOn, told := make(chan bool), make(chan bool), make(chan error, 1)
	var y Ref[*box]
	starts := 0
	x := must(t, p, "x", func(c *Ctx) (*box, error) {
		if starts++; starts == 2 {
			starting <- true
			<-goOn
			_, err := do.Call(c, y, get)
			told <- err
		}
		return &box{}, nil
	})
	_ = do.Tell(bg, x, boom)
	<-starting
	y = box0(t, p, "y")
	z, free := box0(t, p, "z"), block(t, y)
	close(goOn)
	eventually(t, func() bool { return y.Len() == 1 })
	_ = do.Tell(bg, z, boom)
	eventually(t, func() bool { return y.a.is((*actor).isAwaited) })
	free()
	cycle(t, <-told, "x", "y")
	for _, r := range []Ref[*box]{x, y, z} {
		if _, err := do.Call(within(t), r, get); err != nil {
			t.Errorf("%s: %v", r.Name(), err)
		}
	}
}
