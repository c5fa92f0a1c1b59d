package compute

import (
	"sync/atomic"
	"time"
)

// Entry is what a Cache keeps: a result, or an error that Config.ErrorTTL gave a life,
// with its times. It is immutable outside this package.
type Entry[V any] struct {
	val   V
	made  int64                 // by the server's clock
	fresh int64                 // until then it is an answer
	extra atomic.Pointer[extra] // what few entries have; nil: nothing of it

	slot  uint32 // where the cache of this package has it; guarded by the cache
	flags atomic.Uint32
}

// extra is kept apart, so that an entry of 8 bytes with a key of 8 fits into 48. Immutable
// once others can see the entry.
type extra struct {
	err    error
	weight int64
	end    int64  // until then it can be an answer
	seq    uint64 // the server's number when it was set; for caches that cannot be walked

	failed error // with what the last attempt to make it anew ended; nil: there was none that failed
	retry  int64 // until then there is no other one
}

// The flags of an entry.
const (
	visited    uint32 = 1 << iota // it was asked for since an eviction passed by
	asked                         // since the census passed by
	back                          // it came back soon after it was evicted, and is in the window
	inMain                        // it is in the main line of its tenant, not in the window
	refreshing                    // a refresh in the background is under way
)

// Weight returns what Config.Weigh said, 1 without it.
func (e *Entry[V]) Weight() int64 {
	if x := e.extra.Load(); x != nil {
		return x.weight
	}
	return 1
}

// TTL returns how long the entry can be an answer, from Set on, Config.Stale and
// StaleIfError included.
func (e *Entry[V]) TTL() time.Duration {
	if x := e.extra.Load(); x != nil {
		return time.Duration(x.end - e.made)
	}
	return time.Duration(e.fresh - e.made)
}

// error returns the kept error; nil: it is a result.
func (e *Entry[V]) error() error {
	if x := e.extra.Load(); x != nil {
		return x.err
	}
	return nil
}

// failure returns until when there is no further attempt to make the entry anew, and with
// what the last one ended; nil: there was none that failed.
func (e *Entry[V]) failure() (retry int64, err error) {
	if x := e.extra.Load(); x != nil {
		return x.retry, x.failed
	}
	return 0, nil
}

// fail notes a failure. end is until when the entry can be an answer. Under the lock of
// the key's shard.
func (e *Entry[V]) fail(err error, retry, end int64) {
	x := extra{weight: 1, end: end}
	if old := e.extra.Load(); old != nil {
		x = *old
	}
	x.failed, x.retry = err, retry
	e.extra.Store(&x)
}

// Cache keeps entries by key, bounded as it likes: it may forget any entry at any time.
// Entries know their times, so how exact its own expiry is does not matter.
//
// All methods are called by many goroutines concurrently. Set and Delete are called with a
// lock of the server held, so they must not call the server.
type Cache[T, K comparable, V any] interface {
	// Get returns the entry that was set last, or nil: there is none.
	Get(k Key[T, K]) *Entry[V]
	// Set keeps an entry instead of any other of its key. Every Get that begins after
	// Set has returned sees it, or nil.
	Set(k Key[T, K], e *Entry[V])
	// Delete forgets the entry of a key, if there is one.
	Delete(k Key[T, K])
	// Len returns how many entries there are.
	Len() int
}
