package actor

import (
	"context"
	"errors"
	"sync/atomic"
	"testing"
	"testing/synctest"
	"time"
)

// Close returns immediately. Queued messages are dead letters, and callers get ErrStopped. So
// does the caller of a handler in progress: the handler's Ctx is cancelled, and Close does not
// wait for the handler.
func TestClose(t *testing.T) {
	bubble(t, func(t *testing.T) {
		var dead atomic.Int32
		s := newSys(t, Config{Slots: 1, Handoff: -1, OnDeadLetter: func(d DeadLetter) { dead.Add(1) }})
		var d diary
		r := must(t, s, "a", d.writes("a"))
		idle := must(t, s, "b", d.writes("b"))
		gate, got := make(chan bool), make(chan error, 3)
		f := do.Start(bg, r, func(_ *box, c *Ctx) (any, error) {
			<-c.Done()
			got <- c.Err()
			got <- context.Cause(c)
			<-gate
			return nil, do.Tell(c, idle, inc)
		})
		synctest.Wait()
		g := do.Start(bg, r, get)
		for range 3 {
			_ = do.Tell(bg, r, inc)
		}
		if err := s.Close(); err != nil {
			t.Error(err)
		}
		for _, f := range []*Future[any]{f, g} {
			if _, err := f.Wait(bg); !errors.Is(err, ErrStopped) {
				t.Error(err)
			}
		}
		if e1, e2 := <-got, <-got; e1 != context.Canceled || e2 != ErrStopped {
			t.Error(e1, e2)
		}
		<-r.Done()
		<-idle.Done()
		if r.Err() != ErrStopped || dead.Load() != 4 || d.take() != "+a1 +b1 -b1:stopped" {
			t.Error(r.Err(), dead.Load(), d.take())
		}
		books(t, s)
		close(gate)
		synctest.Wait()
		books(t, s)
		if _, err := Spawn(s, "", fresh); !errors.Is(err, ErrStopped) {
			t.Error(err)
		}
		if s.Close() != nil || s.Shutdown(bg) != nil {
			t.Error("again")
		}
	})
}

// Close in the middle of a backoff, and from a handler.
func TestCloseAnywhere(t *testing.T) {
	bubble(t, func(t *testing.T) {
		s := newSys(t, Config{})
		p := sup(t, s, "sup", Supervision{Backoff: time.Hour})
		r := box0(t, p, "a")
		_, _ = do.Call(bg, r, boom)
		_ = do.Tell(bg, r, inc)
		synctest.Wait()
		s.Close()
		<-p.Done()
		if s.Stats().DeadLetters != 1 {
			t.Errorf("%+v", s.Stats())
		}
		books(t, s)
		s = newSys(t, Config{})
		r = box0(t, s, "a")
		_, err := do.Start(bg, r, func(*box, *Ctx) (any, error) { return nil, s.Close() }).Wait(bg)
		if !errors.Is(err, ErrStopped) {
			t.Error(err)
		}
		<-r.Done()
	})
}

// Shutdown accepts messages from handlers, but none from outside. It ends children before
// parents, last started first. If ctx ends first, it does what Close does.
func TestShutdown(t *testing.T) {
	bubble(t, func(t *testing.T) {
		s := newSys(t, Config{})
		var d diary
		a, b := must(t, s, "a", d.writes("a")), must(t, s, "b", d.writes("b"))
		own := d.writes("c")
		c := must(t, s, "c", func(c *Ctx) (*box, error) { must(t, c, "k", d.writes("k")); return own(c) })
		d.take()
		free := block(t, a)
		_ = do.Tell(bg, a, func(_ *box, c *Ctx) (any, error) { return nil, do.Tell(c, b, note("from a")) })
		done := make(chan error)
		go func() { done <- s.Shutdown(bg) }()
		synctest.Wait()
		if err := do.Tell(bg, b, inc); !errors.Is(err, ErrStopped) {
			t.Error(err)
		}
		if _, err := Spawn(s, "", fresh); !errors.Is(err, ErrStopped) {
			t.Error(err)
		}
		free()
		if err := <-done; err != nil {
			t.Error(err)
		}
		if got := d.take(); got != "-k1:nil -c1:nil -b1:nil -a1:nil" {
			t.Error(got)
		}
		if c.Err() != nil || s.Stats().Handled != 3 {
			t.Errorf("%v %+v", c.Err(), s.Stats())
		}
		books(t, s)

		s = newSys(t, Config{})
		a = box0(t, s, "a")
		free = block(t, a)
		_ = do.Tell(bg, a, inc)
		ctx, cancel := context.WithTimeout(bg, time.Second)
		defer cancel()
		if err := s.Shutdown(ctx); err != context.DeadlineExceeded || a.Err() != ErrStopped {
			t.Error(err, a.Err())
		}
		free()
		books(t, s)
	})
}

// Shutdown ends although timers leave no moment without a handler, and although a handler waits for
// what a timer does.
func TestShutdownBesideTimers(t *testing.T) {
	poll := NewAction("Poll", func(_ *box, c *Ctx, _ int) error { return c.Await(func() error { sleep(50); return nil }) })
	flush := NewAction("Flush", func(b *box, c *Ctx, _ int) error { b.n++; c.Unstash(); return nil })
	for _, limit := range []time.Duration{0, time.Minute, 400 * time.Millisecond} {
		bubble(t, func(t *testing.T) {
			s := newSys(t, Config{})
			for range 50 {
				_, _ = do.Call(bg, box0(t, s, ""), func(_ *box, c *Ctx) (any, error) { poll.Every(c, 100*time.Millisecond, 0); return nil, nil })
				sleep(2)
			}
			bulk, a := box0(t, s, "bulk"), box0(t, s, "a")
			_, _ = do.Call(bg, bulk, func(_ *box, c *Ctx) (any, error) { flush.After(c, 100*time.Millisecond, 0); return nil, nil })
			_ = do.Tell(bg, a, func(_ *box, c *Ctx) (any, error) {
				_, err := do.Call(c, bulk, func(b *box, c *Ctx) (any, error) {
					if b.n == 0 {
						c.Stash() // until the flush
					}
					return nil, nil
				})
				if err != nil {
					t.Error(err)
				}
				return nil, err
			})
			ctx, cancel := bg, func() {}
			if limit > 0 {
				ctx, cancel = context.WithTimeout(bg, limit)
			}
			defer cancel()
			if err := s.Shutdown(ctx); err != nil {
				t.Error(limit, err)
			}
			books(t, s)
		})
	}
}

// A handler that would wait for itself gets an error.
func TestStopDeadlock(t *testing.T) {
	limit(t, 20e9)
	s := newSys(t, Config{})
	a := box0(t, s, "a")
	var kid Ref[*box]
	_, err := do.Call(within(t), a, func(_ *box, c *Ctx) (any, error) {
		kid = must(t, c, "kid", fresh)
		if err := s.Shutdown(c); !errors.Is(err, ErrDeadlock) {
			t.Error(err)
		}
		return nil, nil
	})
	if err != nil {
		t.Fatal(err)
	}
	_, err = do.Call(within(t), kid, func(_ *box, c *Ctx) (any, error) { return nil, a.Stop(c) })
	if !errors.Is(err, ErrDeadlock) {
		t.Fatal(err)
	}
	<-a.Done()
}
