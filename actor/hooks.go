package actor

import (
	"context"
	"log/slog"
	"sync"
	"time"

	"github.com/firq-go/firq/internal/proof/failpoint"
)

// Where the System calls code of the user's that is no handler, or writes to a log. Such code
// may panic, block or end its goroutine, and none of that may reach the goroutine of the
// System: it is called without a lock, and, except for what is called per turn or message, on a
// separate goroutine.

// later calls f after d, unless Close comes before; immediately if d is not positive.
func (s *System) later(d time.Duration, f func()) {
	if d <= 0 {
		f()
		return
	}
	s.keepMu.Lock()
	defer s.keepMu.Unlock()
	if s.closed.Load() {
		return
	}
	// Most Systems have no backoff and no idle actors.
	if s.timers == nil {
		s.timers = map[*time.Timer]struct{}{}
	}
	var t *time.Timer
	// Under keepMu: one that rings immediately waits until it is noted below.
	t = time.AfterFunc(d, func() {
		s.keepMu.Lock()
		// It has rung: Close has nothing to stop, and f may set the next one.
		delete(s.timers, t)
		s.keepMu.Unlock()
		f()
	})
	// Kept, since Close has to stop it: a program that has closed its System has no timers of
	// it.
	s.timers[t] = struct{}{}
}

// parentEnd is why children end with their parent.
func (s *System) parentEnd() error {
	// In a Shutdown every end is one that was asked for: Err is nil.
	if s.gently.Load() {
		return nil
	}
	return ErrStopped
}

// hook runs a function of the user's on a separate goroutine. A panic in it is logged, and
// Goexit in it does not cut short the monitor, Close or the end of an actor.
func (s *System) hook(name string, f func()) {
	s.apart(func() { s.hookHere(name, f) })
}

// hookHere is hook for functions that are called for each message or turn, where a goroutine would
// cost too much. Goexit in f ends the caller's goroutine, which then gives back what it holds.
func (s *System) hookHere(name string, f func()) {
	defer func() {
		// A hook has no caller to whom its panic could go.
		if v := recover(); v != nil {
			s.log(slog.LevelError, "actor: a hook panicked", "hook", name, "panic", v)
		}
	}()
	f()
}

// afterFunc calls f when a has ended. nil is the zero Ref, which has ended.
func (a *actor) afterFunc(f func()) {
	if a == nil {
		go new(System).hookHere("AfterFunc", f) // it has no System: the line goes to the default log
		return
	}
	s := a.sys()
	s.afterMu.Lock()
	if s.after == nil {
		s.after = map[*actor][]func(){}
	}
	s.after[a] = append(s.after[a], f)
	s.afterMu.Unlock()
	failpoint.At("after")
	// f is in the map before: finish, which sets gone and reads followed in one step, takes it, or it is
	// taken here.
	a.mu.Lock()
	a.followed = true
	over := a.life == gone
	a.mu.Unlock()
	if over {
		s.callAfter(a)
	}
}

// callAfter calls what AfterFunc was given for an actor that is gone. Who takes a function out calls it.
func (s *System) callAfter(a *actor) {
	s.afterMu.Lock()
	list := s.after[a]
	delete(s.after, a)
	s.afterMu.Unlock()
	for _, f := range list {
		go s.hookHere("AfterFunc", f) // it may take as long as it likes, and the end does not wait
	}
}

// metric is hook for Config.Metrics, which may be nil.
func (s *System) metric(name string, f func(Metrics)) {
	if m := s.cfg.Metrics; m != nil {
		s.hook(name, func() { f(m) })
	}
}

// apart runs f on a separate goroutine, and returns when that has ended, even by Goexit.
func (s *System) apart(f func()) {
	s.apartNow.Add(1)
	// Close looks at it: a second Close may be called from here, and must not wait for itself.
	defer s.apartNow.Add(-1)
	var wg sync.WaitGroup
	wg.Go(f)
	// Waited for, so that events of one actor come in their order, and a test sees them.
	wg.Wait()
}

// log writes an event that no hook takes. The logger's handler may be the user's, and may not return.
func (s *System) log(level slog.Level, text string, args ...any) {
	to := s.cfg.Logger
	// Asked for now, as a program may set the default after New.
	if to == nil {
		to = slog.Default()
	}
	s.apart(func() {
		defer func() { _ = recover() }() // there is no hook left to report it to
		to.Log(context.Background(), level, text, args...)
	})
}

// now is a time in nanoseconds that only grows. It is read per turn, not per message.
func (s *System) now() int64 { return s.clk.Now() }
