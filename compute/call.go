package compute

import (
	"context"
	"fmt"
	"strconv"
	"time"

	"github.com/firq-go/firq"
)

// Exec makes the result of one key. It runs with one of the server's slots, on the
// goroutine of the call that leads, or on a separate one (Config.Detach, and refreshes in
// the background). It may panic, or call runtime.Goexit, which ends that goroutine: see PanicError.
//
// Its context has the values of the call that leads, no deadline but
// Config.ExecTimeout's, and ends when no call waits for the result any more, after
// ExecTimeout, and with Server.Close; also once Exec has returned. Exec must look at
// it: without Config.Detach the call that leads returns no sooner than Exec does. A
// value that comes with an error is not passed on.
type Exec[T, K comparable, V any] func(ctx context.Context, c Call[T, K]) (V, error)

// Call names the result to be made.
type Call[T, K comparable] struct {
	Tenant T
	Key    K
	Group  int // which of Config.Groups it runs in, from 0 on; of a Batcher: 0
}

// Key identifies a result: a key always goes together with its tenant.
type Key[T, K comparable] struct {
	Tenant T
	Key    K
}

// Info says how a call was answered.
type Info struct {
	// Source says where the answer comes from.
	Source Source
	// Age is, for Hit and Stale, how long ago the answer was made (or put there by
	// Warm); else 0.
	Age time.Duration
	// Wait is, for Executed, how long the call waited for its slot; for Coalesced, how
	// long it waited for the outcome; else 0.
	Wait time.Duration
	// Group is the group in which it ran, for Executed and Coalesced; else -1.
	Group int
	// Err is, for Stale by Config.StaleIfError, the error that the stale result stands
	// in for, of this call's execution or of the last one (Config.Backoff); else nil.
	Err error
}

// Source says where an answer comes from.
type Source uint8

// The sources.
const (
	// None: the call was refused, or the server is closed, or its context ended first.
	None Source = iota
	// Hit: it was kept, and is within its TTL. It may be a kept error.
	Hit
	// Stale: it was kept, and is past its TTL.
	Stale
	// Coalesced: another call executed, whether or not that failed.
	Coalesced
	// Executed: this call executed, whether or not that failed.
	Executed
)

// String returns the source in one word of lower case.
func (s Source) String() string {
	switch s {
	case None:
		return "none"
	case Hit:
		return "hit"
	case Stale:
		return "stale"
	case Coalesced:
		return "coalesced"
	case Executed:
		return "executed"
	}
	return "Source(" + strconv.Itoa(int(s)) + ")"
}

// ErrTooManyWaiters is the error of a call for whose key Config.MaxWaiters calls
// already wait. It matches firq.ErrRejected.
var ErrTooManyWaiters error = fmt.Errorf("%w: too many calls wait for this key (MaxWaiters)", firq.ErrRejected)

// PanicError is the error of every call for a key whose execution panicked, or called
// runtime.Goexit.
type PanicError struct {
	Value any    // what it panicked with; nil: it called runtime.Goexit
	Stack []byte // of the goroutine that panicked; nil for runtime.Goexit
}

// Error says what happened, without the stack.
func (p *PanicError) Error() string {
	if p.Value == nil {
		return "firq: compute: the execution called runtime.Goexit"
	}
	return fmt.Sprintf("firq: compute: the execution panicked: %v", p.Value)
}

// Unwrap returns Value if it is an error.
func (p *PanicError) Unwrap() error {
	err, _ := p.Value.(error)
	return err
}
