package drr

import (
	"math"
	"math/bits"
)

// dues is the index of the tasks that can expire: a radix heap (Ahuja, Mehlhorn,
// Orlin and Tarjan, "Faster Algorithms for the Shortest Path Problem", JACM
// 1990). Times only move forward, so a task is put in the bucket of the highest
// bit in which its time differs from last, a time that nothing unexpired is
// before; inserting and removing are O(1), and a task moves to a lower bucket
// at most 63 times. Nothing moves until a caller asks for expired tasks, and then so
// many at a time: a bucket may hold all tasks.
type dues[K comparable, T any] struct {
	buckets [65]*entry[K, T]
	mask    uint64 // bit b-1: bucket b has entries (bucket 0 is asked directly)
	last    uint64
	// spreading is the bucket whose range last has come into, while some of its
	// entries have still to be moved to lower ones; 0: none.
	spreading int
}

const noBucket = -1

func dueKey(due int64) uint64 { return uint64(max(due, 0)) }

func (d *dues[K, T]) insert(e *entry[K, T]) {
	b := 0 // at or before last: expired as soon as last is past
	if key := dueKey(e.due); key > d.last {
		b = bits.Len64(key ^ d.last)
	}
	e.bucket, e.duePrev, e.dueNext = int8(b), nil, d.buckets[b]
	if e.dueNext != nil {
		e.dueNext.duePrev = e
	}
	d.buckets[b] = e
	if b > 0 {
		d.mask |= 1 << (b - 1)
	}
}

func (d *dues[K, T]) remove(e *entry[K, T]) {
	b := int(e.bucket)
	if e.duePrev != nil {
		e.duePrev.dueNext = e.dueNext
	} else {
		d.buckets[b] = e.dueNext
	}
	if e.dueNext != nil {
		e.dueNext.duePrev = e.duePrev
	}
	if b > 0 && d.buckets[b] == nil {
		d.mask &^= 1 << (b - 1)
	}
	e.bucket, e.dueNext, e.duePrev = noBucket, nil, nil
}

// bound returns a time that no entry is due before.
func (d *dues[K, T]) bound() int64 {
	switch {
	case d.buckets[0] != nil:
		return math.MinInt64
	case d.buckets[d.spreading] != nil: // its entries are before those in lower buckets, or may be
		return int64(d.floor(d.spreading))
	case d.mask == 0:
		return NoDeadline
	}
	return int64(d.floor(bits.TrailingZeros64(d.mask) + 1))
}

// floor returns the smallest key that belongs in bucket b > 0.
func (d *dues[K, T]) floor(b int) uint64 {
	low := uint64(1)<<(b-1) - 1
	return (d.last | (low + 1)) &^ low
}

// ceiling returns the largest key that belongs in bucket b > 0.
func (d *dues[K, T]) ceiling(b int) uint64 {
	return d.floor(b) | (uint64(1)<<(b-1) - 1)
}

// expired returns an entry whose time is before now, without removing it; nil if
// there is none. It moves at most budget entries to lower buckets, and reduces it by
// as many; more: that was not enough, and there may be one.
//
// What is in bucket 0 has expired by the clock of an earlier caller, if not
// by now.
func (d *dues[K, T]) expired(now int64, budget *int) (e *entry[K, T], more bool) {
	if now <= 0 {
		return d.scanFirst(now), false
	}
	for {
		if e := d.buckets[0]; e != nil {
			return e, false
		}
		if d.spreading == 0 {
			if d.mask == 0 {
				return nil, false
			}
			b := bits.TrailingZeros64(d.mask) + 1
			if d.floor(b) >= uint64(now) {
				return nil, false
			}
			d.spreading, d.last = b, min(uint64(now)-1, d.ceiling(b))
		}
		if !d.spread(budget) {
			return nil, true
		}
	}
}

// scanFirst looks through bucket 0, for a caller that asks by a clock that is not above 0, where
// all times that are not are taken for one. Clocks of schedulers are above it.
func (d *dues[K, T]) scanFirst(now int64) *entry[K, T] {
	for e := d.buckets[0]; e != nil; e = e.dueNext {
		if e.due < now {
			return e
		}
	}
	return nil
}

// spread goes on with moving entries from the bucket spreading to the lower ones where
// they belong since last has come into its range. It reports false if the budget was
// not enough. What is inserted during the move does not go to that bucket.
func (d *dues[K, T]) spread(budget *int) bool {
	for e := d.buckets[d.spreading]; e != nil; e = d.buckets[d.spreading] {
		if *budget == 0 {
			return false
		}
		*budget--
		d.remove(e)
		d.insert(e)
	}
	d.spreading = 0
	return true
}
