package actor

import (
	"context"
	"errors"
	"fmt"
	"sync/atomic"
	"testing"
	"testing/synctest"
	"time"

	"github.com/firq-go/firq"
)

// Warn calls the hook and nothing else.
func TestTimeoutWarn(t *testing.T) {
	bubble(t, func(t *testing.T) {
		var got []SlowHandler
		s := newSys(t, Config{OnTimeout: func(h SlowHandler) { got = append(got, h); panic("logged") }})
		var slow []SlowHandler
		r := box0(t, s, "a", WithHandlerTimeout(20*time.Millisecond, Warn), WithSlowAfter(10*time.Millisecond, func(h SlowHandler) { slow = append(slow, h) }))
		n, err := do.Call(bg, r, func(_ *box, c *Ctx) (any, error) { sleep(50); return 1, c.Err() })
		synctest.Wait()
		if n != 1 || err != nil || fmt.Sprint(got) != "[{a Do 20ms}]" || fmt.Sprint(slow) != "[{a Do 10ms}]" {
			t.Error(n, err, got, slow)
		}
		sleep(100)
		_, _ = do.Call(bg, r, get)
		if len(got) != 1 || len(slow) != 1 {
			t.Error(got, slow)
		}
		s.Close()
	})
}

// Cancel cancels the Ctx; the actor goes on when the handler has returned. The method's
// timeout takes precedence.
func TestTimeoutCancel(t *testing.T) {
	short := NewMethod("Short", run, WithTimeout(20*time.Millisecond, Cancel))
	bubble(t, func(t *testing.T) {
		s := newSys(t, Config{OnTimeout: func(SlowHandler) {}})
		r, b := box0(t, s, "a", WithHandlerTimeout(time.Hour, Stop)), box0(t, s, "b")
		start := time.Now()
		busy := false
		f := short.Start(bg, r, func(_ *box, c *Ctx) (any, error) {
			busy = true
			<-c.Done()
			if c.Err() != context.DeadlineExceeded || context.Cause(c) != ErrTimeout || time.Since(start) != 20*time.Millisecond {
				t.Error(c.Err(), context.Cause(c), time.Since(start))
			}
			_, err := do.Call(c, b, get)
			if !errors.Is(err, context.DeadlineExceeded) {
				t.Error(err)
			}
			sleep(50)
			busy = false
			return 3, nil
		})
		_, err := do.Call(bg, r, func(*box, *Ctx) (any, error) {
			if busy {
				t.Error("two at once")
			}
			return nil, nil
		})
		if n, err2 := f.Wait(bg); n != 3 || err != nil || err2 != nil {
			t.Error(n, err, err2)
		}
		// A call in which the handler waits returns immediately.
		start = time.Now()
		_, err = short.Call(bg, r, func(_ *box, c *Ctx) (any, error) {
			return do.Call(c, b, func(_ *box, c *Ctx) (any, error) { <-c.Done(); return nil, nil })
		})
		if !errors.Is(err, context.DeadlineExceeded) || time.Since(start) != 20*time.Millisecond {
			t.Error(err, time.Since(start))
		}
		if s.Stats().Abandoned != 0 {
			t.Error(s.Stats())
		}
		books(t, s)
		s.Close()
	})
}

// Stop: the caller gets ErrTimeout, a new incarnation goes on immediately, and everything that
// the abandoned handler tries is refused.
func TestTimeoutStop(t *testing.T) {
	for _, slots := range []int{1, 4} {
		for _, how := range []string{"sleep", "call", "read", "await", "full"} {
			t.Run(fmt.Sprint(how, slots), func(t *testing.T) {
				bubble(t, func(t *testing.T) { stopTimeout(t, how, slots) })
			})
		}
	}
}

func stopTimeout(t *testing.T, how string, slots int) {
	cfg := Config{Slots: slots, OnTimeout: func(SlowHandler) {}}
	if how != "call" && how != "full" {
		cfg.Handoff = -1 // a Stop timeout needs none
	}
	s := newSys(t, cfg)
	p := sup(t, s, "sup", Supervision{MaxRestarts: 10})
	var d diary
	opts := []Option{WithHandlerTimeout(30*time.Millisecond, Stop)}
	if how == "full" {
		opts = append(opts, WithReentrancy(Full))
	}
	r := must(t, p, "a", d.writes("a"), opts...)
	other := box0(t, s, "other")
	gate, after := make(chan bool), make(chan error, 9)
	hang := func(b *box, c *Ctx) (any, error) {
		b.n = 100
		switch how {
		case "call", "full":
			_, err := do.Call(c, other, func(*box, *Ctx) (any, error) { <-gate; return nil, nil })
			after <- err
		case "await":
			after <- c.Await(func() error { <-gate; return ErrStale })
		default:
			<-gate
		}
		b.n = 200
		after <- c.Err()
		after <- do.Tell(c, other, inc)
		_, err := do.Call(c, other, inc)
		after <- err
		_, err = Spawn(c, "", fresh)
		after <- err
		c.Stop(errors.New("not heard"))
		return 7, nil
	}
	m := do
	if how == "read" {
		m = look
	}
	start := time.Now()
	_, err := m.Call(bg, r, hang)
	if err != ErrTimeout || time.Since(start) != 30*time.Millisecond {
		t.Fatal(err, time.Since(start))
	}
	if n, err := do.Call(bg, r, inc); n != 1 || err != nil {
		t.Fatal(n, err)
	}
	close(gate)
	synctest.Wait()
	close(after)
	n := 0
	for err := range after {
		if n++; !errors.Is(err, ErrStale) {
			t.Errorf("%d: %v", n, err)
		}
	}
	if n < 4 {
		t.Error("it did not go on", n)
	}
	if n, err := do.Call(bg, r, inc); n != 2 || err != nil {
		t.Fatal(n, err)
	}
	if n, err := do.Call(bg, other, get); n != 0 || err != nil {
		t.Error("the abandoned handler was heard", n, err)
	}
	if got := d.take(); got != "+a1 +a2" { // no last words
		t.Error(got)
	}
	if st := s.Stats(); st.Abandoned != 1 || st.Restarts != 1 {
		t.Errorf("%+v", st)
	}
	books(t, s)
	s.Close()
}

// Without a supervisor a Stop timeout ends the actor.
func TestTimeoutStopAlone(t *testing.T) {
	bubble(t, func(t *testing.T) {
		s := newSys(t, Config{OnTimeout: func(SlowHandler) {}})
		r := box0(t, s, "a", WithHandlerTimeout(30*time.Millisecond, Stop))
		_, err := do.Call(bg, r, func(*box, *Ctx) (any, error) { sleep(100); return nil, nil })
		<-r.Done()
		if err != ErrTimeout || r.Err() != ErrTimeout {
			t.Error(err, r.Err())
		}
		sleep(1000)
		books(t, s)
		s.Close()
	})
}

// An actor's timers ring once or again and again, until they are stopped or the incarnation ends.
func TestTimers(t *testing.T) {
	bubble(t, func(t *testing.T) {
		var dead []DeadLetter
		s := newSys(t, Config{OnDeadLetter: func(d DeadLetter) { dead = append(dead, d) }})
		p := sup(t, s, "sup", Supervision{})
		r := box0(t, p, "a", WithMailbox(Mailbox{Limit: 1, Backpressure: firq.Backpressure{Policy: firq.Wait, Wait: time.Hour}}))
		var once, every *Timer
		_, _ = do.Call(bg, r, func(_ *box, c *Ctx) (any, error) {
			once = do.After(c, 10*time.Millisecond, note("once"))
			every = do.Every(c, 20*time.Millisecond, note("every"))
			do.After(c, time.Hour, note("late"))
			if !do.After(c, 5*time.Millisecond, note("no")).Stop() {
				t.Error("it had rung")
			}
			return nil, nil
		})
		sleep(50)
		if got := fmt.Sprint(logOf(t, r)); got != "[once every every]" {
			t.Error(got)
		}
		if once.Stop() {
			t.Error("once has rung")
		}
		free := block(t, r)
		sleep(200)
		if r.Len() != 1 { // Every has at most one message waiting
			t.Error(r.Len())
		}
		_, _ = do.Start(bg, box0(t, s, "x"), get).Wait(bg)
		if len(dead) != 0 {
			t.Error(dead)
		}
		free()
		synctest.Wait()
		_, _ = do.Call(bg, r, func(_ *box, c *Ctx) (any, error) {
			do.After(c, time.Millisecond, note("full"))
			return nil, nil
		})
		free = block(t, r)
		_ = do.Tell(bg, r, note("first"))
		sleep(2)
		synctest.Wait()
		if len(dead) != 1 || dead[0].Err != ErrMailboxFull {
			t.Error(dead)
		}
		free()
		synctest.Wait()
		_, _ = do.Call(bg, r, boom)
		_, _ = do.Call(bg, r, get)
		sleep(4_000_000)
		if got := logOf(t, r); len(got) != 0 {
			t.Error(got)
		}
		if every.Stop() {
			t.Error("it has ended")
		}
		books(t, s)
		s.Close()
	})
}

// After, Every and Watch with a method of another state panic.
func TestWrongType(t *testing.T) {
	s := newSys(t, Config{})
	r := box0(t, s, "a")
	other := NewAction("Other", func(*counter, *Ctx, Down) error { return nil })
	for i, f := range []func(c *Ctx){
		func(c *Ctx) { add.After(c, 1, 1) }, func(c *Ctx) { add.Every(c, 1, 1) }, func(c *Ctx) { Watch(c, r, other) },
	} {
		_, err := do.Call(bg, r, func(_ *box, c *Ctx) (any, error) {
			defer func() {
				if recover() == nil {
					t.Error(i, "no panic")
				}
			}()
			f(c)
			return nil, nil
		})
		if err != nil {
			t.Fatal(err)
		}
	}
}

// An alarm that rings when its handler has just returned leaves the next handler with the same Ctx alone.
func TestAlarmOfTheLastHandler(t *testing.T) {
	for _, mode := range []TimeoutMode{Warn, Cancel, Stop} {
		bubble(t, func(t *testing.T) {
			var late atomic.Int32
			s := newSys(t, Config{Slots: 1, OnTimeout: func(SlowHandler) { late.Add(1) }})
			r := must(t, sup(t, s, "sup", Supervision{MaxRestarts: 1000}), "a", fresh, WithHandlerTimeout(20*time.Millisecond, mode),
				WithSlowAfter(20*time.Millisecond, func(SlowHandler) { late.Add(1) }))
			for range 100 {
				_, _ = do.Call(bg, r, func(*box, *Ctx) (any, error) { sleep(20); return nil, nil }) // either
				synctest.Wait()
				late.Store(0)
				_, err := do.Call(bg, r, func(_ *box, c *Ctx) (any, error) {
					c.overLimit()
					c.overSlow()
					sleep(19)
					if at, ok := c.Deadline(); ok != (mode == Cancel) || ok && time.Until(at) != time.Millisecond {
						t.Error(at, ok)
					}
					return nil, c.Err()
				})
				if err != nil || late.Load() > 0 {
					t.Fatal(mode, err, late.Load())
				}
			}
			s.Close()
		})
	}
}
