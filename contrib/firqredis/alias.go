package firqredis

import (
	"context"
	"errors"
	"time"

	"github.com/adhocore/gronx"

	"github.com/firq-go/firq/queue"
)

// What all engines have in common; the comments are in package queue.
//
//nolint:revive // see there
type (
	Queue[T any]        = queue.Queue[T]
	Consumer[T any]     = queue.Consumer[T]
	Task[T any]         = queue.Task[T]
	Item[T any]         = queue.Item[T]
	Event[T any]        = queue.Event[T]
	RunOptions[T any]   = queue.RunOptions[T]
	DeadLetter[T any]   = queue.DeadLetter[T]
	Info[T any]         = queue.Info[T]
	Listing             = queue.Listing
	State               = queue.State
	Schedule[T any]     = queue.Schedule[T]
	ScheduleInfo[T any] = queue.ScheduleInfo[T]
	Schedules[T any]    = queue.Schedules[T]
	Survey[T any]       = queue.Survey[T]
	Codec[T any]        = queue.Codec[T]

	Result         = queue.Result
	Retry          = queue.Retry
	TaskError      = queue.TaskError
	Backoff        = queue.Backoff
	Retention      = queue.Retention
	Settings       = queue.Settings
	SettingsChange = queue.SettingsChange
	TenantSettings = queue.TenantSettings
	TenantChange   = queue.TenantChange
	Stats          = queue.Stats
	TenantStats    = queue.TenantStats
	Filter         = queue.Filter
	Health         = queue.Health
	By             = queue.By
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

// Sentinels for errors.Is: those of package queue.
var (
	ErrLeaseLost       = queue.ErrLeaseLost
	ErrDuplicate       = queue.ErrDuplicate
	ErrFull            = queue.ErrFull // also: the server has no memory left
	ErrTenantFull      = queue.ErrTenantFull
	ErrNotFound        = queue.ErrNotFound
	ErrCancelled       = queue.ErrCancelled
	ErrPayloadTooLarge = queue.ErrPayloadTooLarge
	ErrPartitions      = queue.ErrPartitions
	ErrNotReplicated   = queue.ErrNotReplicated
	ErrVersion         = queue.ErrVersion
)

// Run is queue.Run.
func Run[T any](ctx context.Context, q *Queue[T], h func(ctx context.Context, it *Item[T]) error, o RunOptions[T]) error {
	return queue.Run(ctx, q, h, o)
}

// Dead is queue.Dead.
func Dead(err error) error { return queue.Dead(err) }

// RetryAfter is queue.RetryAfter.
func RetryAfter(err error, d time.Duration) error { return queue.RetryAfter(err, d) }

func init() {
	queue.RegisterCron(func(expr string) (func(time.Time) (time.Time, error), error) {
		if !gronx.IsValid(expr) {
			return nil, errors.New("not valid")
		}
		return func(after time.Time) (time.Time, error) { return gronx.NextTickAfter(expr, after, false) }, nil
	})
}
