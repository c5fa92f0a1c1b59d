package gate

import (
	"context"
	"errors"
	"math/rand/v2"
	"runtime"
	"sync"
	"testing"
	"testing/synctest"
	"time"

	"github.com/firq-go/firq"
)

// A waiter whose context ends is gone when Acquire returns: its place is free.
func TestCancelFreesPlace(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		g := New[string](1, Config[string]{MaxGlobal: 1})
		p := must(t, g, "a")
		ctx, cancel := context.WithCancel(background)
		w := wait(ctx, g, "b", Request{})
		if _, err := g.Acquire(background, "c", Request{}); err != firq.ErrGlobalFull {
			t.Fatalf("the place is not taken: %v", err)
		}
		cancel()
		synctest.Wait()
		if !w.done.Load() || w.err != context.Canceled || g.Waiting() != 0 {
			t.Fatalf("done %t, %v, %d wait", w.done.Load(), w.err, g.Waiting())
		}
		c := wait(background, g, "c", Request{})
		p.Release()
		c.granted(t).Release()
		if s := g.Stats(); s.Queue.Cancelled != 1 || s.TimedOut != 0 {
			t.Errorf("stats %+v", s)
		}
		intact(t, g)
	})
}

// A waiter gets ErrTimeout at its Deadline, though no permit is released. Not in
// a bubble: the queue's clock goes on where the bubble's stands still.
func TestDeadline(t *testing.T) {
	const soon = 2 * time.Millisecond
	for name, c := range map[string]struct {
		cfg Config[string]
		req func() Request
	}{
		"Deadline":    {Config[string]{}, func() Request { return Request{Deadline: time.Now().Add(soon)} }},
		"MaxQueueAge": {Config[string]{MaxQueueAge: soon}, func() Request { return Request{} }},
	} {
		t.Run(name, func(t *testing.T) {
			g := New[string](1, c.cfg)
			p := must(t, g, "a")
			limited, cancel := context.WithTimeout(background, 5*time.Second) // if it fails
			defer cancel()
			for range 3 { // the timer serves again
				req, start := c.req(), time.Now()
				if _, err := g.Acquire(limited, "b", req); err != firq.ErrTimeout || time.Since(start) < soon {
					t.Fatalf("%v after %v", err, time.Since(start))
				}
				if g.Waiting() != 0 || g.s.Len() != 0 {
					t.Fatalf("%d wait", g.Waiting())
				}
			}
			done := make(chan error)
			go func() {
				p, err := g.Acquire(background, "b", Request{Deadline: time.Now().Add(time.Hour)})
				if p.Waited() <= 0 {
					t.Errorf("waited %v", p.Waited())
				}
				if p.Release(); p.Waited() != 0 {
					t.Error("a released permit has waited")
				}
				done <- err
			}()
			for g.s.Len() == 0 {
				runtime.Gosched()
			}
			if p.Waited() != 0 {
				t.Errorf("a permit that did not wait waited %v", p.Waited())
			}
			p.Release()
			if err := <-done; err != nil {
				t.Errorf("a deadline far ahead: %v", err)
			}
			if n := g.Stats().TimedOut; n != 3 {
				t.Errorf("%d timed out, want 3", n)
			}
			intact(t, g)
		})
	}
}

// late is a holder that was granted, and a call that looks at it too late.
func late(t *testing.T, f func(g *Gate[string], h *holder[string]) (Permit[string], error), want error) {
	t.Helper()
	synctest.Test(t, func(t *testing.T) {
		g := New[string](1, Config[string]{MaxInFlightPerTenant: 1}) // all through the queue
		if v, err := g.decide(1); v != announced || err != nil {
			t.Fatal(v, err)
		}
		h, err := g.enqueue("a", &Request{Weight: 1, Cost: 1})
		if err != nil || g.InUse() != 1 {
			t.Fatalf("%v, in use %d", err, g.InUse())
		}
		if p, err := f(g, h); err != want || p != (Permit[string]{}) {
			t.Errorf("%v, %v; want %v", p, err, want)
		}
		intact(t, g)
	})
}

// A permit that comes after the context ended, or after the Deadline, goes back.
func TestGrantedTooLate(t *testing.T) {
	late(t, func(g *Gate[string], h *holder[string]) (Permit[string], error) {
		ctx, cancel := context.WithCancel(background)
		cancel()
		<-h.end
		return g.inTime(ctx, ctx.Done(), h, &Request{})
	}, context.Canceled)
	late(t, func(g *Gate[string], h *holder[string]) (Permit[string], error) {
		<-h.end
		return g.inTime(background, nil, h, &Request{Deadline: time.Now().Add(-1)})
	}, firq.ErrTimeout)
	late(t, func(g *Gate[string], h *holder[string]) (Permit[string], error) { // granted, while it gives up
		ctx, cancel := context.WithCancel(background)
		cancel()
		if g.withdraw(h) {
			t.Error("it gives up a permit that it has")
		}
		if how := g.await(ctx.Done(), h, time.Time{}); how == granted {
			Permit[string]{h: h, gen: h.gen}.Release()
		}
		return Permit[string]{}, g.why(ctx, gaveUp)
	}, context.Canceled)
}

// Permits are granted while contexts and deadlines end: whichever comes first, the slot is
// not lost, and never are more permits out than the limit.
func TestCancelAgainstGrant(t *testing.T) {
	for _, cfg := range []Config[string]{{}, {MaxInFlightPerTenant: 1}, {MaxPerTenant: 2, Policy: firq.DropOldest}} {
		g := New[string](2, cfg)
		var wg sync.WaitGroup
		for i := range 6 {
			tenant := string('a' + rune(i%3))
			wg.Go(func() {
				for range 400 {
					ctx, cancel := context.WithTimeout(background, time.Duration(rand.IntN(40))*time.Microsecond)
					var req Request
					if rand.IntN(2) == 0 {
						req.Deadline = time.Now().Add(time.Duration(rand.IntN(40)) * time.Microsecond)
					}
					p, err := g.Acquire(ctx, tenant, req)
					switch {
					case err == nil:
						p.Release()
					case !errors.Is(err, ctx.Err()) && !errors.Is(err, firq.ErrRejected):
						t.Errorf("%v", err)
					}
					cancel()
				}
			})
		}
		wg.Wait()
		intact(t, g)
	}
}

func TestClose(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		g := New[string](1, Config[string]{})
		p := must(t, g, "a")
		w := wait(background, g, "b", Request{})
		down := make(chan error, 1)
		go func() { down <- g.Shutdown(background) }()
		synctest.Wait()
		g.Close()
		synctest.Wait()
		if !w.done.Load() || w.err != firq.ErrClosed {
			t.Fatalf("the waiter: done %t, %v", w.done.Load(), w.err)
		}
		if err := <-down; err != firq.ErrClosed {
			t.Errorf("Shutdown, when Close came first: %v", err)
		}
		if _, err := g.Acquire(background, "a", Request{}); err != firq.ErrClosed {
			t.Errorf("Acquire: %v", err)
		}
		p.Release()
		if _, ok := g.TryAcquire("a", Request{}); ok || g.InUse() != 0 || g.Waiting() != 0 {
			t.Errorf("in use %d, waiting %d, TryAcquire %t", g.InUse(), g.Waiting(), ok)
		}
		g.Close()
	})
}

func TestShutdown(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		g := New[string](1, Config[string]{})
		if err := g.Shutdown(nil); !errors.Is(err, firq.ErrInvalidArgument) { //nolint:staticcheck // nil on purpose
			t.Errorf("nil context: %v", err)
		}
		p := must(t, g, "a")
		w := wait(background, g, "b", Request{})
		ctx, cancel := context.WithTimeout(background, time.Second)
		defer cancel()
		if err := g.Shutdown(ctx); err != context.DeadlineExceeded {
			t.Errorf("Shutdown while a call waits: %v", err)
		}
		if _, err := g.Acquire(background, "a", Request{}); err != firq.ErrClosed {
			t.Errorf("Acquire: %v", err)
		}
		down := make(chan error, 1)
		go func() { down <- g.Shutdown(background) }()
		p.Release()
		w.granted(t)
		if len(down) != 0 {
			t.Fatal("Shutdown did not wait for the last permit")
		}
		w.p.Release()
		if err := <-down; err != nil {
			t.Errorf("Shutdown: %v", err)
		}
		g.Close()
		if err := g.Shutdown(background); err != nil {
			t.Errorf("Shutdown again: %v", err)
		}
	})
}

// The last one whom Shutdown waits for gives up.
func TestShutdownLastWaiter(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		g := New[string](1, Config[string]{})
		p := must(t, g, "a")
		ctx, cancel := context.WithCancel(background)
		w := wait(ctx, g, "b", Request{})
		g.SetLimit(0)
		p.Release()
		down := make(chan error, 1)
		go func() { down <- g.Shutdown(background) }()
		synctest.Wait()
		if len(down) != 0 {
			t.Fatal("Shutdown did not wait")
		}
		cancel()
		synctest.Wait()
		if len(down) != 1 || w.err != context.Canceled {
			t.Fatalf("Shutdown waits though no call is left (%v)", w.err)
		}
	})
}

// When Close came first, Shutdown says so, although the last permit is back by now
// (and though it chooses among what has happened at random).
func TestShutdownAfterClose(t *testing.T) {
	for range 64 {
		g := New[string](1, Config[string]{})
		p := must(t, g, "a")
		g.Close()
		p.Release()
		if err := g.Shutdown(background); err != firq.ErrClosed {
			t.Fatalf("Shutdown after Close and the last Release: %v", err)
		}
	}
}
