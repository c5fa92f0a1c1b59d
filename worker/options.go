package worker

import (
	"errors"
	"fmt"
	"log/slog"
	"math"
	"runtime"
	"time"

	"github.com/firq-go/firq"
)

// Defaults and limits of Options.
const (
	DefaultStuckAfter = 10 * time.Second

	MaxConcurrency = 1 << 20 // upper limit of Concurrency, and of MaxReplacements
)

// Sentinels for errors.Is.
var (
	// ErrTimeout: a handler ran longer than Options.Timeout. Run returns it with
	// the mode Stop; with Cancel and Stop it is also context.Cause of the handler's
	// context, whose Err is context.DeadlineExceeded.
	ErrTimeout = errors.New("firq: worker: the handler ran longer than its Timeout")
	// ErrGraceOver is context.Cause of the contexts that are cancelled because Run is
	// stopping and Options.Grace has passed.
	ErrGraceOver = errors.New("firq: worker: the pool stops and its Grace is over")
	// ErrStuck: Run returned though handlers are still running, because their
	// contexts were cancelled and they have not returned for StuckAfter.
	ErrStuck = errors.New("firq: worker: handlers ignore that they were cancelled")
	// ErrGoexit is the argument of OnError if a handler ended by runtime.Goexit, as
	// testing's FailNow does. The worker goes on.
	ErrGoexit = errors.New("firq: worker: the handler called runtime.Goexit")
)

// TimeoutMode says what happens when a handler has run for Options.Timeout.
type TimeoutMode uint8

const (
	// Warn calls OnTimeout and nothing else: the context is not cancelled, and
	// does not have the timeout as its deadline.
	Warn TimeoutMode = iota
	// Cancel calls OnTimeout, and the handler's context is cancelled.
	Cancel
	// Stop is Cancel, and the pool stops as if Run's ctx were done:
	// nothing more is taken, the other handlers have Options.Grace to finish, and Run
	// returns an error that matches ErrTimeout. The scheduler stays open and keeps
	// what is queued.
	Stop
)

// String returns the mode in one word, for labels: warn, cancel or stop.
func (m TimeoutMode) String() string {
	switch m {
	case Warn:
		return "warn"
	case Cancel:
		return "cancel"
	case Stop:
		return "stop"
	}
	return fmt.Sprintf("TimeoutMode(%d)", uint8(m))
}

// Event is the argument of the hooks. The Payload is the one the handler has: if T is
// or holds a pointer, then in OnSlow, OnTimeout and OnStuck the handler may be
// using what it points to.
type Event[K comparable, T any] struct {
	Pool    string // Options.Name
	Tenant  K
	Payload T
	Wait    time.Duration // of the task, in the queue
	Elapsed time.Duration // since the handler started
	Err     error         // OnError: what the handler returned; else nil
	Panic   any           // OnPanic: the value; else nil
	Stack   []byte        // OnPanic: the stack of the panic; else nil
}

// Options say how a pool behaves. The zero value is a working pool: GOMAXPROCS workers,
// no timeouts, and a log entry for everything unusual.
//
// A hook that is nil logs through Logger instead, with pool, tenant and times but
// without the payload. A hook that does nothing silences it.
type Options[K comparable, T any] struct {
	// Name tells pools apart in Stats, Event and logs.
	Name string
	// Concurrency is the number of workers, and so the number of handlers that run at
	// once (but see MaxReplacements). Handlers that mostly wait for other services need
	// many times as many workers as there are processors. 0: GOMAXPROCS; at most
	// MaxConcurrency.
	Concurrency int
	// Timeout is how long a handler may run until TimeoutMode applies. 0: none.
	Timeout time.Duration
	// TimeoutMode says what happens then. Zero: Warn.
	TimeoutMode TimeoutMode
	// SlowAfter is how long a handler may run until OnSlow is called. 0: none.
	SlowAfter time.Duration
	// IgnoreDeadline keeps the task's deadline out of the handler's context. Use it
	// where a deadline limits only the wait in the queue, for example with
	// Config.MaxQueueAge, which gives every task a deadline.
	IgnoreDeadline bool
	// StuckAfter is how long after the cancellation of its context a handler
	// counts as stuck. 0: 10 s.
	StuckAfter time.Duration
	// MaxReplacements is how many replacements for workers with stuck handlers the pool
	// may have at a time. So at most Concurrency + MaxReplacements handlers run at
	// once. A worker that was replaced ends when its handler returns. 0: none, so that
	// stuck handlers make the pool smaller; at most MaxConcurrency.
	MaxReplacements int
	// Grace is how long handlers may go on after Run has begun to stop, until their
	// contexts are cancelled. 0: without limit.
	Grace time.Duration

	OnSlow    func(Event[K, T]) // once per handler that ran for SlowAfter
	OnTimeout func(Event[K, T]) // once per handler that ran for Timeout, in every mode
	OnStuck   func(Event[K, T]) // once per handler that is stuck
	OnError   func(Event[K, T]) // the handler returned an error
	// OnPanic: the handler panicked. The worker goes on. If the program should end, let
	// the hook panic.
	OnPanic func(Event[K, T])

	// Logger gets every event that has no hook. nil: slog.Default().
	Logger *slog.Logger
}

// resolve returns the options with every default filled in, or an error that
// matches firq.ErrInvalidConfig and names each field that makes no sense, one in a line.
func (o Options[K, T]) resolve() (Options[K, T], error) {
	var errs []error
	wrong := func(format string, args ...any) {
		errs = append(errs, fmt.Errorf("%w: worker: "+format, append([]any{firq.ErrInvalidConfig}, args...)...))
	}
	for _, f := range []struct {
		name        string
		value, most int64
	}{
		{"Concurrency", int64(o.Concurrency), MaxConcurrency},
		{"Timeout", int64(o.Timeout), math.MaxInt64},
		{"SlowAfter", int64(o.SlowAfter), math.MaxInt64},
		{"StuckAfter", int64(o.StuckAfter), math.MaxInt64},
		{"MaxReplacements", int64(o.MaxReplacements), MaxConcurrency},
		{"Grace", int64(o.Grace), math.MaxInt64},
	} {
		if f.value < 0 {
			wrong("%s: %d, must not be negative", f.name, f.value)
		} else if f.value > f.most {
			wrong("%s: %d, must be at most %d", f.name, f.value, f.most)
		}
	}
	switch {
	case o.TimeoutMode > Stop:
		wrong("TimeoutMode: unknown mode %d", o.TimeoutMode)
	case o.TimeoutMode != Warn && o.Timeout == 0:
		wrong("Timeout: must be positive with the modes Cancel and Stop")
	}
	if err := errors.Join(errs...); err != nil {
		return o, err
	}
	if o.Concurrency == 0 {
		o.Concurrency = runtime.GOMAXPROCS(0)
	}
	if o.StuckAfter == 0 {
		o.StuckAfter = DefaultStuckAfter
	}
	return o, nil
}

// logger is asked late, as slog.Default may change.
func (o *Options[K, T]) logger() *slog.Logger {
	if o.Logger != nil {
		return o.Logger
	}
	return slog.Default()
}
