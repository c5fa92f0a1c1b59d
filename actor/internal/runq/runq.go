// Package runq is the run queue of package actor: start-time fair queueing (Goyal, Vin, Cheng 1996) over
// nanoseconds of processor time. What waits has a start tag: the finish tag of its last turn, or the virtual
// time if that is later, so that nothing earns credit while it is idle. The smallest tag is served first.
//
// The types are concrete on purpose: each turn passes here twice, and calls through interfaces of generic types
// cost a fifth of a ping-pong.
package runq

import (
	"math"
	"math/bits"
	"math/rand/v2"
	"sync"
	"sync/atomic"
	"time"

	"github.com/firq-go/firq"
	"github.com/firq-go/firq/watchdog"
)

const (
	fewSlots  = 4 // up to this many slots share one heap: its lock is free most of the time
	maxShards = 8
	classes   = 40 // of the times that entries have waited: powers of two of ns
)

// none is the head of a shard without entries.
const none = math.MaxInt64

// Queue of entries, safe for concurrent use: one heap with a lock, or several of them that share a virtual time.
// An entry is put into any of them; Get takes from the one whose head is to go first. It looks
// at all heads without a lock, and again at that of the chosen shard, under the shard's lock. So
// it never takes an entry that was not the first of all when it looked. Hence only entries that
// were chosen before the first entry came can overtake it: at most one for each other slot.
type Queue[T any] struct {
	v    atomic.Int64 // virtual time: the start tag of the latest turn
	all  []shard[T]
	draw func([]Entry[T]) int // of actortest: chooses the next entry; nil: the smallest tag goes first
}

// shard is a heap. Others read head without the lock; it is written under the lock.
type shard[T any] struct {
	head atomic.Int64 // key of the first entry; none: there is none
	_    [56]byte     // what every Get reads does not share a cache line with what its owner writes

	mu     sync.Mutex
	heap   heap[T]
	closed bool
	popped uint64
	hist   [classes]uint64
	_      [48]byte
}

// New returns the queue for the given number of slots.
func New[T any](slots int) *Queue[T] {
	n := 1
	// Half as many as slots: then two slots meet at one lock only now and then.
	if slots > fewSlots {
		n = min(slots/2, maxShards)
	}
	// In one piece: the looks at all heads go through memory in order.
	q := &Queue[T]{all: make([]shard[T], n)}
	for i := range q.all {
		q.all[i].head.Store(none)
	}
	return q
}

// NewDrawn returns a queue whose order draw decides: it gets the entries, whose order it may change, and returns
// the index of the next one.
func NewDrawn[T any](draw func([]Entry[T]) int) *Queue[T] {
	q := New[T](1)
	// One shard, since draw has to see all entries.
	q.draw = draw
	return q
}

// Now is the virtual time.
func (q *Queue[T]) Now() int64 { return q.v.Load() }

// Any reports whether there is an entry: true from the return of Put until the last Get.
func (q *Queue[T]) Any() bool {
	best, _ := q.first()
	return best != none
}

// Put puts an entry in; false: the queue is closed.
func (q *Queue[T]) Put(e Entry[T]) bool {
	// Any shard will do, as Get looks at all heads: by chance the locks are shared evenly.
	i := 0
	if len(q.all) > 1 {
		i = rand.IntN(len(q.all))
	}
	sh := &q.all[i]
	sh.mu.Lock()
	// Under the lock that Close takes: what was put in is among what Close returns, or refused.
	if sh.closed {
		sh.mu.Unlock()
		return false
	}
	// Before the entry goes in, whose tag it raises: this keeps the shards together.
	sh.heap.v = max(sh.heap.v, q.v.Load())
	sh.heap.put(e)
	sh.publish()
	sh.mu.Unlock()
	return true
}

// publish shows the others the key of the shard's first entry. The caller holds sh.mu.
func (sh *shard[T]) publish() { sh.head.Store(sh.heap.head()) }

// Get takes the entry with the smallest tag; false: there was none. now is for the time that it has waited.
func (q *Queue[T]) Get(now int64) (e Entry[T], ok bool) {
	for {
		// Without a lock: what is found may be gone when the lock is there, and that is looked
		// at below.
		best, i := q.first()
		if best == none {
			return e, false
		}
		sh := &q.all[i]
		sh.mu.Lock()
		if sh.head.Load() > best { // another goroutine has taken it in between
			sh.mu.Unlock()
			continue
		}
		if q.draw != nil {
			sh.heap.toFront(q.draw(sh.heap.list))
		}
		e = sh.heap.get()
		sh.publish()
		// For Counters; under the lock that is held anyway.
		sh.popped++
		sh.hist[class(now-e.Since)]++
		// Only upwards: the last entry of another shard may have been ahead of this one.
		for old := q.v.Load(); old < sh.heap.v && !q.v.CompareAndSwap(old, sh.heap.v); old = q.v.Load() {
		}
		sh.mu.Unlock()
		return e, true
	}
}

// first returns the shard whose head goes first, and its key.
func (q *Queue[T]) first() (best int64, at int) {
	best = none
	for i := range q.all {
		// Less, not equal: among equals the first shard, whichever that is.
		if k := q.all[i].head.Load(); k < best {
			best, at = k, i
		}
	}
	return best, at
}

// Close returns the entries that are left. Later ones are refused, so none is in neither.
func (q *Queue[T]) Close() (left []Entry[T]) {
	for i := range q.all {
		sh := &q.all[i]
		sh.mu.Lock()
		// One shard after the other: a Put into a later one still succeeds, and is found there.
		sh.closed = true
		left = append(left, sh.heap.list...)
		sh.heap.list = nil
		sh.publish()
		sh.mu.Unlock()
	}
	return left
}

// Counters of the queue, for a Watchdog.
func (q *Queue[T]) Counters() (c watchdog.QueueCounters) {
	var hist [classes]uint64
	for i := range q.all {
		sh := &q.all[i]
		sh.mu.Lock()
		c.Len += len(sh.heap.list)
		c.Delivered += sh.popped
		// Summed here, so that Get counts in its own shard only.
		for k, n := range sh.hist {
			hist[k] += n
		}
		sh.mu.Unlock()
	}
	for k, n := range hist {
		c.Waits = append(c.Waits, firq.Bucket{UpperBound: time.Duration(1) << k, Count: n})
	}
	return c
}

// class of a wait: the power of two of nanoseconds that is not below it.
func class(ns int64) int { return min(bits.Len64(uint64(max(ns, 1)-1)), classes-1) }
