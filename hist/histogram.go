package hist

import (
	"math/bits"
	"runtime"
	"sync"
	"sync/atomic"
	"time"
	"unsafe"
)

// maxStripes bounds the memory and the cost of a snapshot on large machines.
const maxStripes = 64

// Histogram is a histogram that many goroutines record into while others take
// snapshots; all methods are safe for concurrent use. Build it with New: the
// zero value has no stripes and panics.
//
// It consists of stripes, each a mutex with plain counts, as many as processors
// were available to New (rounded up to a power of two, from 2 to 64). Record
// takes the stripe that was last used on its processor; if another one holds that,
// the next free one. It waits only if all of them are held at the same time.
//
// Rejected: a random stripe for each Record. It moves the stripe's cache lines from
// core to core nearly every time, which cost three times as much, about what one
// mutex for all costs.
type Histogram struct {
	stripes []stripe // the slice is immutable; a power of two long
	// near hands out a stripe that this processor used last, for what sync.Pool
	// keeps per processor. It holds pointers into stripes, so losing them to the
	// garbage collector loses nothing and getting new ones allocates nothing. The
	// same stripe may be in it several times: only its mutex is exclusive.
	near   sync.Pool
	handed atomic.Uint32 // stripes that near was given so far; written by near.New
}

// stripe is padded so that neighbours share no cache line, nor a pair of them
// that the processor fetches together.
type stripe struct {
	locked
	_ [128 - unsafe.Sizeof(locked{})%128]byte
}

type locked struct {
	mu sync.Mutex
	at int   // index of this stripe, immutable
	c  Local // guarded by mu
}

// New returns an empty Histogram.
func New() *Histogram { return newStriped(runtime.GOMAXPROCS(0)) }

func newStriped(n int) *Histogram {
	n = min(max(n, 2), maxStripes)
	h := &Histogram{stripes: make([]stripe, 1<<bits.Len(uint(n-1)))}
	for i := range h.stripes {
		h.stripes[i].at = i
	}
	h.near.New = func() any {
		return &h.stripes[int(h.handed.Add(1))&(len(h.stripes)-1)]
	}
	return h
}

// Record counts d, clamped to [Lowest, Highest]. It allocates only as Local does.
func (h *Histogram) Record(d time.Duration) {
	st := h.near.Get().(*stripe)
	if !st.mu.TryLock() {
		st = h.lockSlow(st)
	}
	st.c.Record(d)
	st.mu.Unlock()
	h.near.Put(st)
}

// lockSlow locks and returns the first free stripe after st; if there is none,
// it waits for st.
func (h *Histogram) lockSlow(st *stripe) *stripe {
	mask := len(h.stripes) - 1
	for k := 1; k <= mask; k++ {
		if next := &h.stripes[(st.at+k)&mask]; next.mu.TryLock() {
			return next
		}
	}
	st.mu.Lock()
	return st
}

// Snapshot returns what has been recorded: every Record that returned before
// the call, each Record during the call or not. It locks one stripe at a time,
// and only to add up its counts; recorders use the other stripes until then.
func (h *Histogram) Snapshot() *Snapshot {
	s := NewSnapshot()
	for i := range h.stripes {
		h.stripes[i].addTo(&s.c)
	}
	return s
}

// addTo adds the stripe's counts to c. The rows that c lacks are allocated with
// the lock released, as an allocation may have to help the garbage collector;
// then it looks again, since the stripe may have grown. It can do so 33 times.
func (st *stripe) addTo(c *counts) {
	for {
		st.mu.Lock()
		set := c.missing(&st.c.c)
		if set == 0 {
			c.add(&st.c.c)
			st.mu.Unlock()
			return
		}
		st.mu.Unlock()
		for ; set != 0; set &= set - 1 {
			c.grow(bits.TrailingZeros64(set))
		}
	}
}
