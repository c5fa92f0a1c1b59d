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

// Empty is the head of an order without entries.
const Empty = math.MaxInt64

// shards is the queue: one heap with a lock, or several of them that share a virtual time.
// An entry is put into any of them; get takes from the one whose head is to go first. It looks
// at all heads without a lock, and again at that of the chosen shard, under the shard's lock. So
// it never takes an entry that was not the first of all when it looked. Hence only entries that
// were chosen before the first entry came can overtake it: at most one for each other slot.
type shards[T any] struct {
	v   atomic.Int64 // virtual time: the start tag of the latest turn
	all []shard[T]
}

// shard is a heap. Others read head without the lock; it is written under the lock.
type shard[T any] struct {
	head atomic.Int64 // key of the first entry; Empty: there is none
	_    [56]byte

	mu     sync.Mutex
	order  Order[T]
	closed bool
	popped uint64
	hist   [classes]uint64
	_      [48]byte
}

// New returns the queue for the given number of slots.
func New[T any](slots int) Queue[T] { return newShards[T](slots) }

// NewOf returns a queue with its own order.
func NewOf[T any](o Order[T]) Queue[T] {
	q := newShards[T](1)
	q.all[0].order = o
	return q
}

func newShards[T any](slots int) *shards[T] {
	n := 1
	if slots > fewSlots {
		n = min(slots/2, maxShards)
	}
	q := &shards[T]{all: make([]shard[T], n)}
	for i := range q.all {
		q.all[i].order = &heap4[T]{}
		q.all[i].head.Store(Empty)
	}
	return q
}

func (q *shards[T]) Now() int64 { return q.v.Load() }

func (q *shards[T]) Any() bool {
	for i := range q.all {
		if q.all[i].head.Load() != Empty {
			return true
		}
	}
	return false
}

func (q *shards[T]) Put(e Entry[T]) bool {
	i := 0
	if len(q.all) > 1 {
		i = rand.IntN(len(q.all))
	}
	sh := &q.all[i]
	sh.mu.Lock()
	if sh.closed {
		sh.mu.Unlock()
		return false
	}
	sh.order.Raise(q.v.Load()) // which keeps the shards together
	sh.order.Put(e)
	sh.publish()
	sh.mu.Unlock()
	return true
}

// publish shows the others the key of the shard's first entry. The caller holds sh.mu.
func (sh *shard[T]) publish() { sh.head.Store(sh.order.Head()) }

func (q *shards[T]) Get(now int64) (Entry[T], bool) {
	for {
		best, i := q.first()
		if best == Empty {
			return Entry[T]{}, false
		}
		sh := &q.all[i]
		sh.mu.Lock()
		if sh.head.Load() > best { // another goroutine has taken it in between
			sh.mu.Unlock()
			continue
		}
		e, _ := sh.order.Get()
		sh.publish()
		sh.popped++
		sh.hist[class(now-e.Since)]++
		q.raise(sh.order.Now())
		sh.mu.Unlock()
		return e, true
	}
}

// first returns the shard whose head goes first, and its key.
func (q *shards[T]) first() (best int64, at int) {
	best = Empty
	for i := range q.all {
		if k := q.all[i].head.Load(); k < best {
			best, at = k, i
		}
	}
	return best, at
}

// raise raises the virtual time to v if it is less.
func (q *shards[T]) raise(v int64) {
	for old := q.v.Load(); old < v && !q.v.CompareAndSwap(old, v); old = q.v.Load() {
	}
}

func (q *shards[T]) Close() (left []Entry[T]) {
	for i := range q.all {
		sh := &q.all[i]
		sh.mu.Lock()
		sh.closed = true
		for e, ok := sh.order.Get(); ok; e, ok = sh.order.Get() {
			left = append(left, e)
		}
		sh.publish()
		sh.mu.Unlock()
	}
	return left
}

func (q *shards[T]) Counters() (c watchdog.QueueCounters) {
	var hist [classes]uint64
	for i := range q.all {
		sh := &q.all[i]
		sh.mu.Lock()
		c.Len += sh.order.Len()
		c.Delivered += sh.popped
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
