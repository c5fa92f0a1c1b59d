package actor

import (
	"context"
	"errors"
	"runtime"
	"sync"
	"sync/atomic"
	"testing"
	"time"

	"go.uber.org/goleak"
)

// ordeal combines one way to reach a callback with one way in which the callback misbehaves.
type ordeal struct {
	t      *testing.T
	s      *System
	other  Ref[*box] // has nothing to do with the callback
	fails  func(*ordeal)
	each   bool // the callback fails each time, otherwise only the first time
	once   atomic.Bool
	called chan bool // closed by the first call
	free   chan bool // a callback that blocks goes on
	shut   chan bool // the System was closed by the callback
}

// f is what the callback does.
func (o *ordeal) f() {
	first := !o.once.Swap(true)
	if first {
		close(o.called)
	}
	if first || o.each {
		o.fails(o)
	}
}

// failures are the ways in which a callback misbehaves. Close and Shutdown end the System.
var failures = []struct {
	name         string
	each, closes bool
	f            func(*ordeal)
}{
	{"panics", true, false, func(*ordeal) { panic("callback") }},
	{"calls Goexit", true, false, func(*ordeal) { runtime.Goexit() }},
	{"blocks", false, false, func(o *ordeal) { <-o.free }},
	{"blocks during Close", false, true, func(o *ordeal) { <-o.free }},
	{"uses the System", false, false, func(o *ordeal) {
		_, _ = o.s.Stats(), o.s.Running()
		_, _ = Lookup[*box](o.s, "other")
		r, err := Spawn(o.s, "", fresh)
		if err != nil && !errors.Is(err, ErrStopped) {
			o.t.Error(err)
		}
		_ = do.Tell(bg, r, inc)
		_, _ = do.Call(within(o.t), o.other, inc)
		r.Kill()
	}},
	{"calls Close", false, true, func(o *ordeal) { _ = o.s.Close(); close(o.shut) }},
	{"calls Shutdown", false, true, func(o *ordeal) {
		ctx, cancel := context.WithTimeout(bg, 10*time.Millisecond) // Shutdown would wait for this very callback
		defer cancel()
		_ = o.s.Shutdown(ctx)
		close(o.shut)
	}},
}

// However a callback misbehaves, and however it is reached, other actors are served, the System ends,
// the counters add up, and no goroutine is left.
func TestCallbacks(t *testing.T) {
	for _, e := range entries() {
		t.Run(e.name, func(t *testing.T) {
			for _, f := range failures {
				t.Run(f.name, func(t *testing.T) {
					for slots := range 2 {
						endure(t, e, Config{Slots: 1 + slots}, f.each, f.closes, f.f)
					}
				})
			}
		})
	}
}

func endure(t *testing.T, e entrance, cfg Config, each, closes bool, fails func(*ordeal)) {
	limit(t, 30*time.Second)
	before := goleak.IgnoreCurrent()
	o := &ordeal{t: t, fails: fails, each: each, called: make(chan bool), free: make(chan bool), shut: make(chan bool)}
	cfg.Handoff, cfg.OnTimeout, cfg.Logger = time.Millisecond, func(SlowHandler) {}, quietLogger()
	if e.cfg != nil {
		e.cfg(o, &cfg)
	}
	o.s = newSys(t, cfg)
	o.other = box0(t, o.s, "other")
	done := make(chan bool)
	go func() { // a callback may end this goroutine
		defer close(done)
		e.reach(o)
	}()
	<-o.called
	_, err := do.Call(within(t), o.other, get)
	if ended := (closes || e.ends) && errors.Is(err, ErrStopped); err != nil && !ended {
		t.Errorf("another actor: %v", err)
	}
	closed := make(chan bool)
	go func() {
		defer close(closed)
		if closes {
			_ = o.s.Close()
		}
	}()
	if closes && !e.byClose {
		<-closed
	}
	close(o.free)
	<-closed
	<-done
	if err := o.s.Shutdown(within(t)); err != nil {
		t.Errorf("Shutdown: %v, %+v, %v", err, o.s.Stats(), o.s.Running())
	}
	eventually(t, func() bool { st := o.s.Stats(); return st.Accepted == st.Handled+st.DeadLetters+st.Cancelled })
	books(t, o.s)
	goleak.VerifyNone(t, before)
}

// entrance is a way to a callback.
type entrance struct {
	name    string
	cfg     func(o *ordeal, c *Config)
	reach   func(o *ordeal)
	ends    bool // reach may end the System
	byClose bool // Close itself runs the callback, so Close waits for it
}

// starter is a state whose hooks the test sets.
type starter struct {
	box
	begun func() error
}

func (p *starter) Started(*Ctx) error { return p.begun() }

var poke = NewMethod("Poke", func(_ *starter, _ *Ctx, f func()) (int, error) { f(); return 0, nil })

// hooked is a Metrics with an ordeal in one method.
type hooked struct {
	NoMetrics
	mu sync.Mutex
	at map[string]func()
}

func (h *hooked) do(name string) {
	h.mu.Lock()
	f := h.at[name]
	h.mu.Unlock()
	if f != nil {
		f()
	}
}

func (h *hooked) Turn(string, int, time.Duration, time.Duration, TurnEnd) { h.do("Turn") }
func (h *hooked) Timeout(string, string, TimeoutMode)                     { h.do("Timeout") }
func (h *hooked) Abandoned(string, int)                                   { h.do("Abandoned") }
func (h *hooked) Failed(string, error)                                    { h.do("Failed") }
func (h *hooked) Restarted(string)                                        { h.do("Restarted") }
func (h *hooked) Refused(string, error)                                   { h.do("Refused") }
func (h *hooked) Handoff()                                                { h.do("Handoff") }
