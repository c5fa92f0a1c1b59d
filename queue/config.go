package queue

import (
	"fmt"
	"math"
	"strings"
	"time"
	"unicode/utf8"

	"github.com/firq-go/firq"
	"github.com/firq-go/firq/rate"
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

	MaxName = 128 // bytes of the name of a queue, a tenant, a task, a schedule, and of a UniqueKey
)

// Retention says how many dead letters are kept, and for how long; below 0: no limit. What is above
// it is purged, the oldest first.
type Retention struct {
	PerTenant int           // 0: the queue's, or 10,000
	For       time.Duration // 0: the queue's, or 30 days
}

// Config has what all engines have in common in their Config. The zero value works. Limits, ageing and retention live with the
// queue: see Settings. A queue that has none yet has the defaults.
type Config[T any] struct {
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
	// Limits, 0: the queue's, or none. MaxQueued counts queued and delayed tasks; retries, Requeue and schedules are
	// never refused.
	MaxQueued, MaxQueuedPerTenant, MaxInFlight, MaxInFlightPerTenant int
	// RatePerTenant is how much cost of each tenant is delivered per second, after a burst. Zero: the queue's, or no limit. See the package
	// documentation, Rates.
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

func invalid(format string, args ...any) error {
	return fmt.Errorf("%w: queue: %s", firq.ErrInvalidConfig, fmt.Sprintf(format, args...))
}

func invalidArgument(format string, args ...any) error {
	return fmt.Errorf("%w: queue: %s", firq.ErrInvalidArgument, fmt.Sprintf(format, args...))
}

// resolve returns the configuration with every default filled in, or an error that matches
// firq.ErrInvalidConfig and names the field.
func (c Config[T]) resolve(names *rule) (Config[T], error) {
	for _, f := range []struct {
		name  string
		value int64
	}{
		{"Lease", int64(c.Lease)}, {"MaxAttempts", int64(c.MaxAttempts)},
		{"Backoff.First", int64(c.Backoff.First)}, {"Backoff.Max", int64(c.Backoff.Max)},
		{"MaxQueued", int64(c.MaxQueued)}, {"MaxQueuedPerTenant", int64(c.MaxQueuedPerTenant)},
		{"MaxInFlight", int64(c.MaxInFlight)}, {"MaxInFlightPerTenant", int64(c.MaxInFlightPerTenant)},
		{"PriorityAging", int64(c.PriorityAging)}, {"MaxPayload", int64(c.MaxPayload)},
		{"TenantIdle", int64(c.TenantIdle)}, {"Linger", int64(c.Linger)},
	} {
		if f.value < 0 {
			return c, invalid("%s: %d, must not be negative", f.name, f.value)
		}
	}
	var err error
	if c.RatePerTenant, err = c.RatePerTenant.Resolve(); err != nil {
		return c, invalid("RatePerTenant.%s", reason(err))
	}
	set(&c.Name, DefaultName)
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
	case names.bad(c.Name):
		return c, invalid("Name: %q: %s", c.Name, names)
	case c.Lease < time.Millisecond:
		return c, invalid("Lease: %v, must be at least 1ms", c.Lease)
	case c.PriorityAging != 0 && c.PriorityAging < time.Microsecond:
		return c, invalid("PriorityAging: %v, must be at least 1µs", c.PriorityAging)
	case c.Backoff.Factor < 1 || math.IsNaN(c.Backoff.Factor):
		return c, invalid("Backoff.Factor: %v, must be at least 1", c.Backoff.Factor)
	}
	return c, nil
}

// reason returns an error of rate.Limit.Resolve from the field on.
func reason(err error) string {
	prefix := firq.ErrInvalidConfig.Error() + ": "
	return strings.ReplaceAll(strings.TrimPrefix(err.Error(), prefix), "\n"+prefix, "; ")
}

// set replaces a zero field by its default.
func set[V comparable](field *V, value V) {
	var zero V
	if *field == zero {
		*field = value
	}
}

// rule says which names an engine can take.
type rule struct {
	most int // bytes
	utf8 bool
}

func (r *rule) String() string {
	s := fmt.Sprintf("must have 1 to %d bytes, and neither braces nor line breaks", r.most)
	if r.utf8 {
		s = fmt.Sprintf("must be valid UTF-8 of 1 to %d bytes, without braces, line breaks and NUL", r.most)
	}
	return s
}

func (r *rule) bad(s string) bool {
	return s == "" || len(s) > r.most || strings.ContainsAny(s, "{}\n\r") || r.utf8 && (strings.ContainsRune(s, 0) || !utf8.ValidString(s))
}

// upTo returns the rule for longer or shorter names.
func (r *rule) upTo(most int) *rule { return &rule{most, r.utf8} }
