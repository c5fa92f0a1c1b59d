package actor

import (
	"math"

	"github.com/firq-go/firq/watchdog"
)

// queue is where actors with work, and handlers that want a slot, wait: start-time
// fair queueing (Goyal, Vin, Cheng 1996) over nanoseconds of processor time. Each
// entry has a start tag: the finish tag of the actor's last turn, or the virtual time
// if that is later, so that an actor earns no credit while it is idle. The smallest tag is
// served first. Safe for concurrent use.
type queue interface {
	put(e entry) bool            // false: it is closed
	get(now int64) (entry, bool) // the smallest tag; false: there was none
	any() bool                   // from put's return until the last get
	now() int64                  // the virtual time: the start tag of the latest turn
	close() []entry              // returns the entries that are left
	counters() watchdog.QueueCounters
}

// order holds the entries of a queue, or of a part of it. Not safe for concurrent use.
type order interface {
	put(e entry)
	get() (entry, bool)
	len() int
	head() int64   // the key of the first entry, less than that of a shard it goes before; empty: no entry
	now() int64    // the virtual time
	raise(v int64) // raises the virtual time to v if it is less
}

// entry of a run queue.
type entry struct {
	tag   int64
	seq   uint64 // breaks ties: the first to become idle, then first come, first served
	since int64  // when it was put in
	a     *actor
	w     *worker // nil: a turn; else a handler of a that wants a slot
}

func (e *entry) before(f *entry) bool {
	return e.tag < f.tag || e.tag == f.tag && e.seq < f.seq
}

// heap4 is an order as a heap with four children.
type heap4 struct {
	h   []entry
	v   int64
	seq uint64
}

func (q *heap4) len() int   { return len(q.h) }
func (q *heap4) now() int64 { return q.v }

func (q *heap4) raise(v int64) { q.v = max(q.v, v) }

// head is the first entry's tag, doubled, plus 1 unless its actor is among those that have used less.
func (q *heap4) head() int64 {
	if len(q.h) == 0 {
		return empty
	}
	return min(q.h[0].tag, math.MaxInt64/4)<<1 | int64(q.h[0].seq>>63)
}

func (q *heap4) put(e entry) {
	q.seq++
	e.seq = q.seq
	if e.tag >= q.v {
		e.seq |= 1 << 63 // behind those that have used less, which ties hide
	}
	e.tag = max(e.tag, q.v)
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

func (q *heap4) get() (entry, bool) {
	n := len(q.h)
	if n == 0 {
		return entry{}, false
	}
	top := q.h[0]
	last := q.h[n-1]
	q.h[n-1] = entry{}
	q.h = q.h[:n-1]
	if n--; n > 0 {
		q.sink(last)
	} else if cap(q.h) > 1024 {
		q.h = nil // a burst has left it large
	}
	q.v = max(q.v, top.tag)
	return top, true
}

// sink puts e in the place of the top, and moves it down to where it belongs.
func (q *heap4) sink(e entry) {
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
