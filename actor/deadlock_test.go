package actor

import (
	"context"
	"errors"
	"slices"
	"strconv"
	"sync"
	"testing"
)

// ring makes n actors; hop calls the next one until left is 0.
func ring(t *testing.T, s *System, n int, opts ...Option) (refs []Ref[*box], hop func(i, left int) job) {
	for i := range n {
		refs = append(refs, box0(t, s, "a"+strconv.Itoa(i), opts...))
	}
	hop = func(i, left int) job {
		return func(b *box, c *Ctx) (any, error) {
			b.n++
			if left == 0 {
				return b.n, nil
			}
			return do.Call(c, refs[(i+1)%n], hop(i+1, left-1))
		}
	}
	return refs, hop
}

// A cycle of calls of any length is reported immediately, with the names of the actors in it.
func TestDeadlockOfOneChain(t *testing.T) {
	modes(t, func(t *testing.T, ctx context.Context, cfg Config) {
		for _, n := range []int{1, 2, 3, 7, 100} {
			s := newSys(t, cfg)
			refs, hop := ring(t, s, n)
			_, err := do.Call(ctx, refs[0], hop(0, n))
			var d *DeadlockError
			if !errors.Is(err, ErrDeadlock) || !errors.As(err, &d) {
				t.Fatalf("%d: %v", n, err)
			}
			var want []string
			for i := range n {
				want = append(want, "a"+strconv.Itoa(i))
			}
			if !slices.Equal(d.Cycle, want) {
				t.Fatalf("%d: %v", n, d.Cycle)
			}
			if st := s.Stats(); st.Deadlocks != 1 {
				t.Fatal(st)
			}
			books(t, s)
			for _, r := range refs { // no actor is stuck
				if _, err := do.Call(within(t), r, get); err != nil {
					t.Fatal(err)
				}
			}
		}
	})
}

// Two chains that cross: exactly one of the two is refused.
func TestDeadlockOfTwoChains(t *testing.T) {
	limit(t, 20e9)
	for range 200 {
		s := newSys(t, Config{Slots: 4})
		a, b := box0(t, s, "a"), box0(t, s, "b")
		var met sync.WaitGroup
		met.Add(2)
		errs := make(chan error, 2)
		for _, p := range [][2]Ref[*box]{{a, b}, {b, a}} {
			go func() {
				_, err := do.Call(context.Background(), p[0], func(_ *box, c *Ctx) (any, error) {
					met.Done()
					met.Wait()
					return do.Call(c, p[1], get)
				})
				errs <- err
			}()
		}
		e1, e2 := <-errs, <-errs
		if errors.Is(e1, ErrDeadlock) == errors.Is(e2, ErrDeadlock) {
			t.Fatal(e1, e2)
		}
		s.Close()
	}
}

// Calls there and back, again and again, are no deadlock.
func TestNoFalseDeadlock(t *testing.T) {
	modes(t, func(t *testing.T, ctx context.Context, cfg Config) {
		s := newSys(t, cfg)
		refs := []Ref[*box]{box0(t, s, "a"), box0(t, s, "b")}
		for i := range 3000 {
			_, err := do.Call(ctx, refs[i%2], func(_ *box, c *Ctx) (any, error) { return do.Call(c, refs[(i+1)%2], get) })
			if err != nil {
				t.Fatal(i, err)
			}
		}
	})
}

// CallChain and Full let the cycle through, also by way of an actor that is not reentrant.
func TestReentrantCycle(t *testing.T) {
	modes(t, func(t *testing.T, ctx context.Context, cfg Config) {
		for _, r := range []Reentrancy{CallChain, Full} {
			s := newSys(t, cfg)
			refs, hop := ring(t, s, 3, WithReentrancy(r))
			if n, err := do.Call(ctx, refs[0], hop(0, 9)); n != 4 || err != nil {
				t.Fatal(r, n, err)
			}
			plain := box0(t, s, "plain")
			n, err := do.Call(ctx, refs[0], func(b *box, c *Ctx) (any, error) {
				return do.Call(c, plain, func(_ *box, c *Ctx) (any, error) { return do.Call(c, refs[0], inc) })
			})
			if n != 5 || err != nil {
				t.Fatal(r, n, err)
			}
			books(t, s)
		}
	})
}

// Two chains that cross are a deadlock with CallChain too, but not with Full.
func TestCrossingCallChains(t *testing.T) {
	limit(t, 20e9)
	for _, r := range []Reentrancy{CallChain, Full} {
		s := newSys(t, Config{})
		a, b := box0(t, s, "a", WithReentrancy(r)), box0(t, s, "b", WithReentrancy(r))
		var met sync.WaitGroup
		met.Add(2)
		errs := make(chan error, 2)
		for _, p := range [][2]Ref[*box]{{a, b}, {b, a}} {
			go func() {
				_, err := do.Call(within(t), p[0], func(_ *box, c *Ctx) (any, error) {
					met.Done()
					met.Wait()
					return do.Call(c, p[1], get)
				})
				errs <- err
			}()
		}
		e1, e2 := <-errs, <-errs
		if got := errors.Is(e1, ErrDeadlock) != errors.Is(e2, ErrDeadlock); got != (r == CallChain) {
			t.Fatal(r, e1, e2)
		}
	}
}

// While an actor waits, an ordinary message runs with Full and not with the others.
func TestMessagesDuringAWait(t *testing.T) {
	limit(t, 20e9)
	for _, r := range []Reentrancy{None, CallChain, Full} {
		bubble(t, func(t *testing.T) {
			s := newSys(t, Config{Slots: 2}) // one is b's, which sleeps
			a, b := box0(t, s, "a", WithReentrancy(r)), box0(t, s, "b")
			f := do.Start(context.Background(), a, func(st *box, c *Ctx) (any, error) {
				_, err := do.Call(c, b, func(*box, *Ctx) (any, error) { sleep(10); return 0, nil })
				return st.n, err
			})
			sleep(1)
			_ = do.Tell(context.Background(), a, inc)
			want := 0
			if r == Full {
				want = 1
			}
			if n, err := f.Wait(context.Background()); n != want || err != nil {
				t.Errorf("%v: %v %v", r, n, err)
			}
			s.Close()
		})
	}
}

// Start does not count as waiting; Wait on its Future does.
func TestStartAndDeadlock(t *testing.T) {
	modes(t, func(t *testing.T, ctx context.Context, cfg Config) {
		s := newSys(t, cfg)
		a, b := box0(t, s, "a"), box0(t, s, "b")
		_, err := do.Call(ctx, a, func(_ *box, c *Ctx) (any, error) {
			started := make(chan bool)
			f := do.Start(c, b, func(_ *box, c *Ctx) (any, error) {
				close(started)
				return do.Call(c, a, get)
			})
			<-started
			return f.Wait(c)
		})
		if !errors.Is(err, ErrDeadlock) {
			t.Fatal(err)
		}
		c := box0(t, s, "c", WithReentrancy(CallChain))
		n, err := do.Call(ctx, c, func(st *box, cc *Ctx) (any, error) {
			st.n = 41
			f := do.Start(cc, b, func(_ *box, c2 *Ctx) (any, error) { return do.Call(c2, c, inc) })
			return f.Wait(cc)
		})
		if n != 42 || err != nil {
			t.Fatal(n, err)
		}
	})
}

// A sender that waits for room counts as waiting.
func TestDeadlockByMailbox(t *testing.T) {
	modes(t, func(t *testing.T, ctx context.Context, cfg Config) {
		s := newSys(t, cfg)
		a := box0(t, s, "a", WithMailbox(Mailbox{1, waitFor(1e12)}))
		_, err := do.Call(ctx, a, func(_ *box, c *Ctx) (any, error) {
			if err := do.Tell(c, a, inc); err != nil {
				return nil, err
			}
			return nil, do.Tell(c, a, inc)
		})
		if !errors.Is(err, ErrDeadlock) {
			t.Fatal(err)
		}
		if n, err := do.Call(within(t), a, get); n != 1 || err != nil {
			t.Fatal(n, err)
		}
		books(t, s)
	})
}
