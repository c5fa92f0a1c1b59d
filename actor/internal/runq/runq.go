// Package runq is the run queue of package actor: start-time fair queueing (Goyal, Vin, Cheng 1996) over
// nanoseconds of processor time. What waits has a start tag: the finish tag of its last turn, or the virtual
// time if that is later, so that nothing earns credit while it is idle. The smallest tag is served first.
package runq

import (
	"math"

	"github.com/firq-go/firq/watchdog"
)

// Queue of entries. Safe for concurrent use.
type Queue[T any] interface {
	Put(e Entry[T]) bool            // false: it is closed
	Get(now int64) (Entry[T], bool) // the smallest tag; false: there was none
	Any() bool                      // from Put's return until the last Get
	Now() int64                     // the virtual time: the start tag of the latest turn
	Close() []Entry[T]              // returns the entries that are left
	Counters() watchdog.QueueCounters
}

// Order holds the entries of a queue, or of a part of it. Not safe for concurrent use.
type Order[T any] interface {
	Put(e Entry[T])
	Get() (Entry[T], bool)
	Len() int
	Head() int64   // the key of the first entry, less than that of a shard it goes before; Empty: no entry
	Now() int64    // the virtual time
	Raise(v int64) // raises the virtual time to v if it is less
}

// Entry of a run queue.
type Entry[T any] struct {
	Of    T
	Tag   int64
	Since int64  // when it was put in
	seq   uint64 // breaks ties: the first to become idle, then first come, first served
}

func (e *Entry[T]) before(f *Entry[T]) bool {
	return e.Tag < f.Tag || e.Tag == f.Tag && e.seq < f.seq
}

// heap4 is an order as a heap with four children.
type heap4[T any] struct {
	h   []Entry[T]
	v   int64
	seq uint64
}

func (q *heap4[T]) Len() int   { return len(q.h) }
func (q *heap4[T]) Now() int64 { return q.v }

func (q *heap4[T]) Raise(v int64) { q.v = max(q.v, v) }

// Head is the first entry's tag, doubled, plus 1 unless its actor is among those that have used less.
func (q *heap4[T]) Head() int64 {
	if len(q.h) == 0 {
		return Empty
	}
	return min(q.h[0].Tag, math.MaxInt64/4)<<1 | int64(q.h[0].seq>>63)
}

func (q *heap4[T]) Put(e Entry[T]) {
	q.seq++
	e.seq = q.seq
	if e.Tag >= q.v {
		e.seq |= 1 << 63 // behind those that have used less, which ties hide
	}
	e.Tag = max(e.Tag, q.v)
	i := len(q.h)
	q.h = append(q.h, e)
	for i > 0 {
		p := (i - 1) / 4
		if !e.before(&q.h[p]) {
			break
		}
		q.h[i] = q.h[p]
		i = p
	}
	q.h[i] = e
}

func (q *heap4[T]) Get() (Entry[T], bool) {
	n := len(q.h)
	if n == 0 {
		return Entry[T]{}, false
	}
	top := q.h[0]
	last := q.h[n-1]
	q.h[n-1] = Entry[T]{}
	q.h = q.h[:n-1]
	if n--; n > 0 {
		q.sink(last)
	} else if cap(q.h) > 1024 {
		q.h = nil // a burst has left it large
	}
	q.v = max(q.v, top.Tag)
	return top, true
}

// sink puts e in the place of the top, and moves it down to where it belongs.
func (q *heap4[T]) sink(e Entry[T]) {
	i, n := 0, len(q.h)
	for {
		k := 4*i + 1
		if k >= n {
			break
		}
		least := k
		for j := k + 1; j < min(k+4, n); j++ {
			if q.h[j].before(&q.h[least]) {
				least = j
			}
		}
		if !q.h[least].before(&e) {
			break
		}
		q.h[i] = q.h[least]
		i = least
	}
	q.h[i] = e
}
