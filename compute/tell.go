package compute

import (
	"errors"
	"log/slog"
	"sync/atomic"
	"time"
)

// tellPanic lets a panic be heard of.
func (s *Server[T, K, V]) tellPanic(c Call[T, K], p *PanicError) {
	if s.cfg.OnPanic == nil {
		logPanic(s.cfg.Logger, p, "tenant", c.Tenant)
		return
	}
	defer logHook(s.cfg.Logger, "OnPanic")
	s.cfg.OnPanic(c, p)
}

// tellBehind lets a failure be heard of that no call may get. Panics have been.
func (s *Server[T, K, V]) tellBehind(c Call[T, K], err error) {
	if p := (*PanicError)(nil); errors.As(err, &p) || s.life.isKilled() {
		return
	}
	if s.cfg.OnBehind != nil {
		defer logHook(s.cfg.Logger, "OnBehind")
		s.cfg.OnBehind(c, err)
		return
	}
	if n := s.unheard.due(s.clock.Now()); n > 0 {
		logger(s.cfg.Logger).Warn("firq: compute: executions in the background failed", "number", n, "tenant", c.Tenant, "error", err)
	}
}

// tellPanic lets a panic be heard of.
func (b *Batcher[T, K, V]) tellPanic(p *PanicError) {
	if b.cfg.OnPanic == nil {
		logPanic(b.cfg.Logger, p)
		return
	}
	defer logHook(b.cfg.Logger, "OnPanic")
	b.cfg.OnPanic(p)
}

// unheard counts what is logged once a second.
type unheard struct {
	n    atomic.Int64
	next atomic.Int64 // when it is logged again
}

// due counts one more, and returns how many there are if they are to be logged now, else 0.
func (u *unheard) due(now int64) int64 {
	u.n.Add(1)
	next := u.next.Load()
	if now < next || !u.next.CompareAndSwap(next, now+int64(time.Second)) {
		return 0
	}
	return u.n.Swap(0)
}

func logPanic(l *slog.Logger, p *PanicError, args ...any) {
	logger(l).Error("firq: compute: an execution panicked", append(args, "panic", p.Value, "stack", string(p.Stack))...)
}

// logHook is deferred around a hook.
func logHook(l *slog.Logger, name string) {
	if v := recover(); v != nil {
		logger(l).Error("firq: compute: a hook panicked", "hook", name, "panic", v)
	}
}

// logger is asked late, as slog.Default may change.
func logger(l *slog.Logger) *slog.Logger {
	if l == nil {
		return slog.Default()
	}
	return l
}
