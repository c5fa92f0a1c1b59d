package firqfleet

import (
	"fmt"
	"math"
	"strings"
	"time"

	"github.com/redis/go-redis/v9"

	"github.com/firq-go/firq"
	"github.com/firq-go/firq/gate"
)

// Defaults and limits of Config.
const (
	DefaultName      = "default"
	DefaultLease     = 5 * time.Second
	DefaultSlice     = 20 * time.Millisecond
	DefaultMaxGlobal = 65_536

	MinLease = 300 * time.Millisecond
	MaxName  = 128 // bytes of the name of a fleet, or of a tenant

	leastWeight, mostWeight = 1e-6, 1e15 // beyond these a weight counts as the nearest of them
)

// Down says what Acquire does while the server cannot be reached and the lease has run out. Until then the slots that are
// here are used.
type Down uint8

const (
	// Wait lets calls wait until the server is back, or until they end (their ctx, Deadline, MaxQueueAge).
	Wait Down = iota
	// Share gives out max(1, limit/members) slots in each process, as it has last heard of both, by turns of its tenants.
	Share
	// Refuse ends calls with ErrUnavailable, also those that wait.
	Refuse
)

// ErrUnavailable is the error of calls for which the server cannot be asked. It is gate.ErrUnavailable.
var ErrUnavailable = gate.ErrUnavailable

// Config describes a member of a fleet. The zero value works: a server on localhost:6379, fleet "default". WeightFor and
// MaxInFlightFor are called without a lock held, when a tenant is met that has no call here, and once a second by the calls of one that
// is never idle.
type Config struct {
	// Client connects to a single server, Sentinel or a cluster. nil: localhost:6379. Close closes it only if it was nil.
	Client redis.UniversalClient
	// Name of the fleet, up to 128 bytes without braces and line breaks. "": "default".
	Name string
	// Lease is how long the slots of a process stay its own when nothing is heard of it. A process that dies blocks its slots
	// for so long; an outage of the server that is shorter than two thirds of it is not noticed. 0: 5 s; at least 300 ms.
	Lease time.Duration
	// Slice is how long a turn goes on at most, while calls of other tenants wait: a tenant's calls in one process follow each
	// other on the same slot for so long, at least one of them. It bounds the round trips, and a tenant that comes back waits
	// for some Slice/limit. 0: 20 ms; below 0: one permit.
	Slice time.Duration
	// MaxGlobal and MaxPerTenant are how many calls may wait in this process. 0: 65,536; MaxGlobal.
	MaxGlobal, MaxPerTenant int
	// MaxInFlightPerTenant is how many permits of a tenant may be out in the whole fleet. 0: no limit.
	MaxInFlightPerTenant int
	// MaxInFlightFor returns it for a tenant. 0: MaxInFlightPerTenant; below 0: 1. nil: MaxInFlightPerTenant.
	MaxInFlightFor func(tenant string) int
	// WeightFor returns a tenant's share relative to others. nil, or 0 or less, NaN, Inf: 1. Where members disagree on it, or
	// on MaxInFlight, the last to speak about the tenant counts.
	WeightFor func(tenant string) float64
	// MaxQueueAge is how long a call without a Deadline waits at most. 0: no limit.
	MaxQueueAge time.Duration
	// Down says what Acquire does while the server is away and the lease has run out.
	Down Down
	// OnLost is called when the lease has run out, or was taken away, with what it was for, in its own goroutine. Permits that
	// are out by then may be given out a second time, by others.
	OnLost func(Lease)
}

func invalid(format string, args ...any) error {
	return fmt.Errorf("%w: firqfleet: %s", firq.ErrInvalidConfig, fmt.Sprintf(format, args...))
}

// resolve returns the configuration with every default filled in but Client.
func (c Config) resolve() (Config, error) {
	for _, f := range []struct {
		name  string
		value int64
	}{
		{"Lease", int64(c.Lease)}, {"MaxGlobal", int64(c.MaxGlobal)}, {"MaxPerTenant", int64(c.MaxPerTenant)},
		{"MaxInFlightPerTenant", int64(c.MaxInFlightPerTenant)}, {"MaxQueueAge", int64(c.MaxQueueAge)},
	} {
		if f.value < 0 {
			return c, invalid("%s: %d, must not be negative", f.name, f.value)
		}
	}
	if c.Name == "" {
		c.Name = DefaultName
	}
	if c.Lease == 0 {
		c.Lease = DefaultLease
	}
	if c.Slice == 0 {
		c.Slice = DefaultSlice
	}
	if c.MaxGlobal == 0 {
		c.MaxGlobal = DefaultMaxGlobal
	}
	if c.MaxPerTenant == 0 {
		c.MaxPerTenant = c.MaxGlobal
	}
	switch {
	case badName(c.Name):
		return c, invalid("Name: %q, must have up to %d bytes, and neither braces nor line breaks", c.Name, MaxName)
	case c.Lease < MinLease:
		return c, invalid("Lease: %v, must be at least %v", c.Lease, MinLease)
	case c.Down > Refuse:
		return c, invalid("Down: %d, must be Wait, Share or Refuse", c.Down)
	}
	return c, nil
}

func badName(s string) bool { return len(s) > MaxName || strings.ContainsAny(s, "{}\n\r") }

// localhost is the client of a Config that has none.
func localhost() redis.UniversalClient {
	return redis.NewClient(&redis.Options{Addr: "localhost:6379", MaxRetries: -1})
}

// weight returns what WeightFor says of a tenant.
func (c *Config) weight(tenant string) float64 {
	if c.WeightFor == nil {
		return 1
	}
	w := c.WeightFor(tenant)
	if !(w > 0) || math.IsInf(w, 0) {
		return 1
	}
	return min(max(w, leastWeight), mostWeight)
}

// most returns how many permits of a tenant may be out; 0: no limit.
func (c *Config) most(tenant string) int {
	if c.MaxInFlightFor != nil {
		if n := c.MaxInFlightFor(tenant); n != 0 {
			return max(n, 1)
		}
	}
	return c.MaxInFlightPerTenant
}
