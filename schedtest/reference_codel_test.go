package schedtest_test

import (
	"math"
	"time"

	"github.com/firq-go/firq"
)

// refCoDel is the reference's CoDel, of one tenant and priority (RFC 8289).
type refCoDel struct {
	above    time.Time // when waits will have been above the target for an interval; zero: they are not
	next     time.Time
	count    int
	began    int // count when dropping began
	dropping bool
	pending  bool // next is to be moved on by the law
}

// late drops the front task of a tenant's priority p if CoDel says so.
func (r *reference[K, T]) late(t *refTenant[K, T], p int, now time.Time, drops *[]refDrop[K, T]) bool {
	if r.cfg.TargetWait == 0 || r.draining {
		return false
	}
	c, tk := &t.codel[p], &t.tasks[p][0]
	if !c.drops(now, now.Sub(tk.at) < r.cfg.TargetWait || len(t.tasks[p]) == 1, r.cfg.Interval) {
		return false
	}
	*drops = append(*drops, refDrop[K, T]{t.key, tk.Payload, firq.DropOverload})
	r.remove(t, p, 0)
	r.stats.Overload++
	return true
}

func (c *refCoDel) drops(now time.Time, good bool, interval time.Duration) bool {
	law := func(t time.Time) time.Time {
		return t.Add(time.Duration(float64(interval) / math.Sqrt(float64(c.count))))
	}
	switch {
	case good:
		c.above, c.dropping = time.Time{}, false
		return false
	case c.above.IsZero():
		c.above = now.Add(interval)
	}
	switch {
	case now.Before(c.above):
		c.dropping = false
		return false
	case !c.dropping:
		recent := c.count - c.began
		if c.count = 1; recent > 1 && now.Sub(c.next) < 16*interval {
			c.count = recent
		}
		c.began, c.next = c.count, law(now)
		c.dropping, c.pending = true, false
		return true
	}
	if c.pending {
		c.next, c.pending = law(c.next), false
	}
	if now.Before(c.next) {
		return false
	}
	c.count++
	c.pending = true
	return true
}
