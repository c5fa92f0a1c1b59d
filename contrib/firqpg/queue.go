package firqpg

import (
	"context"
	"time"

	"github.com/firq-go/firq/queue"
)

// What package queue documents.
//
//nolint:revive // see there
type (
	Queue[T any]        = queue.Queue[T]
	Task[T any]         = queue.Task[T]
	Item[T any]         = queue.Item[T]
	Result              = queue.Result
	Retry               = queue.Retry
	TaskError           = queue.TaskError
	Codec[T any]        = queue.Codec[T]
	Backoff             = queue.Backoff
	Retention           = queue.Retention
	Settings            = queue.Settings
	SettingsChange      = queue.SettingsChange
	TenantSettings      = queue.TenantSettings
	TenantChange        = queue.TenantChange
	Stats               = queue.Stats
	TenantStats         = queue.TenantStats
	Survey[T any]       = queue.Survey[T]
	Filter              = queue.Filter
	DeadLetter[T any]   = queue.DeadLetter[T]
	Info[T any]         = queue.Info[T]
	Listing             = queue.Listing
	State               = queue.State
	By                  = queue.By
	Health              = queue.Health
	Event[T any]        = queue.Event[T]
	RunOptions[T any]   = queue.RunOptions[T]
	Consumer[T any]     = queue.Consumer[T]
	Schedule[T any]     = queue.Schedule[T]
	ScheduleInfo[T any] = queue.ScheduleInfo[T]
	Schedules[T any]    = queue.Schedules[T]
)

// Sentinels of package queue.
var (
	ErrLeaseLost       = queue.ErrLeaseLost
	ErrDuplicate       = queue.ErrDuplicate
	ErrFull            = queue.ErrFull
	ErrTenantFull      = queue.ErrTenantFull
	ErrNotFound        = queue.ErrNotFound
	ErrCancelled       = queue.ErrCancelled
	ErrPayloadTooLarge = queue.ErrPayloadTooLarge
	ErrVersion         = queue.ErrVersion
)

// Defaults and limits of Config.
const (
	DefaultName                 = queue.DefaultName
	DefaultLease                = queue.DefaultLease
	DefaultMaxAttempts          = queue.DefaultMaxAttempts
	DefaultMaxPayload           = queue.DefaultMaxPayload
	DefaultTenantIdle           = queue.DefaultTenantIdle
	DefaultDeadLettersPerTenant = queue.DefaultDeadLettersPerTenant
	DefaultDeadLettersFor       = queue.DefaultDeadLettersFor
	DefaultBackoffFirst         = queue.DefaultBackoffFirst
	DefaultBackoffMax           = queue.DefaultBackoffMax
	MaxName                     = queue.MaxName
)

// The orders of TopTenants.
const (
	ByQueued   = queue.ByQueued
	ByInFlight = queue.ByInFlight
	ByOldest   = queue.ByOldest
)

// The states of tasks.
const (
	StateQueued    = queue.StateQueued
	StateDelayed   = queue.StateDelayed
	StateInFlight  = queue.StateInFlight
	StateDead      = queue.StateDead
	StateCompleted = queue.StateCompleted
)

// Run is queue.Run: it handles tasks until ctx is done.
func Run[T any](ctx context.Context, q *Queue[T], h func(ctx context.Context, it *Item[T]) error, o RunOptions[T]) error {
	return queue.Run(ctx, q, h, o)
}

// Dead is queue.Dead: an error that keeps a handler's task from being tried again.
func Dead(err error) error { return queue.Dead(err) }

// RetryAfter is queue.RetryAfter: an error that says when a handler's task is to be tried again.
func RetryAfter(err error, d time.Duration) error { return queue.RetryAfter(err, d) }
