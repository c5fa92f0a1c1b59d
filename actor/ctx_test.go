package actor

import (
	"context"
	"errors"
	"runtime"
	"strings"
	"testing"
	"testing/synctest"
	"time"
)

type keyOf struct{}

// A Ctx is done when the ctx of the call is, and has its values; so has the Ctx of a further call.
func TestCtxFollowsTheCall(t *testing.T) {
	bubble(t, func(t *testing.T) {
		s := newSys(t, Config{})
		a, b := box0(t, s, "a"), box0(t, s, "b")
		ctx, cancel := context.WithTimeout(context.WithValue(bg, keyOf{}, 7), time.Second)
		defer cancel()
		var seen []any
		inner := func(_ *box, c *Ctx) (any, error) {
			seen = append(seen, c.Value(keyOf{}))
			<-c.Done()
			seen = append(seen, errors.Is(c.Err(), context.DeadlineExceeded) || errors.Is(c.Err(), context.Canceled))
			sleep(1)
			return nil, nil
		}
		start := time.Now()
		_, err := do.Call(ctx, a, func(_ *box, c *Ctx) (any, error) {
			if d, ok := c.Deadline(); !ok || d.Sub(start) != time.Second {
				t.Error(d, ok)
			}
			_, err := do.Call(c, b, inner)
			return nil, err
		})
		if !errors.Is(err, context.DeadlineExceeded) || time.Since(start) != time.Second {
			t.Error(err, time.Since(start))
		}
		sleep(5)
		synctest.Wait()
		if len(seen) != 2 || seen[0] != 7 || seen[1] != true {
			t.Error(seen)
		}
		// The ctx of a Tell matters only while Tell blocks.
		gone, cancel := context.WithCancel(bg)
		got := make(chan error, 1)
		_ = do.Tell(gone, a, func(_ *box, c *Ctx) (any, error) { sleep(10); got <- c.Err(); return nil, nil })
		cancel()
		if err := <-got; err != nil {
			t.Error(err)
		}
		books(t, s)
		s.Close()
	})
}

// A handler whose caller has left sees Canceled or DeadlineExceeded, and never ErrStale:
// here the caller is a handler that has returned.
func TestCallerHasLeft(t *testing.T) {
	bubble(t, func(t *testing.T) {
		s := newSys(t, Config{})
		a, b := box0(t, s, "a"), box0(t, s, "b")
		got := make(chan error, 1)
		var f *Future[any]
		_, _ = do.Call(bg, a, func(_ *box, c *Ctx) (any, error) {
			in := make(chan bool)
			f = do.Start(c, b, func(_ *box, c *Ctx) (any, error) { close(in); <-c.Done(); got <- c.Err(); return nil, nil })
			<-in
			return nil, do.Tell(c, a, inc)
		})
		if err := <-got; !errors.Is(err, context.Canceled) {
			t.Error(err)
		}
		if _, err := f.Wait(bg); !errors.Is(err, context.Canceled) {
			t.Error(err)
		}
		synctest.Wait()
		books(t, s)
		s.Close()
	})
}

// Once its handler has returned, every use of a Ctx is ErrStale, or does nothing.
func TestStale(t *testing.T) {
	modes(t, func(t *testing.T, ctx context.Context, cfg Config) {
		s := newSys(t, cfg)
		r, q := box0(t, s, "a"), box0(t, s, "b")
		var c *Ctx
		_, _ = do.Call(ctx, r, func(_ *box, cc *Ctx) (any, error) { c = cc; return nil, nil })
		_, e1 := do.Call(c, q, inc)
		_, e2 := do.Start(c, q, inc).Wait(bg)
		_, e3 := Spawn(c, "", fresh)
		_, e4 := Supervise(c, "", Supervision{})
		for i, err := range []error{c.Err(), e1, e2, e3, e4, do.Tell(c, q, inc), c.Await(func() error { t.Error("it ran"); return nil })} {
			if !errors.Is(err, ErrStale) {
				t.Errorf("%d: %v", i, err)
			}
		}
		<-c.Done()
		if do.After(c, 0, inc).Stop() || do.Every(c, 1, inc).Stop() {
			t.Error("a timer of a stale Ctx")
		}
		Watch(c, q, downed)
		c.Stop(nil)
		c.Stash()
		c.Unstash()
		c.Yield()
		if _, ok := Self[*box](c); ok || c.Name() != "" || c.Value(keyOf{}) != nil {
			t.Error("it answers")
		}
		if n, err := do.Call(ctx, q, get); n != 0 || err != nil {
			t.Error(n, err)
		}
	})
}

// A handler in Await or Call takes no slot, nor does one that has computed for Handoff.
func TestWaitingCostsNoSlot(t *testing.T) {
	bubble(t, func(t *testing.T) {
		s := newSys(t, Config{Slots: 1})
		gate := make(chan bool)
		last := box0(t, s, "last")
		for i := range 30 {
			r := box0(t, s, "")
			_ = do.Tell(bg, r, func(_ *box, c *Ctx) (any, error) {
				if i%2 == 0 {
					return nil, c.Await(func() error { <-gate; return nil })
				}
				return do.Call(c, last, func(*box, *Ctx) (any, error) { <-gate; return nil, nil })
			})
		}
		start := time.Now()
		if _, err := do.Call(bg, box0(t, s, ""), get); err != nil || time.Since(start) > 20*time.Millisecond {
			t.Error(err, time.Since(start))
		}
		close(gate)
		synctest.Wait()
		for range 3 { // the same without Await
			_ = do.Tell(bg, box0(t, s, ""), func(*box, *Ctx) (any, error) { sleep(1000); return nil, nil })
		}
		start = time.Now()
		ctx, cancel := context.WithTimeout(bg, time.Hour)
		defer cancel()
		if _, err := do.Call(ctx, box0(t, s, ""), get); err != nil || time.Since(start) > 100*time.Millisecond {
			t.Error(err, time.Since(start))
		}
		if s.Stats().Handoffs == 0 {
			t.Error("no slot was handed over")
		}
		sleep(2000)
		books(t, s)
		s.Close()
	})
}

// Yield lets an actor that waits go first, and keeps the turn.
func TestYield(t *testing.T) {
	bubble(t, func(t *testing.T) {
		s := newSys(t, Config{Slots: 1})
		a, b := box0(t, s, "a"), box0(t, s, "b")
		var d diary
		free := block(t, a)
		_ = do.Tell(bg, a, func(_ *box, c *Ctx) (any, error) {
			_ = do.Tell(c, b, func(*box, *Ctx) (any, error) { d.add("b"); return nil, nil })
			_ = do.Tell(c, a, func(*box, *Ctx) (any, error) { d.add("a2"); return nil, nil })
			time.Sleep(time.Microsecond)
			d.add("a1")
			c.Yield()
			d.add("a1")
			return nil, nil
		})
		free()
		synctest.Wait()
		sleep(1)
		if got := d.take(); got != "a1 b a1 a2" {
			t.Error(got)
		}
		s.Close()
	})
}

// A future may be waited for again, also by several goroutines, and after a Wait has given up.
func TestFuture(t *testing.T) {
	bubble(t, func(t *testing.T) {
		s := newSys(t, Config{})
		r := box0(t, s, "a")
		f := do.Start(bg, r, func(*box, *Ctx) (any, error) { sleep(50); return 5, nil })
		ctx, cancel := context.WithTimeout(bg, time.Millisecond)
		defer cancel()
		if _, err := f.Wait(ctx); !errors.Is(err, context.DeadlineExceeded) {
			t.Error(err)
		}
		done := make(chan any, 3)
		for range 3 {
			go func() { v, _ := f.Wait(bg); done <- v }()
		}
		for range 3 {
			if v := <-done; v != 5 {
				t.Error(v)
			}
		}
		if v, err := f.Wait(ctx); v != 5 || err != nil {
			t.Error(v, err)
		}
		ended, cancel := context.WithCancel(bg)
		free := block(t, r)
		g := do.Start(ended, r, inc)
		cancel()
		if _, err := g.Wait(bg); !errors.Is(err, context.Canceled) {
			t.Error(err)
		}
		free()
		books(t, s)
		s.Close()
	})
}

// With Inline a handler runs on its caller's goroutine although the caller's ctx may end; the
// handler's Ctx ends with that ctx.
func TestInline(t *testing.T) {
	limit(t, 20e9)
	s := newSys(t, Config{})
	r := box0(t, s, "a")
	mine := func() string {
		buf := make([]byte, 64)
		return strings.Fields(string(buf[:runtime.Stack(buf, false)]))[1]
	}
	ctx, cancel := context.WithCancel(bg)
	for _, m := range []*Method[*box, job, any]{quick, do} { // in this order: after do a worker has the turn for a moment longer
		same := m == quick
		id, err := m.Call(ctx, r, func(_ *box, c *Ctx) (any, error) { return mine(), c.Err() })
		if (id == mine()) != same || err != nil {
			t.Error(id, mine(), err)
		}
	}
	_, err := quick.Call(ctx, r, func(_ *box, c *Ctx) (any, error) {
		cancel()
		<-c.Done()
		return nil, c.Err()
	})
	if !errors.Is(err, context.Canceled) {
		t.Error(err)
	}
	books(t, s)
}

// The caller of a stashed call leaves immediately when its ctx ends.
func TestStashedCallIsLeft(t *testing.T) {
	bubble(t, func(t *testing.T) {
		s := newSys(t, Config{})
		r := box0(t, s, "a")
		ctx, cancel := context.WithTimeout(bg, time.Second)
		defer cancel()
		start := time.Now()
		_, err := do.Call(ctx, r, func(_ *box, c *Ctx) (any, error) { c.Stash(); return nil, nil })
		if !errors.Is(err, context.DeadlineExceeded) || time.Since(start) != time.Second || r.Len() != 0 {
			t.Error(err, time.Since(start), r.Len())
		}
		if st := s.Stats(); st.Cancelled != 1 || st.Handled != 0 {
			t.Errorf("%+v", st)
		}
		books(t, s)
		s.Close()
	})
}
