package firqredis

import (
	"fmt"
	"time"

	"github.com/redis/go-redis/v9"

	"github.com/firq-go/firq"
	"github.com/firq-go/firq/queue"
	"github.com/firq-go/firq/rate"
)

// Defaults and limits of Config.
const (
	DefaultName        = queue.DefaultName // of the queue, and of the tenant
	DefaultLease       = queue.DefaultLease
	DefaultMaxAttempts = queue.DefaultMaxAttempts
	DefaultMaxPayload  = queue.DefaultMaxPayload
	DefaultTenantIdle  = queue.DefaultTenantIdle

	DefaultDeadLettersPerTenant = queue.DefaultDeadLettersPerTenant
	DefaultDeadLettersFor       = queue.DefaultDeadLettersFor

	DefaultBackoffFirst = queue.DefaultBackoffFirst
	DefaultBackoffMax   = queue.DefaultBackoffMax

	MaxPartitions = 1024
	MaxName       = queue.MaxName // bytes of the name of a queue, a tenant, a task, a schedule, and of a UniqueKey
)

// Config describes a queue. The zero value works: a server on localhost:6379, queue "default", one
// partition. Limits, ageing and retention live with the queue: see Settings. A queue that has none yet has the defaults.
type Config[T any] struct {
	// Client connects to a single server, Sentinel or a cluster. nil: localhost:6379. Close closes it only
	// if it was nil. Besides it the queue has separate connections for calls that sleep. A client of a
	// cluster that lets replicas answer reads (ReadOnly, RouteByLatency, RouteRandomly) serves only as a
	// pattern: the queue makes one like it that asks the primaries, and closes that.
	Client redis.UniversalClient
	// Name of the queue. "": "default".
	Name string
	// Partitions is the number of hash slots, and so the largest number of cores of a cluster, over which tenants are
	// spread. Order is exact within one. 0: 1. The first New of a queue fixes it; see ErrPartitions.
	Partitions int
	// Codec of payloads. nil: JSON; for []byte, the bytes as they are.
	Codec Codec[T]
	// Lease is the visibility timeout: how long a delivery belongs to its worker, unless the worker extends it.
	// 0: 30 s; at least 1 ms.
	Lease time.Duration
	// MaxAttempts is the number of deliveries after which a task becomes a dead letter. 0: 25.
	MaxAttempts int
	// Backoff of retries. Zero: 1 s doubling to 1 h, with full jitter.
	Backoff Backoff
	// Limits, 0: the queue's, or none. Strict. MaxQueued counts queued and delayed tasks; retries, Requeue and schedules are
	// never refused. With several partitions MaxQueued and MaxInFlight are split between them.
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
	// WaitReplicas is how many replicas have to have a task when Enqueue returns; see
	// ErrNotReplicated. 0: none.
	WaitReplicas int
	// TenantIdle is how long a tenant without tasks is remembered. 0: 1 h.
	TenantIdle time.Duration
	// Linger is how long a single call may wait for others to share its round trip. 0: it shares it
	// with those that are there already.
	Linger time.Duration
}

// strict is the ageing that never lets a priority overtake another one: ten years.
const strict = 10 * 365 * 24 * time.Hour

func invalid(format string, args ...any) error {
	return fmt.Errorf("%w: firqredis: %s", firq.ErrInvalidConfig, fmt.Sprintf(format, args...))
}

// engine returns the engine that c describes, not yet connected, or an error that matches firq.ErrInvalidConfig and names the field.
func (c *Config[T]) engine() (*engine, error) {
	e := &engine{db: c.Client, partitions: c.Partitions, replicas: c.WaitReplicas}
	switch {
	case c.Partitions < 0:
		return nil, invalid("Partitions: %d, must not be negative", c.Partitions)
	case c.Partitions > MaxPartitions:
		return nil, invalid("Partitions: %d, must be at most %d", c.Partitions, MaxPartitions)
	case c.WaitReplicas < 0:
		return nil, invalid("WaitReplicas: %d, must not be negative", c.WaitReplicas)
	}
	e.partitions = max(c.Partitions, 1)
	return e, usable(c.Client)
}

// fits returns an error if limits cannot be split between partitions.
func (e *engine) fits(queued, inFlight int) error {
	switch {
	case queued > 0 && queued < e.partitions:
		return invalid("MaxQueued: %d, must be at least one per partition, of which there are %d", queued, e.partitions)
	case inFlight > 0 && inFlight < e.partitions:
		return invalid("MaxInFlight: %d, must be at least one per partition, of which there are %d", inFlight, e.partitions)
	}
	return nil
}

// part returns a partition's part of a limit; 0 is none.
func part(limit, partitions, p int) int {
	n := limit / partitions
	if p < limit%partitions {
		n++
	}
	return n
}
