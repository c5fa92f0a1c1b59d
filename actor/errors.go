package actor

import (
	"errors"
	"fmt"
	"runtime/debug"
	"strings"

	"github.com/firq-go/firq"
)

// Sentinels for errors.Is.
var (
	// ErrStopped: the actor, its parent or the System has ended, or is about to.
	ErrStopped = errors.New("actor: stopped")
	// ErrDeadlock: the call would wait for itself. The error is a *DeadlockError.
	ErrDeadlock = errors.New("actor: deadlock")
	// ErrTimeout: the handler ran for its timeout with the mode Stop, and the actor
	// goes on without it. With Cancel it is context.Cause of the handler's Ctx.
	ErrTimeout = errors.New("actor: the handler ran longer than its timeout")
	// ErrMailboxFull: the mailbox is at its limit, or the message was evicted from it.
	// It matches firq.ErrRejected.
	ErrMailboxFull error = &also{errors.New("actor: the mailbox is full"), firq.ErrRejected}
	// ErrNotSent: the message was certainly not accepted, so it may be sent again. It comes with
	// another error that says why: ErrStopped, ErrMailboxFull, or the error of a start.
	ErrNotSent = errors.New("actor: not sent")
	// ErrStale: the Ctx was used after its handler had returned, or was abandoned.
	ErrStale = errors.New("actor: the Ctx is stale: its handler has returned or was abandoned")
	// ErrNameTaken: another actor or supervisor of the System has the name.
	ErrNameTaken = errors.New("actor: the name is taken")
	// ErrPanicked: a handler panicked, or the start, Started or Stop of a state. The error is a
	// *PanicError.
	ErrPanicked = errors.New("actor: panicked")
	// ErrGoexit is the Value of the PanicError of a handler that called runtime.Goexit,
	// as FailNow of package testing does.
	ErrGoexit = errors.New("actor: the handler called runtime.Goexit")
)

// also is an error that matches another one too, of which its text says nothing.
type also struct {
	error
	other error
}

func (e *also) Unwrap() error        { return e.error }
func (e *also) Is(target error) bool { return target == e.other }

// notSent returns why a message was not accepted: it may be sent again.
func notSent(why error) error { return &also{why, ErrNotSent} }

// What a sender gets whose message was refused. No reply of a handler is one of these (handled).
var (
	errClosed = notSent(ErrStopped)
	errFull   = notSent(ErrMailboxFull)
)

// handled returns the error that a handler has replied with. The handler may have got it from a
// call that was not sent; but its own message was.
func handled(err error) error {
	if err != nil && errors.Is(err, ErrNotSent) {
		return &reply{err}
	}
	return err
}

// reply is an error that matches all that err does, except ErrNotSent.
type reply struct{ err error }

// An error that a handler has replied with: it has all that it matches, but not as an answer of the System.
func (r *reply) Error() string        { return r.err.Error() }
func (r *reply) Is(target error) bool { return target != ErrNotSent && errors.Is(r.err, target) }
func (r *reply) As(target any) bool   { return errors.As(r.err, target) }

// DeadlockError says which actor waits for which. It matches ErrDeadlock.
type DeadlockError struct {
	// Cycle holds the name of each actor of the cycle once, in the order of the calls:
	// each waits for the next one, and the last one would wait for the first.
	Cycle []string
}

// Error names the actors in the order of their calls, and the first once more at the end: a
// circle.
func (e *DeadlockError) Error() string {
	if len(e.Cycle) == 0 {
		return ErrDeadlock.Error()
	}
	return ErrDeadlock.Error() + ": " + strings.Join(e.Cycle, " -> ") + " -> " + e.Cycle[0]
}

// Is makes it match ErrDeadlock.
func (e *DeadlockError) Is(target error) bool { return target == ErrDeadlock }

// PanicError holds the value of a panic in user code. It matches ErrPanicked, and Value
// too if that is an error.
type PanicError struct {
	Value any
	Stack []byte // of the goroutine that panicked
}

func (e *PanicError) Error() string { return fmt.Sprintf("actor: panicked: %v", e.Value) }

// Is makes it match ErrPanicked.
func (e *PanicError) Is(target error) bool { return target == ErrPanicked }

// panicked returns the failure of a user's function that has not returned, for v from recover.
func panicked(v any) error {
	if v == nil {
		v = ErrGoexit
	}
	return &PanicError{v, debug.Stack()}
}

// Unwrap returns the Value if it is an error.
func (e *PanicError) Unwrap() error {
	err, _ := e.Value.(error)
	return err
}
