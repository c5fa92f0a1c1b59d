package actor

import (
	"bytes"
	"log/slog"
	"runtime"
	"strings"
	"sync/atomic"
	"testing"
	"testing/synctest"
	"time"
)

// Handlers that block outside of Await hold no slot, however many they are. (The monitor looks each
// millisecond; if time alone decided, they would need 25 hours.)
func TestBlockingHandlersHoldNoSlot(t *testing.T) {
	bubble(t, func(t *testing.T) {
		s := newSys(t, Config{Slots: 2, Handoff: time.Hour})
		s.busy = func() int { return 0 }
		gate := make(chan bool)
		for range 50 {
			_ = do.Tell(bg, box0(t, s, ""), func(*box, *Ctx) (any, error) { <-gate; return nil, nil })
		}
		sleep(100)
		if n := len(s.Running()); n != 50 {
			t.Errorf("%d of 50 handlers are in progress", n)
		}
		if _, err := do.Call(within(t), box0(t, s, ""), get); err != nil {
			t.Error(err)
		}
		if n := s.Stats().Handoffs; n < 49 || n > 52 {
			t.Errorf("%d slots were taken", n)
		}
		close(gate)
		synctest.Wait()
		books(t, s)
		s.Close()
	})
}

// A slot is taken only if fewer goroutines compute than slots have a handler, and only if an actor waits.
func TestTakeBlocked(t *testing.T) {
	bubble(t, func(t *testing.T) {
		s := newSys(t, Config{Slots: 2, Handoff: -1})
		computing := 0
		s.busy = func() int { return computing }
		old := block(t, box0(t, s, "old"))
		sleep(1)
		young := block(t, box0(t, s, "young"))
		c := box0(t, s, "c")
		_ = do.Tell(bg, c, inc)
		synctest.Wait()
		for _, computing = range []int{3, 2} {
			if s.takeBlocked() {
				t.Errorf("a slot was taken while %d goroutines compute", computing)
			}
		}
		computing = 1
		if !s.takeBlocked() {
			t.Error("no slot was taken from two handlers of which one computes")
		}
		synctest.Wait()
		if s.pool.waits() || s.takeBlocked() || s.Stats().Handoffs != 1 {
			t.Errorf("an actor waits, or a second slot was taken: %d", s.Stats().Handoffs)
		}
		if sl, _, started := s.pool.oldest(); started != 1 || sl.owner.Load().at.name != "young" {
			t.Error("the slot of the younger handler was taken")
		}
		old()
		young()
		synctest.Wait()
		books(t, s)
		s.Close()
	})
}

// The same on real processors, with the numbers that the runtime gives.
func TestBlockingHandlersAreSeen(t *testing.T) {
	m := newMeter()
	if m == nil {
		t.Skip("this runtime (before Go 1.26) does not count goroutines by what they do")
	}
	limit(t, 20e9)
	s := newSys(t, Config{Slots: 2, Handoff: time.Hour})
	s.busy = m.others
	gate := make(chan bool)
	var in atomic.Int32
	for range 20 {
		_ = do.Tell(bg, box0(t, s, ""), func(*box, *Ctx) (any, error) { in.Add(1); <-gate; return nil, nil })
	}
	for in.Load() < 20 {
		time.Sleep(time.Millisecond)
	}
	close(gate)
	books(t, s)
}

// Goroutines that compute count, and those that wait do not.
func TestMeter(t *testing.T) {
	m := newMeter()
	if m == nil {
		t.Skip("this runtime (before Go 1.26) does not count goroutines by what they do")
	}
	limit(t, 20e9)
	var stop atomic.Bool
	defer stop.Store(true)
	gate := make(chan bool)
	defer close(gate)
	for range 1000 {
		go func() { <-gate }()
	}
	for m.others() >= 500 { // until they wait
		runtime.Gosched()
	}
	for range 5 {
		go func() {
			for !stop.Load() {
			}
		}()
	}
	for m.others() < 5 {
		runtime.Gosched()
	}
}

// A method that blocks is logged once, if it blocks for a while and others wait.
func TestBlockingIsLoggedOnce(t *testing.T) {
	bubble(t, func(t *testing.T) {
		var log bytes.Buffer
		s := newSys(t, Config{Slots: 1, Handoff: time.Hour, Logger: slog.New(slog.NewTextHandler(&log, nil))})
		s.busy = func() int { return 0 }
		a, b := box0(t, s, "a"), box0(t, s, "b")
		both := func(f job) {
			_ = do.Tell(bg, a, f)
			_ = do.Tell(bg, b, f)
			sleep(100)
		}
		both(func(*box, *Ctx) (any, error) { time.Sleep(toldAfter / 2); return nil, nil })
		both(func(_ *box, c *Ctx) (any, error) { return nil, c.Await(func() error { sleep(20); return nil }) })
		if log.Len() > 0 {
			t.Errorf("logged too early: %s", &log)
		}
		for range 3 {
			both(func(*box, *Ctx) (any, error) { sleep(20); return nil, nil })
		}
		if got := log.String(); strings.Count(got, "\n") != 1 || !strings.Contains(got, "level=WARN") ||
			!strings.Contains(got, "blocks outside of Await") || !strings.Contains(got, " method=Do elapsed=20ms") {
			t.Errorf("%q", got)
		}
		s.Close()
	})
}

// Where the runtime does not tell which goroutines compute, time alone decides, and earlier; in a bubble it decides as ever.
func TestSee(t *testing.T) {
	s := newSys(t, Config{Handoff: -1})
	s.see(&meter{})
	if s.busy == nil || s.cfg.Handoff >= 0 {
		t.Error(s.cfg.Handoff)
	}
	s.busy = nil
	if s.see(nil); s.busy != nil || s.cfg.Handoff != unseenHandoff {
		t.Error(s.cfg.Handoff)
	}
	bubble(t, func(t *testing.T) {
		s := newSys(t, Config{})
		if s.busy != nil || s.cfg.Handoff != DefaultHandoff {
			t.Error(s.cfg.Handoff)
		}
		s.Close()
	})
	for _, h := range []time.Duration{-1, 1, DefaultHandoff} {
		if s := newSys(t, Config{Handoff: h}); s.busy != nil || s.cfg.Handoff != h {
			t.Error(h, s.cfg.Handoff)
		}
	}
}
