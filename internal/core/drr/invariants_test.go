package drr

import (
	"errors"
	"fmt"
	"math/bits"
)

// invariants counts everything in q anew and returns what does not agree with
// the counts, links and masks that q keeps; nil if all does. tenants must be all
// that q has seen.
func invariants[K comparable, T any](q *Queue[K, T], tenants []*Tenant[K, T]) error {
	var c census[K, T]
	c.held = map[*entry[K, T]]bool{}
	c.listed = map[*seat[K, T]]where{}
	for i := range q.lists {
		if err := c.list(q, i); err != nil {
			return err
		}
	}
	for _, t := range tenants {
		if err := c.tenant(q, t); err != nil {
			return fmt.Errorf("tenant %v: %w", t.Key, err)
		}
	}
	got := [...]int{q.queued, q.ready, q.nEmpty, q.pool.used}
	if q.pool.spare != nil {
		got[3] -= firstSegment
	}
	want := [...]int{len(c.held) + c.inRows, c.ready, c.nEmpty, len(c.held) + c.slots}
	if got != want {
		return fmt.Errorf("queued, ready, nEmpty, used: %v, counted %v", got, want)
	}
	if free := countFree(&q.pool); free != q.pool.n {
		return fmt.Errorf("room for %d tasks is free, counted %d", q.pool.n, free)
	}
	if free := countRings(&q.pool); free != q.pool.lent.n {
		return fmt.Errorf("%d are free for rings, counted %d", free, q.pool.lent.n)
	}
	return dueInvariants(&q.dues, func(e *entry[K, T]) bool { return c.held[e] }, c.canExpire)
}

// countFree counts for how many tasks there is room in the pool.
func countFree[K comparable, T any](p *pool[K, T]) (free int) {
	for e := p.entries; e != nil; e = e.next {
		free++
	}
	for _, s := range p.segments {
		for ; s != nil; s = s.next {
			free += len(s.slots)
		}
	}
	return free
}

// countRings counts what is free for rings.
func countRings[K comparable, T any](p *pool[K, T]) (free int) {
	for s := p.rings; s != nil; s = s.next {
		free++
	}
	return free
}

// census is what invariants counts.
type census[K comparable, T any] struct {
	held                     map[*entry[K, T]]bool
	listed                   map[*seat[K, T]]where
	ready, nEmpty, canExpire int
	inRows, slots            int
}

func (c *census[K, T]) list(q *Queue[K, T], level int) error {
	l := &q.lists[level]
	left := 0
	for _, in := range []struct {
		l     *seats[K, T]
		where where
	}{{&l.parked, parked}, {&l.fresh, fresh}, {&l.freed, freed}, {&l.active, active}} {
		n := 0
		for s := range in.l.all {
			switch {
			case s.next.prev != s || (s.next == in.l.head) != (n == in.l.n-1):
				return fmt.Errorf("list %d: broken link before tenant %v", level, s.tenant.Key)
			case s.where != in.where || int(s.level) != level:
				return fmt.Errorf("tenant %v: in list %d %d, says %d %d", s.tenant.Key, level, in.where, s.level, s.where)
			case s.inTurn && s != in.l.head:
				return fmt.Errorf("tenant %v: in turn, but not at the head", s.tenant.Key)
			case s.where == active && Apart(s.visit, l.round) > 1:
				return fmt.Errorf("tenant %v: due in round %d, this is %d", s.tenant.Key, s.visit, l.round)
			}
			if q.empty(s) && s.where != parked {
				c.nEmpty++
			}
			if s.where == active && Apart(s.visit, l.round) <= 0 {
				left++
			}
			c.listed[s] = in.where
			n++
		}
		if (in.l.head == nil) != (n == 0) {
			return fmt.Errorf("list %d: length %d, head %p", level, n, in.l.head)
		}
	}
	if l.left != left || (left == 0) != (l.active.n == 0) && (left > 0 || l.freed.n == 0) {
		return fmt.Errorf("list %d: %d of %d left in round %d, counted %d", level, l.left, l.active.n, l.round, left)
	}
	return nil
}

func (c *census[K, T]) tenant(q *Queue[K, T], t *Tenant[K, T]) error {
	queued, mask := 0, uint8(0)
	for level := range levels {
		n, err := 0, error(nil)
		if q.seatOf(t, level).split&(1<<level) != 0 {
			n, err = c.flows(q, t, level)
		} else {
			n, err = c.unsplit(q, t, level)
		}
		if err != nil {
			return err
		}
		if int(t.count(level)) != n && t.more != nil {
			return fmt.Errorf("level %d: %d tasks, counted %d", level, t.count(level), n)
		}
		if queued += n; n > 0 {
			mask |= 1 << level
			if level == normalLevel && q.seatOf(t, level).split&(1<<level) != 0 {
				mask |= splitNormal
			}
			if level == normalLevel && t.line.tasks.head != nil {
				mask |= mixedNormal
			}
		}
	}
	if t.Len() != queued || t.mask != mask {
		return fmt.Errorf("queued %d, counted %d; mask %b, counted %b", t.queued, queued, t.mask, mask)
	}
	if !t.blocked {
		c.ready += queued
	}
	var err error
	q.eachSeat(t, func(s *seat[K, T]) {
		switch {
		case s.tenant != t || c.listed[s] != s.where:
			err = fmt.Errorf("seat %d: says %d, is %d", s.level, s.where, c.listed[s])
		case s.where == parked && (!t.blocked || q.empty(s)) || s.where == freed && t.blocked:
			err = fmt.Errorf("seat %d: blocked %t, empty %t, and at %d", s.level, t.blocked, q.empty(s), s.where)
		case s.where == nowhere && !q.empty(s):
			err = fmt.Errorf("seat %d: has tasks and is in no list", s.level)
		case (s.where == freed || s.where == parked) && s.inTurn:
			err = fmt.Errorf("seat %d: goes first, and is in its turn", s.level)
		case !t.blocked && s.where == nowhere && (s.inTurn || s.deficit > 0):
			err = fmt.Errorf("seat %d: idle with deficit %d, in turn %v", s.level, s.deficit, s.inTurn)
		}
	})
	return err
}

// unsplit counts the tasks of a level whose tasks are of one flow.
func (c *census[K, T]) unsplit(q *Queue[K, T], t *Tenant[K, T], level int) (n int, err error) {
	l := t.level(level)
	flow := uint64(0)
	if l.row.empty() && l.tasks.head != nil {
		flow = l.tasks.head.flow
	}
	return c.line(t, level, l, func(e *entry[K, T]) error {
		if q.cfg.MaxFlows > 1 && e.flow != flow {
			return fmt.Errorf("level %d: task %v of flow %d is in the line of %d", level, e.payload, e.flow, flow)
		}
		return nil
	})
}

// line counts the tasks of a line, of which each that is in an entry has to pass the check.
func (c *census[K, T]) line(t *Tenant[K, T], level int, l *line[K, T], check func(*entry[K, T]) error) (n int, err error) {
	if n, err = c.row(&l.row); err != nil || n > 0 && level != normalLevel {
		return 0, fmt.Errorf("level %d: %d tasks in slots: %w", level, n, err)
	}
	if l != &t.line && l.row.lent() > 0 {
		return 0, fmt.Errorf("level %d: %d slots are lent, and Lent says %d", level, l.row.lent(), t.Lent())
	}
	var prev *entry[K, T]
	for e := l.tasks.head; e != nil; e = e.next {
		if prev != nil && e.prev != prev || e.tenant != t || int(e.priority)-1 != level || c.held[e] {
			return 0, fmt.Errorf("level %d: task %v does not belong here", level, e.payload)
		}
		if int32(l.row.in-e.after) < 0 || prev != nil && int32(e.after-prev.after) < 0 {
			return 0, fmt.Errorf("task %v: came after slot %d of %d", e.payload, e.after, l.row.in)
		}
		if (e.bucket != noBucket) != (e.due != NoDeadline) {
			return 0, fmt.Errorf("task %v: due %d, in bucket %d", e.payload, e.due, e.bucket)
		}
		if e.due != NoDeadline {
			c.canExpire++
		}
		if e.ticket != nil && e.ticket.Place(&testOwner) != any(e) {
			return 0, fmt.Errorf("task %v: its ticket does not know where it is", e.payload)
		}
		if err := check(e); err != nil {
			return 0, err
		}
		c.held[e] = true
		prev, n = e, n+1
	}
	if l.tasks.tail != prev {
		return 0, fmt.Errorf("level %d: wrong tail", level)
	}
	return n, nil
}

// row counts what is in slots.
func (c *census[K, T]) row(l *row[K, T]) (n int, err error) {
	var prev *segment[T]
	for s := l.first; s != nil; prev, s = s, s.next {
		switch {
		case s.prev != prev || s.next == nil && s != l.last:
			return 0, errors.New("row: broken link")
		case s.lent:
			if s != l.last || s.from < 0 || s.from >= s.to || s.to > len(s.slots) || s.rest < 0 || s.rest > s.from ||
				s.rest > 0 && s.to < len(s.slots) {
				return 0, fmt.Errorf("row: lent slots %d to %d and %d of %d are in use; the last segment: %t", s.from, s.to, s.rest, len(s.slots), s == l.last)
			}
			n += s.to - s.from + s.rest
			continue
		case s.from > s.to || s.to > len(s.slots) || s != l.first && s.from > 0 ||
			s.to < len(s.slots) && s != l.last && (s.next != l.last || !s.next.lent):
			return 0, fmt.Errorf("row: slots %d to %d of %d are in use", s.from, s.to, len(s.slots))
		case s.from == s.to && (s == l.first || s != l.last):
			return 0, errors.New("row: an empty segment")
		}
		n += s.to - s.from
		c.slots += len(s.slots)
	}
	if n != int(l.in-l.out) || (l.first == nil) != (l.last == nil) {
		return 0, fmt.Errorf("row: %d tasks, counted %d", l.in-l.out, n)
	}
	c.inRows += n
	return n, nil
}

// dueInvariants is invariants for the deadline index, which must hold n entries,
// all of them known.
func dueInvariants[K comparable, T any](d *dues[K, T], known func(*entry[K, T]) bool, n int) error {
	for b := range d.buckets {
		var prev *entry[K, T]
		for e := d.buckets[b]; e != nil; e = e.dueNext {
			key, belongs := dueKey(e.due), 0
			if key > d.last {
				belongs = bits.Len64(key ^ d.last)
			}
			if b == d.spreading && b > 0 && key >= d.floor(b) && key <= d.ceiling(b) {
				belongs = b // as yet
			}
			if e.duePrev != prev || int(e.bucket) != b || belongs != b || !known(e) {
				return fmt.Errorf("due %d: in bucket %d, says %d, belongs in %d", e.due, b, e.bucket, belongs)
			}
			prev, n = e, n-1
		}
		if b > 0 && (d.mask>>(b-1)&1 == 1) != (d.buckets[b] != nil) {
			return fmt.Errorf("mask %b is wrong about bucket %d", d.mask, b)
		}
	}
	if n != 0 {
		return fmt.Errorf("%d entries are missing in the deadline index", n)
	}
	return nil
}
