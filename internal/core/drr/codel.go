package drr

import "math"

// CoDel (Nichols, Jacobson, McGregor and Iyengar, RFC 8289), per tenant and priority. It
// looks at how long tasks have waited when their turn comes, and at nothing else. A queue
// that is longer than the target now and then is a good one: it takes up bursts. One that
// is longer all through an interval stands: its length helps no task, and every task waits
// for it. Then the front is dropped, so that the others come earlier, and as long as that
// does not suffice another one, each time sooner: the k-th after interval/sqrt(k) (section
// 5.3). What is dropped costs the tenant nothing. The last task of a queue stays: there is
// no task that it delays.

// Control says whether Config.Target is in force from now on. It is when a Queue is made.
func (q *Queue[K, T]) Control(on bool) { q.lenient = !on }

// Dropper is the interface that a Host needs if Config.Target is set.
type Dropper[K comparable, T any] interface {
	// Late is called for each task that is dropped because the tenant's tasks have been
	// waiting for longer than Target all through an Interval.
	Late(t *Tenant[K, T], task *Task[T])
}

// codel is the state of one queue. Times are those that the Queue is given.
type codel struct {
	above    int64 // when the waits will have been above the target for an interval; 0: the last was not
	next     int64 // when to drop again, while dropping
	count    int64 // drops since dropping began; what next follows from
	last     int64 // count as it was when dropping began
	dropping bool
	dropped  bool // the last look dropped: next has not followed yet
}

// drops looks at the front of a queue, whose turn it is, and reports whether to drop it.
func (c *codel) drops(now, waited int64, alone bool, target, interval int64) bool {
	if waited < target || alone {
		c.above, c.dropping = 0, false
		return false
	}
	if c.above == 0 {
		c.above = max(1, addSaturated(now, interval))
	}
	if now < c.above {
		c.dropping = false
		return false
	}
	if !c.dropping {
		c.begin(now, interval)
		return true
	}
	if c.dropped {
		c.next, c.dropped = after(c.next, interval, c.count), false
	}
	if now < c.next {
		return false
	}
	c.count++
	c.dropped = true
	return true
}

// begin begins to drop. If that was going on a short time ago it goes on with the pace
// that it had come to.
func (c *codel) begin(now, interval int64) {
	pace := c.count - c.last
	if pace <= 1 || now-c.next >= 16*interval {
		pace = 1
	}
	c.count, c.last = pace, pace
	c.next, c.dropping, c.dropped = after(now, interval, pace), true, false
}

// after is the control law.
func after(t, interval, count int64) int64 {
	return addSaturated(t, max(1, int64(float64(interval)/math.Sqrt(float64(count)))))
}

// late reports whether CoDel drops the front of a seat, which the seat can pay. e is nil
// if that is in a slot.
func (q *Queue[K, T]) late(s *seat[K, T], h head, e *entry[K, T], now int64) bool {
	if q.lenient {
		return false
	}
	t, level := s.tenant, normalLevel
	if e != nil {
		level = int(e.priority) - 1
	}
	m := t.rest()
	if m.control == nil {
		m.control = new([levels]codel)
	}
	alone := t.count(level) == 1
	return m.control[level].drops(now, max(0, now-h.enqueued), alone, q.cfg.Target, q.cfg.Interval)
}

// drop drops the front of a seat for CoDel.
func (q *Queue[K, T]) drop(s *seat[K, T], e *entry[K, T]) {
	q.gone.is(q.take(s, e, &q.gone.Payload))
	q.dropper.Late(s.tenant, &q.gone)
	q.gone = Task[T]{} // keep no payload alive
}
