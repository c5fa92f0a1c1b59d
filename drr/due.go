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
// at most 63 times. Nothing moves until somebody asks for expired tasks.
type dues[K comparable, T any] struct {
	buckets [65]*entry[K, T]
	mask    uint64 // bit b-1: bucket b has entries (bucket 0 is asked directly)
	last    uint64
}

const noBucket = -1

func dueKey(due int64) uint64 { return uint64(max(due, 0)) }

func (d *dues[K, T]) insert(e *entry[K, T]) {
	b := 0 // at or before last: expired as soon as last is past
	if key := dueKey(e.Due); key > d.last {
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

// expired returns an entry whose time is before now, without removing it; nil if
// there is none.
func (d *dues[K, T]) expired(now int64) *entry[K, T] {
	if now <= 0 {
		return d.scanFirst(now)
	}
	for {
		if e := d.buckets[0]; e != nil {
			if e.Due < now {
				return e
			}
			return d.scanFirst(now)
		}
		if d.mask == 0 {
			return nil
		}
		b := bits.TrailingZeros64(d.mask) + 1
		if d.floor(b) >= uint64(now) {
			return nil
		}
		d.spread(b, uint64(now)-1)
	}
}

// scanFirst looks through bucket 0. Only a caller whose clock goes back gets
// here: otherwise all of bucket 0 is before now.
func (d *dues[K, T]) scanFirst(now int64) *entry[K, T] {
	for e := d.buckets[0]; e != nil; e = e.dueNext {
		if e.Due < now {
			return e
		}
	}
	return nil
}

// spread moves last forward, to the earliest time in bucket b or to most if that
// is before it, and the bucket's entries to the lower buckets where they belong
// now. Bucket b is the lowest that has any.
func (d *dues[K, T]) spread(b int, most uint64) {
	last := most
	for e := d.buckets[b]; e != nil; e = e.dueNext {
		last = min(last, dueKey(e.Due))
	}
	d.last = last
	e := d.buckets[b]
	d.buckets[b] = nil
	d.mask &^= 1 << (b - 1)
	for e != nil {
		next := e.dueNext
		d.insert(e)
		e = next
	}
}
