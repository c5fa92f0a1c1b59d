package compute

import (
	"fmt"
	"math"
	"runtime"
	"time"

	"github.com/firq-go/firq"
	"github.com/firq-go/firq/gate"
)

// check fills in the defaults, and refuses what makes no sense; the gate's own config is
// checked by the gate.
func (c Config[T, K, V]) check() (Config[T, K, V], error) {
	for _, part := range []func(*Config[T, K, V]) error{
		(*Config[T, K, V]).checkGroups, (*Config[T, K, V]).checkTimes, (*Config[T, K, V]).checkCache,
	} {
		if err := part(&c); err != nil {
			return c, err
		}
	}
	var err error
	c.Gate, err = queue(c.Gate, c.FIFO)
	return c, err
}

func invalid(field string, value any, must string) error {
	return fmt.Errorf("%w: %s: %v, must be %s", firq.ErrInvalidConfig, field, value, must)
}

func (c *Config[T, K, V]) checkGroups() error {
	switch {
	case c.Groups < 0 || c.Groups > MaxGroups:
		return invalid("Groups", c.Groups, fmt.Sprintf("0 (which means 1) to %d", MaxGroups))
	case c.Limit < 0 || c.Limit > gate.MaxSlots:
		return invalid("Limit", c.Limit, fmt.Sprintf("0 (which means 2 x GOMAXPROCS) to %d", gate.MaxSlots))
	case c.Spill != 0 && !(c.Spill >= 1):
		return invalid("Spill", c.Spill, "0 (which means 1.25), or at least 1")
	case c.MaxWaiters < 0:
		return invalid("MaxWaiters", c.MaxWaiters, "0 (which means 1,024) or more")
	}
	if c.Groups == 0 {
		c.Groups = 1
	}
	if c.Limit == 0 {
		c.Limit = max(2*runtime.GOMAXPROCS(0), c.Groups)
	}
	if c.Limit < c.Groups {
		return invalid("Limit", c.Limit, fmt.Sprintf("at least Groups, %d", c.Groups))
	}
	if c.Spill == 0 {
		c.Spill = DefaultSpill
	}
	if c.MaxWaiters == 0 {
		c.MaxWaiters = DefaultMaxWaiters
	}
	return nil
}

func (c *Config[T, K, V]) checkTimes() error {
	for _, d := range []struct {
		field string
		value time.Duration
	}{
		{"TTL", c.TTL}, {"RefreshAhead", c.RefreshAhead}, {"Stale", c.Stale},
		{"StaleIfError", c.StaleIfError}, {"ExecTimeout", c.ExecTimeout},
	} {
		if d.value < 0 {
			return invalid(d.field, d.value, "0 or more")
		}
	}
	switch {
	case c.RefreshAhead > 0 && c.RefreshAhead >= c.TTL && c.TTLFor == nil:
		return invalid("RefreshAhead", c.RefreshAhead, fmt.Sprintf("shorter than TTL, %v", c.TTL))
	case !(c.Jitter < 1):
		return invalid("Jitter", c.Jitter, "below 1")
	case c.Jitter == 0:
		c.Jitter = DefaultJitter
	}
	c.Jitter = max(c.Jitter, 0)
	if c.Backoff == 0 {
		c.Backoff = DefaultBackoff
	}
	c.Backoff = min(max(c.Backoff, 0), forever)
	return nil
}

func (c *Config[T, K, V]) checkCache() error {
	if c.Cache != nil {
		switch {
		case c.Size != 0:
			return invalid("Size", c.Size, "0 together with Cache, which has its own bound")
		case c.Weigh != nil:
			return invalid("Weigh", "set", "nil beside Cache")
		case c.MaxPerTenant != 0:
			return invalid("MaxPerTenant", c.MaxPerTenant, "0 together with Cache")
		}
		return nil
	}
	switch {
	case c.Size < 0:
		return invalid("Size", c.Size, "0 (which means 65,536) or more")
	case c.Size == 0 && c.Weigh != nil:
		return invalid("Size", c.Size, "given with Weigh: it is the total weight")
	case !(c.MaxPerTenant >= 0 && c.MaxPerTenant <= 1):
		return invalid("MaxPerTenant", c.MaxPerTenant, "0 (which means all) to 1")
	case c.Size == 0:
		c.Size = DefaultSize
	}
	if c.MaxPerTenant == 0 {
		c.MaxPerTenant = 1
	}
	return nil
}

// keeps reports whether anything can be kept.
func (c *Config[T, K, V]) keeps() bool { return c.TTL > 0 || c.TTLFor != nil || c.ErrorTTL != nil }

// grace is for how long after its TTL a result can still be an answer.
func (c *Config[T, K, V]) grace() int64 { return int64(min(max(c.Stale, c.StaleIfError), forever)) }

// forever is what a longer time counts as, so that sums do not overflow.
const forever = time.Duration(math.MaxInt64 / 4)

// queue returns the config of a gate, or of a Batcher's queue, with the defaults of this
// package.
func queue[T comparable](c gate.Config[T], fifo bool) (gate.Config[T], error) {
	switch {
	case fifo && c.Order != firq.FIFO:
		return c, invalid("FIFO", fifo, "false with another Order")
	case !fifo && c.Order == firq.FIFO:
		c.Order = firq.AdaptiveLIFO
	}
	if c.MaxQueueAge == 0 {
		c.MaxQueueAge = DefaultMaxQueueAge
	}
	c.MaxQueueAge = max(c.MaxQueueAge, 0)
	return c, nil
}
