package drr

import (
	"math/bits"

	"github.com/firq-go/firq"
)

// Evict takes out the tenant's oldest or newest task among those of a priority
// at most p, lowest priority first; there, of the queue with the most tasks, if
// several flows are queued.
func (q *Queue[K, T]) Evict(t *Tenant[K, T], p firq.Priority, newest bool) (task Task[T], ok bool) {
	m := t.mask & (1<<p - 1)
	if m == 0 {
		return task, false
	}
	q.evict(t, bits.TrailingZeros8(m), newest, &task)
	return task, true
}

// evict takes out the oldest or newest task of a level, which has one; if several flows
// are queued, of the queue with the most tasks.
func (q *Queue[K, T]) evict(t *Tenant[K, T], level int, newest bool, task *Task[T]) {
	l := q.victims(t, level)
	l.row.spill(&q.pool)
	_, e := l.first()
	if newest {
		_, e = l.last()
	}
	switch {
	case e != nil:
		task.is(q.takeEntry(e, &task.Payload))
		return
	case newest:
		task.is(takeSlot(l.row.back(), &task.Payload))
		l.row.popBack(&q.pool)
	default:
		task.is(takeSlot(l.row.front(), &task.Payload))
		l.row.popFront(l.row.first, &q.pool)
	}
	q.slotTaken(&t.seat)
}

// moveBudget is how many tasks one call of Reclaim moves in the index of deadlines.
const moveBudget = 256

// Reclaim drops up to most tasks that expired before now, wherever they are, and
// reports whether there may be more: also when it has dropped none, and has only gone
// on with the search. As long as it does, NextDue is before now.
func (q *Queue[K, T]) Reclaim(now int64, most int) (more bool) {
	defer q.purge()
	budget := moveBudget
	for range most {
		e, more := q.dues.expired(now, &budget)
		if e == nil {
			return more
		}
		q.expire(e)
	}
	return true
}

// NextDue returns a time before which no held task expires: math.MinInt64 if one
// may have expired already, NoDeadline if none can.
func (q *Queue[K, T]) NextDue() int64 { return q.dues.bound() }

// Drain takes out one task, in no particular order, blocked tenants' included.
func (q *Queue[K, T]) Drain() (t *Tenant[K, T], task Task[T], ok bool) {
	for i := range q.lists {
		for s := q.lists[i].head(); s != nil; s = q.lists[i].head() {
			if h, e := q.front(s, 0); !h.none() {
				task.is(q.take(s, e, &task.Payload))
				return s.tenant, task, true
			}
			q.leave(s)
		}
	}
	for i := range q.lists {
		if s := q.lists[i].parked.head; s != nil {
			t = s.tenant
			q.evict(t, bits.TrailingZeros8(t.mask), false, &task)
			return t, task, true
		}
	}
	return nil, task, false
}
