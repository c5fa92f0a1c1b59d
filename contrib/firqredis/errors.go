package firqredis

import (
	"errors"
	"fmt"
	"time"

	"github.com/firq-go/firq"
)

// Sentinels for errors.Is.
var (
	// ErrLeaseLost: the lease has run out and the task was taken back, or settled by someone
	// else. The call has changed nothing. It is also the cause of the context of a handler
	// of Run whose lease is lost.
	ErrLeaseLost = errors.New("firqredis: the lease is lost")
	// ErrDuplicate: another task with this UniqueKey is known; Enqueue returns its id.
	ErrDuplicate = errors.New("firqredis: a task with this UniqueKey is known")
	// ErrFull: MaxQueued is reached, or the server has no memory left. It matches firq.ErrGlobalFull and firq.ErrRejected.
	ErrFull error = &limit{"firqredis: the queue is full", firq.ErrGlobalFull}
	// ErrTenantFull: MaxQueuedPerTenant, or the tenant's own limit, is reached. It matches firq.ErrTenantFull and
	// firq.ErrRejected.
	ErrTenantFull error = &limit{"firqredis: the tenant's queue is full", firq.ErrTenantFull}
	// ErrNotFound: no such task, dead letter or schedule.
	ErrNotFound = errors.New("firqredis: not found")
	// ErrCancelled: the task was cancelled while it was in flight.
	ErrCancelled = errors.New("firqredis: the task is cancelled")
	// ErrPayloadTooLarge: the payload exceeds MaxPayload.
	ErrPayloadTooLarge = errors.New("firqredis: the payload is too large")
	// ErrPartitions: the queue has another number of partitions.
	ErrPartitions = errors.New("firqredis: the queue has another number of partitions")
	// ErrNotReplicated: the task is queued, but WaitReplicas was not reached in time.
	ErrNotReplicated = errors.New("firqredis: not replicated in time")
	// ErrVersion: another version of this package has written to the queue: a newer one, or an older one, which has to
	// work off its tasks first.
	ErrVersion = errors.New("firqredis: the queue is of another version")
)

// limit is a sentinel that also matches sentinels of firq.
type limit struct {
	text string
	is   error
}

func (l *limit) Error() string        { return l.text }
func (l *limit) Is(target error) bool { return errors.Is(l.is, target) || target == firq.ErrRejected }

// TaskError says which task of a call failed, and why. A call with several tasks joins its TaskErrors.
type TaskError struct {
	ID  string
	Err error
}

func (e *TaskError) Error() string { return fmt.Sprintf("task %q: %v", e.ID, e.Err) }

// Unwrap returns Err.
func (e *TaskError) Unwrap() error { return e.Err }

// deadly and later mark errors that a handler returns.
type (
	deadly struct{ error }
	later  struct {
		error
		after time.Duration
	}
)

func (d deadly) Unwrap() error { return d.error }
func (l later) Unwrap() error  { return l.error }
