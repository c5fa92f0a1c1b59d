package queue

import (
	"errors"
	"fmt"
	"time"

	"github.com/firq-go/firq"
)

// Sentinels for errors.Is.
var (
	// ErrLeaseLost: the lease has run out and the task was taken back, or settled by another worker
	// else. The call has changed nothing. It is also the cause of the context of a handler
	// of Run whose lease is lost.
	ErrLeaseLost = errors.New("queue: the lease is lost")
	// ErrDuplicate: another task with this UniqueKey is known; Enqueue returns its id.
	ErrDuplicate = errors.New("queue: a task with this UniqueKey is known")
	// ErrFull: MaxQueued is reached, or the server has no memory left. It matches firq.ErrGlobalFull and firq.ErrRejected.
	ErrFull error = &limit{"queue: the queue is full", firq.ErrGlobalFull}
	// ErrTenantFull: MaxQueuedPerTenant, or the tenant's own limit, is reached. It matches firq.ErrTenantFull and
	// firq.ErrRejected.
	ErrTenantFull error = &limit{"queue: the tenant's queue is full", firq.ErrTenantFull}
	// ErrNotFound: no such task, dead letter or schedule.
	ErrNotFound = errors.New("queue: not found")
	// ErrCancelled: the task was cancelled while it was in flight.
	ErrCancelled = errors.New("queue: the task is cancelled")
	// ErrPayloadTooLarge: the payload exceeds MaxPayload.
	ErrPayloadTooLarge = errors.New("queue: the payload is too large")
	// ErrPartitions: the queue has another number of partitions (engines that have some).
	ErrPartitions = errors.New("queue: the queue has another number of partitions")
	// ErrNotReplicated: the task is queued, but not as many replicas have it in time as the engine waits for.
	ErrNotReplicated = errors.New("queue: not replicated in time")
	// ErrVersion: another version of this package has written to the queue: a newer one, or an older one, which has to
	// work off its tasks first.
	ErrVersion = errors.New("queue: the queue is of another version")
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

// Failed joins the errors of results, as TaskErrors.
func Failed(rs []Result) error {
	var failed []error
	for _, r := range rs {
		if r.Err != nil {
			failed = append(failed, &TaskError{r.ID, r.Err})
		}
	}
	return errors.Join(failed...)
}

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
