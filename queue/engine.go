package queue

import (
	"context"
	"iter"
	"time"

	"github.com/firq-go/firq"
)

// Engine keeps the tasks of one queue on a server. It knows bytes, not payloads: checks, defaults, the codec, batches, retries,
// Run and schedules are this package's. An engine's own New makes one and hands it to New; users of a queue never call it.
//
// What an engine has to keep to is in package queuetest. In short:
//
//   - Every method may be called at any time after Open and before Close, by many goroutines.
//   - A method whose ctx ends returns soon; whether it has done its work is then open.
//   - What is said of a lease that has been given on, or that has ended, changes nothing: ErrLeaseLost.
//   - Errors of the server are wrapped, so that errors.As finds them, and are not ones of this package's sentinels. An engine
//     never sends anew what may have arrived, but for calls that change nothing the second time.
//
// Lanes: what an engine shares between tenants may be divided (as into the hash slots of Redis). A tenant is in one lane for ever. This package
// collects Pushes and Acks per lane while the previous ones are on their way, and hands over at most MaxBatch tasks of one lane at a time.
type Engine interface {
	// Traits are asked for before anything else, and never change.
	Traits() Traits
	// Open connects, and makes the queue if it is new. Its errors are those of New: ErrVersion, ErrPartitions,
	// firq.ErrInvalidConfig. If it fails, Close follows.
	Open(ctx context.Context, o Options) error
	// Close ends what the engine has started, when no call of this package is under way. It is called once.
	Close() error
	// Lane returns the lane of a tenant, from 0 to Traits.Lanes-1.
	Lane(tenant string) int

	// Push queues tasks; it returns a Result for each, in their order, or an error that goes to all: ErrDuplicate with the id that has the
	// key, ErrTenantFull (before) ErrFull, ErrNotReplicated; nil for an ID that is known already. See Push.Known and Push.Wanted. ctx has no end.
	Push(ctx context.Context, lane int, ps []*Push) ([]Result, error)
	// From returns a source of deliveries: of some tenants, then of those that match steal, or, without both, of all.
	From(tenants, steal []string) Source
	// Ack settles deliveries as done, late ones too, as long as they were not given on. One error per lease: nil or ErrLeaseLost; or an error that
	// goes to all. The same lease twice in one call: the second is lost. What is kept of a task (Lease.Keep) takes the place of what was kept by its ID
	// before, ends by itself, and is no task: it neither holds the ID nor counts in Stats. ctx has no end.
	Ack(ctx context.Context, lane int, ls []Lease) ([]error, error)
	// Nack ends a delivery that failed: r.After is the pause until the next one (0: none), Reason is cut already. ErrLeaseLost.
	Nack(ctx context.Context, lane int, l Lease, r Retry) error
	// Release gives deliveries back: they are no attempts, and their tenants do not pay. Returns as Ack.
	Release(ctx context.Context, lane int, ls []Lease) ([]error, error)
	// Extend lets leases end d from now, by the server's clock, which is until. Returns as Ack, and ErrCancelled for what was extended, and
	// cancelled. Lost ones count in Stats.LeaseLost only if counts is set.
	Extend(ctx context.Context, lane int, d time.Duration, counts bool, ls []Lease) (until time.Time, errs []error, err error)

	// Cancel removes a queued or delayed task, or marks one in flight. false: there is none.
	Cancel(ctx context.Context, id string) (bool, error)
	// Pause stops, or resumes, the deliveries of a tenant; "": of all.
	Pause(ctx context.Context, tenant string, paused bool) error
	// ChangeTenant changes the settings of a tenant that are not nil; the values are checked. They apply to queued tasks, too.
	ChangeTenant(ctx context.Context, tenant string, c TenantChange) error
	// Settings returns those in force, with defaults filled in; a PriorityAging of 0 is strict. It does not wait for a server.
	Settings() Settings
	// ChangeSettings changes the settings that are not nil, for all clients; the values are checked, but for what is the engine's
	// (firq.ErrInvalidConfig). 0: as if no client had set it.
	ChangeSettings(ctx context.Context, c SettingsChange) error

	// Stats returns all but Oldest, at a cost that does not depend on what is queued.
	Stats(ctx context.Context) (Stats, error)
	// QueueTimes: see Queue.QueueTimes.
	QueueTimes(ctx context.Context) ([]firq.Bucket, time.Duration, error)
	// TenantStats returns the numbers of tenants, in their order, at most MaxBatch; of an unknown one its name alone.
	TenantStats(ctx context.Context, tenants []string) ([]TenantStats, error)
	// Tenants returns the numbers of some tenants that have tasks queued, delayed or in flight, about n of them, from a cursor on, and the next
	// cursor; "" is the first cursor, and the last next one. A tenant that has tasks all the time comes at least once.
	Tenants(ctx context.Context, cursor string, n int) (some []TenantStats, next string, err error)
	// Health: see Queue.Health.
	Health(ctx context.Context) (Health, error)
	// Maintain brings in what is due: delayed tasks, leases that have run out, dead letters that are not kept any longer.
	Maintain(ctx context.Context) error

	// DeadLetters iterates over the dead letters that match all of f but Limit, the oldest first. Raw is the payload; Payload is not used.
	DeadLetters(ctx context.Context, f Filter) iter.Seq2[DeadLetter[[]byte], error]
	// Requeue queues dead letters as new tasks; per id, whether there was one. At most MaxBatch.
	Requeue(ctx context.Context, ids []string) ([]bool, error)
	// Purge removes dead letters of a lane, at most MaxBatch, and returns how many there were.
	Purge(ctx context.Context, lane int, ids []string) (int, error)
	// InFlight iterates over deliveries, those whose leases end first come first; tenant "": of all.
	InFlight(ctx context.Context, tenant string) iter.Seq2[Delivery, error]

	// Get returns a task with Raw, and without Payload: one that has not ended, else one that is kept; nil: there is none.
	Get(ctx context.Context, id string) (*Info[[]byte], error)
	// List returns at most l.Limit tasks (as Get) behind a place, and the place of the last one that it has looked at; nil: there are no more. l.Cursor
	// is not used. See Queue.List.
	List(ctx context.Context, l Listing, from Place) ([]Info[[]byte], *Place, error)
	// Forget removes what is kept of completed tasks; per id, whether there was something. At most MaxBatch.
	Forget(ctx context.Context, ids []string) ([]bool, error)

	// PutSchedule stores a plan. If the schedule is there with the same Spec its due time stays, whatever tenant (lane) it had;
	// else it is p.Due.
	PutSchedule(ctx context.Context, tenant string, p Plan) error
	// DeleteSchedule removes a schedule. false: there is none.
	DeleteSchedule(ctx context.Context, id string) (bool, error)
	// Schedules returns all schedules, in any order.
	Schedules(ctx context.Context) ([]Plan, error)
	// DueSchedules returns the n schedules of a lane that are due first, in that order, due or not yet.
	DueSchedules(ctx context.Context, lane, n int) ([]Plan, error)
	// Fire queues tasks of a schedule and moves it on, both or neither, if it is still due at f.Due; else false. No limit refuses
	// them, a task whose ID is known is left out, and one whose UniqueKey is known too (and counts in Stats.Duplicates).
	Fire(ctx context.Context, lane int, f Firing) (bool, error)
}

// Source is a stream of deliveries. One goroutine uses it.
type Source interface {
	// Pop waits until it has deliveries for want() of them (at most MaxBatch, and no more once they have 1 MiB), which it asks before each look, as
	// callers come and go while it waits. When want returns 0, or ctx has ended, as it does with the queue, it returns nothing soon (within seconds), after it
	// has given back what it does not use: a wake-up that it was sent. It is called again when the next caller comes. With a ctx that has
	// ended before, it looks, and does not sleep between looks. What an engine cannot read has Err; it is made a dead letter. Waiting must not poll.
	Pop(ctx context.Context, want func() int) ([]Delivery, error)
}

// Limits of what an Engine gets.
const (
	MaxBatch  = 500     // tasks of a call
	MaxBytes  = 1 << 20 // of a Push, if it has more than one task
	MaxReason = 4 << 10 // bytes of Retry.Reason
)

// Traits are what this package has to know of an engine.
type Traits struct {
	Name  string // "redis", "postgres": the label of metrics
	Lanes int    // at least 1
	// AckRest is how long a busy lane rests at most between two Acks, for more to come: half as long as the last one took. 0: not at all.
	AckRest time.Duration
	// UTF8: names must be valid UTF-8 without NUL. Else any bytes.
	UTF8 bool
	// MaxScheduleID bounds the ID of a schedule, in bytes. 0: MaxName.
	MaxScheduleID int
}

// Options are what an engine gets of Config, with defaults filled in.
type Options struct {
	Name        string
	Lease       time.Duration // how long a delivery of Pop lasts
	MaxAttempts int           // the usual one: every Raw has its number
	TenantIdle  time.Duration
	Settings    Settings // as Config has them: fields that are 0 are not set by this client
	// Closing is closed when the queue begins to close: what waits or tries again ends; what is on its way may end.
	Closing <-chan struct{}
}

// Raw is a task to queue. All defaults are filled in, the ID is made, and the checks of this package have passed.
type Raw struct {
	Task[[]byte]
	// Weight is Config.WeightFor's answer, from 1e-6 to 1e15. 0: this client says nothing of weights, and the weight that others have
	// said holds.
	Weight float64
	// Due is for tasks of schedules (Fire): when it is first due, instead of At and Delay, which are only kept. Zero: immediately.
	Due time.Time
}

// Delivery is a task on its way to a consumer. Wait and LeaseUntil are by the server's clock.
type Delivery struct {
	Item[[]byte]
	Err error // the engine cannot read it: only ID, Tenant and Token are set
}

// Lease names a delivery, and says what ends with it.
type Lease struct {
	ID, Tenant string
	Token      uint64
	Charge     int64  // with Ack and Nack: correction of the cost
	UniqueKey  string // with Ack and Nack: is let go of when the task ends; "": none
	// With Ack: for how long from now on, by the server's clock, the task is kept as completed, with its result. 0: it is not.
	Keep   time.Duration
	Result []byte
}

// Plan is a schedule as an engine stores it.
type Plan struct {
	ID   string
	Spec string // Cron and Zone
	Text []byte // the rest
	Due  time.Time
	Last time.Time // it fired last; zero: never
}

// Firing is a schedule that fires.
type Firing struct {
	ID        string
	Due, Next time.Time // expected, and from now on
	Last      time.Time // of the tasks; zero: there are none, and Plan.Last stays
	Tasks     []Raw
}
