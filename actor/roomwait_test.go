package actor

import (
	"errors"
	"testing"
	"testing/synctest"
	"time"
)

// Cases of the rule of deadlocks with mailbox policy Wait, each found by TestWebs.

// A call of the chain goes before senders that wait for room and whose messages do not pass the
// handler that waits for the chain.
func TestChainGoesFirst(t *testing.T) {
	bubble(t, func(t *testing.T) {
		s := newSys(t, Config{Slots: 4})
		defer s.Close()
		a, x, y := box0(t, s, "a", WithReentrancy(CallChain), WithMailbox(Mailbox{1, waitFor(time.Hour)})), box0(t, s, "x"), box0(t, s, "y")
		told := make(chan error, 1)
		n, err := do.Call(within(t), a, func(_ *box, c *Ctx) (any, error) {
			first := do.Start(c, x, func(_ *box, c *Ctx) (any, error) { return do.Call(c, a, inc) })
			synctest.Wait() // it is in the mailbox
			go func() { told <- do.Tell(bg, a, inc) }()
			synctest.Wait() // it waits for room
			second := do.Start(c, y, func(_ *box, c *Ctx) (any, error) { return do.Call(c, a, inc) })
			synctest.Wait() // it waits for room too
			_, e1 := second.Wait(c)
			n, e2 := first.Wait(c)
			return n, errors.Join(e1, e2)
		})
		if n != 1 || err != nil {
			t.Errorf("%v, %v", n, err)
		}
		if n, err := do.Call(within(t), a, get); n != 3 || err != nil || <-told != nil {
			t.Errorf("%v, %v", n, err)
		}
	})
}

// Room that another sender gets is no room: a tell of the chain behind it would wait for itself.
func TestRoomIsPromisedOnce(t *testing.T) {
	bubble(t, func(t *testing.T) {
		s := newSys(t, Config{Slots: 4})
		defer s.Close()
		a := box0(t, s, "a", WithReentrancy(CallChain), WithMailbox(Mailbox{1, waitFor(time.Hour)}))
		x, y, z := box0(t, s, "x"), box0(t, s, "y"), box0(t, s, "z")
		busy, second, third, told := make(chan bool), make(chan bool), make(chan bool), make(chan error, 1)
		_ = do.Tell(bg, a, func(_ *box, c *Ctx) (any, error) {
			f1 := do.Start(c, x, func(_ *box, c *Ctx) (any, error) {
				return do.Call(c, a, func(*box, *Ctx) (any, error) { <-busy; return nil, nil })
			})
			f2 := do.Start(c, y, func(_ *box, c *Ctx) (any, error) { <-second; return do.Call(c, a, inc) })
			f3 := do.Start(c, z, func(_ *box, c *Ctx) (any, error) { <-third; told <- do.Tell(c, a, inc); return nil, nil })
			for _, f := range []*Future[any]{f3, f2, f1} {
				_, _ = f.Wait(c)
			}
			return nil, nil
		})
		synctest.Wait() // the first one is in progress
		close(second)
		synctest.Wait() // the second one is in the mailbox
		go func() { _ = do.Tell(bg, a, inc) }()
		synctest.Wait() // it gets the room of the second one
		close(third)
		began := time.Now()
		if err := <-told; !errors.Is(err, ErrDeadlock) || time.Since(began) > time.Minute {
			t.Error(err, time.Since(began))
		}
		close(busy)
	})
}

// An actor that its supervisor takes down takes no tell any more, although it is reentrant. So there
// will be no room before its handlers in progress are over: neither for a handler that these wait
// for, nor for one that waits for room already.
func TestNoRoomBeforeTheEnd(t *testing.T) {
	for _, early := range []bool{false, true} {
		bubble(t, func(t *testing.T) {
			s := newSys(t, Config{Slots: 4})
			defer s.Close()
			p := sup(t, s, "", Supervision{Strategy: OneForAll})
			h, a, b := box0(t, s, "h"), box0(t, p, "a", WithReentrancy(Full), WithMailbox(Mailbox{1, waitFor(time.Hour)})), box0(t, p, "b")
			told, went, busy := make(chan error, 1), make(chan bool), make(chan bool)
			began := time.Now()
			_ = do.Tell(bg, a, func(_ *box, c *Ctx) (any, error) {
				return do.Call(c, h, func(_ *box, c *Ctx) (any, error) {
					<-went
					told <- do.Tell(c, a, inc)
					return nil, nil
				})
			})
			synctest.Wait()
			fall := func() { _ = do.Tell(bg, b, boom); synctest.Wait() }
			if early { // another handler has the turn, so that the mailbox is full
				_ = do.Tell(bg, a, func(*box, *Ctx) (any, error) { <-busy; return nil, nil })
				synctest.Wait()
				_ = do.Tell(bg, a, inc)
				close(went)
				synctest.Wait()
				fall()
				close(busy)
			} else {
				fall()
				_ = do.Tell(bg, a, inc)
				close(went)
			}
			if err := <-told; !errors.Is(err, ErrDeadlock) {
				t.Error(err)
			}
			if n, err := do.Call(within(t), a, get); n != 1 || err != nil || time.Since(began) > time.Minute {
				t.Error(n, err, time.Since(began))
			}
		})
	}
}

// Stashed messages take room that no handler in progress makes.
func TestNoRoomBesideTheStash(t *testing.T) {
	bubble(t, func(t *testing.T) {
		s := newSys(t, Config{Slots: 4})
		defer s.Close()
		a, h := box0(t, s, "a", WithReentrancy(Full), WithMailbox(Mailbox{1, waitFor(time.Hour)})), box0(t, s, "h")
		told, went := make(chan error, 1), make(chan bool)
		_ = do.Tell(bg, a, func(_ *box, c *Ctx) (any, error) {
			return do.Call(c, h, func(_ *box, c *Ctx) (any, error) {
				<-went
				told <- do.Tell(c, a, inc)
				return nil, nil
			})
		})
		synctest.Wait()
		_ = do.Tell(bg, a, func(b *box, c *Ctx) (any, error) { // stashed once
			if b.n++; b.n == 1 {
				c.Stash()
			}
			return nil, nil
		})
		synctest.Wait()
		began := time.Now()
		close(went)
		if err := <-told; !errors.Is(err, ErrDeadlock) || time.Since(began) > time.Minute {
			t.Error(err, time.Since(began))
		}
	})
}

// An actor takes no message before its first start is over, whatever its reentrancy.
func TestDeadlockOfAStart(t *testing.T) {
	for _, r := range []Reentrancy{None, CallChain, Full} {
		bubble(t, func(t *testing.T) {
			s := newSys(t, Config{})
			defer s.Close()
			y := box0(t, s, "y")
			_, err := Spawn(s, "a", func(c *Ctx) (*box, error) {
				self, _ := Self[*box](c)
				_, err := do.Call(c, y, func(_ *box, c *Ctx) (any, error) { return do.Call(c, self, get) })
				return &box{}, err
			}, WithReentrancy(r))
			cycle(t, err, "a", "y")
		})
	}
}
