package actor

import (
	"math"
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
	empty     = math.MaxInt64 // head of a shard without entries
)

// shards is the queue: one heap with a lock, or several of them that share a virtual time.
// An entry is put into any of them; get takes from the one whose head is to go first. It looks
// at all heads without a lock, and again at that of the chosen shard, under the shard's lock. So
// it never takes an entry that was not the first of all when it looked. Hence only entries that
// were chosen before the first entry came can overtake it: at most one for each other slot.
type shards struct {
	v   atomic.Int64 // virtual time: the start tag of the latest turn
	all []shard
}

// shard is a heap. Others read head without the lock; it is written under the lock.
type shard struct {
	head atomic.Int64 // key of the first entry; empty: there is none
	_    [56]byte

	mu     sync.Mutex
	order  order
	closed bool
	popped uint64
	hist   [classes]uint64
	_      [48]byte
}

// newShards returns the queue for the given number of slots.
func newShards(slots int) *shards {
	n := 1
	if slots > fewSlots {
		n = min(slots/2, maxShards)
	}
	q := &shards{all: make([]shard, n)}
	for i := range q.all {
		q.all[i].order = &heap4{}
		q.all[i].head.Store(empty)
	}
	return q
}

func (q *shards) now() int64 { return q.v.Load() }

func (q *shards) any() bool {
	for i := range q.all {
		if q.all[i].head.Load() != empty {
			return true
		}
	}
	return false
}

func (q *shards) put(e entry) bool {
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
	sh.order.raise(q.v.Load()) // which keeps the shards together
	sh.order.put(e)
	sh.publish()
	sh.mu.Unlock()
	return true
}

// publish shows the others the key of the shard's first entry. The caller holds sh.mu.
func (sh *shard) publish() { sh.head.Store(sh.order.head()) }

func (q *shards) get(now int64) (entry, bool) {
	for {
		best, i := q.first()
		if best == empty {
			return entry{}, false
		}
		sh := &q.all[i]
		sh.mu.Lock()
		if sh.head.Load() > best { // another goroutine has taken it in between
			sh.mu.Unlock()
			continue
		}
		e, _ := sh.order.get()
		sh.publish()
		sh.popped++
		sh.hist[class(now-e.since)]++
		q.raise(sh.order.now())
		sh.mu.Unlock()
		return e, true
	}
}

// first returns the shard whose head goes first, and its key.
func (q *shards) first() (best int64, at int) {
	best = empty
	for i := range q.all {
		if k := q.all[i].head.Load(); k < best {
			best, at = k, i
		}
	}
	return best, at
}

// raise raises the virtual time to v if it is less.
func (q *shards) raise(v int64) {
	for old := q.v.Load(); old < v && !q.v.CompareAndSwap(old, v); old = q.v.Load() {
	}
}

func (q *shards) close() (left []entry) {
	for i := range q.all {
		sh := &q.all[i]
		sh.mu.Lock()
		sh.closed = true
		for e, ok := sh.order.get(); ok; e, ok = sh.order.get() {
			left = append(left, e)
		}
		sh.publish()
		sh.mu.Unlock()
	}
	return left
}

func (q *shards) counters() (c watchdog.QueueCounters) {
	var hist [classes]uint64
	for i := range q.all {
		sh := &q.all[i]
		sh.mu.Lock()
		c.Len += sh.order.len()
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
