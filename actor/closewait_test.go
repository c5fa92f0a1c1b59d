package actor

import (
	"context"
	"testing"
	"time"
)

// A handler that waits when Close comes goes on when its wait is over, although its actor
// was in the run queue, which no longer exists.
func TestCloseLeavesNoWaiter(t *testing.T) {
	limit(t, 20*time.Second)
	s := newSys(t, Config{Slots: 1, Handoff: -1})
	r, hog := box0(t, s, "r", WithReentrancy(Full)), box0(t, s, "hog")
	in, goOn, busy, free, out := make(chan bool), make(chan bool), make(chan bool), make(chan bool), make(chan bool)
	_ = do.Tell(bg, r, func(_ *box, c *Ctx) (any, error) {
		_ = c.Await(func() error { close(in); <-goOn; return nil })
		close(out)
		return nil, nil
	})
	<-in
	_ = do.Tell(bg, hog, func(*box, *Ctx) (any, error) { close(busy); <-free; return nil, nil })
	<-busy
	_ = do.Tell(bg, r, inc) // waits for the only slot
	_ = s.Close()
	close(goOn)
	<-out
	close(free)
}

// The same if a reader had the turn.
func TestCloseLeavesNoWaiterBehindReaders(t *testing.T) {
	limit(t, 20*time.Second)
	s := newSys(t, Config{Slots: 2})
	r := box0(t, s, "r", WithReentrancy(Full))
	in, goOn, reading, read, out := make(chan bool), make(chan bool), make(chan bool), make(chan bool), make(chan bool)
	_ = do.Tell(bg, r, func(_ *box, c *Ctx) (any, error) {
		_ = c.Await(func() error { close(in); <-goOn; return nil })
		close(out)
		return nil, nil
	})
	<-in
	_ = look.Tell(bg, r, func(*box, *Ctx) (any, error) { close(reading); <-read; return nil, nil })
	<-reading
	_ = s.Close()
	close(goOn)
	eventually(t, func() bool { r.a.mu.Lock(); defer r.a.mu.Unlock(); return len(r.a.x.resume) == 1 })
	close(read)
	<-out
}

// eventually waits until f is true.
func eventually(t *testing.T, f func() bool) {
	t.Helper()
	for end := time.Now().Add(10 * time.Second); !f(); time.Sleep(100 * time.Microsecond) {
		if time.Now().After(end) {
			t.Fatal("it never happens")
		}
	}
}

// A timer that rings again and again does not keep Shutdown from ending.
func TestShutdownAndTimers(t *testing.T) {
	bubble(t, func(t *testing.T) {
		s := newSys(t, Config{})
		rung := 0
		tick := NewAction("Tick", func(*box, *Ctx, int) error { rung++; return nil })
		r := box0(t, s, "")
		_, _ = do.Call(bg, r, func(_ *box, c *Ctx) (any, error) { tick.Every(c, time.Millisecond, 0); return nil, nil })
		_ = do.Tell(bg, box0(t, s, ""), func(*box, *Ctx) (any, error) { time.Sleep(50 * time.Millisecond); return nil, nil })
		ctx, cancel := context.WithTimeout(bg, time.Minute)
		defer cancel()
		if err := s.Shutdown(ctx); err != nil || rung < 49 || rung > 60 {
			t.Errorf("%v after %d", err, rung)
		}
	})
}

// Timers end with Close, although the handler that has set them goes on; and it can set no more.
func TestCloseEndsTimers(t *testing.T) {
	limit(t, 20*time.Second)
	s := newSys(t, Config{})
	tick := NewAction("Tick", func(*box, *Ctx, int) error { return nil })
	set, closed, late := make(chan *Timer), make(chan bool), make(chan *Timer)
	_ = do.Tell(bg, box0(t, s, ""), func(_ *box, c *Ctx) (any, error) {
		set <- tick.Every(c, time.Hour, 0)
		<-closed
		late <- tick.Every(c, time.Hour, 0)
		return nil, nil
	})
	first := <-set
	_ = s.Close()
	close(closed)
	if second := <-late; first.Stop() || second.Stop() {
		t.Error("a timer goes on")
	}
}
