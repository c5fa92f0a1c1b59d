package firqpg

import (
	"context"
	"fmt"
	"time"

	"github.com/jackc/pgx/v5/pgxpool"

	"github.com/firq-go/firq"
	"github.com/firq-go/firq/queue"
	"github.com/firq-go/firq/rate"
)

// Config describes a queue. The zero value works once Migrate was called: the server that PG* in the environment names, schema "firq", queue
// "default". Limits, ageing and retention live with the queue: see Settings. A queue that has none yet has the defaults.
type Config[T any] struct {
	// DB connects to the server. nil: a pool by what the environment says (PGHOST, PGDATABASE and so on), which Close closes. A pool of one connection works. A queue from
	// which tasks are taken has two connections besides, made like those of the pool: one fetches, and one listens, once a call has found nothing.
	DB *pgxpool.Pool
	// Schema has the tables, see Migrate. "": "firq".
	Schema string
	// NoListen: no connections besides those of DB. Calls that wait look every 250 ms. For poolers that give a server's session to one transaction only
	// (PgBouncer).
	NoListen bool

	// Name of the queue. "": "default".
	Name string
	// Codec of payloads. nil: JSON; for []byte, the bytes as they are.
	Codec Codec[T]
	// Lease is the visibility timeout: how long a delivery belongs to its worker, unless the worker extends it.
	// 0: 30 s; at least 1 ms.
	Lease time.Duration
	// MaxAttempts is the number of deliveries after which a task becomes a dead letter. 0: 25.
	MaxAttempts int
	// Backoff of retries. Zero: 1 s doubling to 1 h, with full jitter.
	Backoff Backoff
	// Limits, 0: the queue's, or none. MaxQueued counts queued and delayed tasks; retries, Requeue and schedules are never refused. The limits in
	// flight are strict; those of queued tasks are for Enqueue and EnqueueBatch, see EnqueueTx.
	MaxQueued, MaxQueuedPerTenant, MaxInFlight, MaxInFlightPerTenant int
	// RatePerTenant is how much cost of each tenant is delivered per second, after a burst. Zero: the queue's, or no limit. See package
	// queue, Rates.
	RatePerTenant rate.Limit
	// WeightFor returns a tenant's weight when it enqueues, at least 1e-6; not above 0: 1. nil: the weight that other clients have set, or
	// 1. SetTenant overrides.
	WeightFor func(tenant string) float64
	// PriorityAging: a task counts as one priority higher for each PriorityAging that it has waited.
	// 0: the queue's, or priorities are strict.
	PriorityAging time.Duration
	// MaxPayload bounds a payload in bytes, as the codec has written it, with the names and values of its headers. 0: 256 KiB.
	MaxPayload int
	// DeadLetters says which dead letters are kept. Zero: the queue's, or 10,000 per tenant, for 30 days.
	DeadLetters Retention
	// TenantIdle is how long a tenant without tasks is remembered. 0: 1 h.
	TenantIdle time.Duration
	// Linger is how long a single call may wait for others to share its round trip. 0: it shares it
	// with those that are there already.
	Linger time.Duration
}

// New connects to a queue, which is made if it is new. It never changes the schema. ErrVersion: the schema is not there, or of another version; the error says
// what to call. firq.ErrInvalidConfig names the field.
func New[T any](ctx context.Context, c Config[T]) (*Queue[T], error) {
	set(&c.Schema, DefaultSchema)
	if err := checkSchema(c.Schema); err != nil {
		return nil, err
	}
	return queue.New(ctx, &engine{db: c.DB, schema: c.Schema, noListen: c.NoListen}, queue.Config[T]{
		Name: c.Name, Codec: c.Codec, Lease: c.Lease, MaxAttempts: c.MaxAttempts, Backoff: c.Backoff,
		MaxQueued: c.MaxQueued, MaxQueuedPerTenant: c.MaxQueuedPerTenant, MaxInFlight: c.MaxInFlight, MaxInFlightPerTenant: c.MaxInFlightPerTenant,
		WeightFor: c.WeightFor, PriorityAging: c.PriorityAging, MaxPayload: c.MaxPayload, DeadLetters: c.DeadLetters,
		TenantIdle: c.TenantIdle, Linger: c.Linger, RatePerTenant: c.RatePerTenant,
	})
}

func invalid(format string, args ...any) error {
	return fmt.Errorf("%w: firqpg: %s", firq.ErrInvalidConfig, fmt.Sprintf(format, args...))
}
