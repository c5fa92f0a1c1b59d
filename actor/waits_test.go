package actor

import (
	"context"
	"errors"
	"testing"
)

// The caller of a message that was put aside waits for the actor, and so does who calls that
// caller from there.
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

// A thread of one's own changes nothing.
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

// Last words, and the start of a later incarnation, wait as other handlers do: for one that
// waits for the actor, in vain.
func TestDeadlockOfLastWordsAndStarts(t *testing.T) {
	modes(t, func(t *testing.T, _ context.Context, cfg Config) {
		s := newSys(t, cfg)
		y, told := box0(t, s, "y"), make(chan error, 3)
		x := must(t, s, "x", func(*Ctx) (*box, error) {
			return &box{end: func(c *Ctx, _ error) { _, err := do.Call(c, y, get); told <- err }}, nil
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
