package firqredis

import (
	"fmt"
	"math"
	"strings"
	"time"

	"github.com/redis/go-redis/v9"

	"github.com/firq-go/firq"
)

// Defaults and limits of Config.
const (
	DefaultName        = "default" // of the queue, and of the tenant
	DefaultLease       = 30 * time.Second
	DefaultMaxAttempts = 25
	DefaultMaxPayload  = 256 << 10
	DefaultTenantIdle  = time.Hour

	DefaultDeadLettersPerTenant = 10_000
	DefaultDeadLettersFor       = 30 * 24 * time.Hour

	leastWeight = 1e-6 // with less, tags would be so great that the costs of others are lost in them
	mostWeight  = 1e15

	MaxPartitions = 1024
	MaxName       = 128 // bytes of the name of a queue, a tenant, a task, a schedule, and of a UniqueKey
)

// Retention says how many dead letters are kept, and for how long; below 0: no limit. What is above
// it is purged, the oldest first.
type Retention struct {
	PerTenant int           // 0: the queue's, or 10,000
	For       time.Duration // 0: the queue's, or 30 days
}

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

// resolve returns the configuration with every default filled in, or an error that matches
// firq.ErrInvalidConfig and names the field.
func (c Config[T]) resolve() (Config[T], error) {
	for _, f := range []struct {
		name  string
		value int64
	}{
		{"Partitions", int64(c.Partitions)}, {"Lease", int64(c.Lease)}, {"MaxAttempts", int64(c.MaxAttempts)},
		{"Backoff.First", int64(c.Backoff.First)}, {"Backoff.Max", int64(c.Backoff.Max)},
		{"MaxQueued", int64(c.MaxQueued)}, {"MaxQueuedPerTenant", int64(c.MaxQueuedPerTenant)},
		{"MaxInFlight", int64(c.MaxInFlight)}, {"MaxInFlightPerTenant", int64(c.MaxInFlightPerTenant)},
		{"PriorityAging", int64(c.PriorityAging)}, {"MaxPayload", int64(c.MaxPayload)},
		{"WaitReplicas", int64(c.WaitReplicas)}, {"TenantIdle", int64(c.TenantIdle)}, {"Linger", int64(c.Linger)},
	} {
		if f.value < 0 {
			return c, invalid("%s: %d, must not be negative", f.name, f.value)
		}
	}
	set(&c.Name, DefaultName)
	set(&c.Partitions, 1)
	set(&c.Lease, DefaultLease)
	set(&c.MaxAttempts, DefaultMaxAttempts)
	set(&c.Backoff.First, DefaultBackoffFirst)
	set(&c.Backoff.Max, DefaultBackoffMax)
	set(&c.Backoff.Factor, 2)
	set(&c.MaxPayload, DefaultMaxPayload)
	set(&c.TenantIdle, DefaultTenantIdle)
	if c.Codec == nil {
		c.Codec = codecOf[T]()
	}
	switch {
	case badName(c.Name):
		return c, invalid("Name: %q: %s", c.Name, nameRule)
	case c.Partitions > MaxPartitions:
		return c, invalid("Partitions: %d, must be at most %d", c.Partitions, MaxPartitions)
	case c.Lease < time.Millisecond:
		return c, invalid("Lease: %v, must be at least 1ms", c.Lease)
	case c.PriorityAging != 0 && c.PriorityAging < time.Microsecond:
		return c, invalid("PriorityAging: %v, must be at least 1µs", c.PriorityAging)
	case c.MaxQueued > 0 && c.MaxQueued < c.Partitions:
		return c, invalid("MaxQueued: %d, must be at least one per partition, of which there are %d", c.MaxQueued, c.Partitions)
	case c.MaxInFlight > 0 && c.MaxInFlight < c.Partitions:
		return c, invalid("MaxInFlight: %d, must be at least one per partition, of which there are %d", c.MaxInFlight, c.Partitions)
	case c.Backoff.Factor < 1 || math.IsNaN(c.Backoff.Factor):
		return c, invalid("Backoff.Factor: %v, must be at least 1", c.Backoff.Factor)
	}
	return c, nil
}

// set replaces a zero field by its default.
func set[V comparable](field *V, value V) {
	var zero V
	if *field == zero {
		*field = value
	}
}

const nameRule = "must have 1 to 128 bytes, and neither braces nor line breaks"

func badName(s string) bool { return badText(s, MaxName) }

func badText(s string, most int) bool {
	return s == "" || len(s) > most || strings.ContainsAny(s, "{}\n\r")
}

// part returns a partition's part of a limit; 0 is none.
func part(limit, partitions, p int) int {
	n := limit / partitions
	if p < limit%partitions {
		n++
	}
	return n
}
