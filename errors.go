package firq

import "errors"

// The errors of this package are sentinels for errors.Is. The ones that a full
// scheduler answers with are returned as they are, never wrapped, so that
// rejecting allocates nothing.
var (
	// ErrClosed: the scheduler was shut down or closed. From Enqueue it means
	// that the task was not admitted; from Dequeue, that nothing will be
	// delivered any more.
	ErrClosed = errors.New("firq: scheduler is closed")
	// ErrInvalidConfig: a Config that makes no sense; the text names the field.
	ErrInvalidConfig = errors.New("firq: invalid config")
	// ErrInvalidTask: a Task that makes no sense, or a tenant that is not equal to
	// itself; the text names the field.
	ErrInvalidTask = errors.New("firq: invalid task")
	// ErrInvalidArgument: a nil context, an empty destination and the like; the
	// text names the argument.
	ErrInvalidArgument = errors.New("firq: invalid argument")
	// ErrRejected matches every error below: the task was not admitted, because
	// some limit was reached. Trying again later can help.
	ErrRejected = errors.New("firq: rejected")
)

// Reasons for a rejection. Each of them also matches ErrRejected.
var (
	// ErrGlobalFull: as many tasks are queued as Config.MaxGlobal, or SetMaxGlobal, allows.
	ErrGlobalFull error = &rejection{"firq: rejected: the scheduler is full (MaxGlobal)"}
	// ErrTenantFull: as many tasks of this tenant are queued as it may have
	// (Config.MaxPerTenant, MaxPerTenantFor, SetLimit).
	ErrTenantFull error = &rejection{"firq: rejected: the tenant is full (MaxPerTenant)"}
	// ErrTenantThreshold: the tenant holds its share of what is free
	// (Config.DynamicThreshold).
	ErrTenantThreshold error = &rejection{"firq: rejected: the tenant is above its share of the free capacity (DynamicThreshold)"}
	// ErrTooManyTenants: the tenant is new and Config.MaxTenants others are in use.
	ErrTooManyTenants error = &rejection{"firq: rejected: too many tenants (MaxTenants)"}
	// ErrTimeout: no capacity came free in the time that Backpressure.Wait or
	// the context of EnqueueWait allowed.
	ErrTimeout error = &rejection{"firq: rejected: no capacity came free in time"}
)

// rejection is an error that also matches ErrRejected.
type rejection struct{ text string }

func (r *rejection) Error() string { return r.text }
func (r *rejection) Unwrap() error { return ErrRejected }
