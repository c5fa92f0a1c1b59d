//go:build linux && amd64 && !firq_failpoints

package clock

import (
	"math/bits"
	"os"
	"strings"
	"sync"
	"sync/atomic"
	"time"

	"github.com/loov/hrtime"
)

// anchor ties the time stamp counter to the monotonic clock: at count it was ns.
// It holds for renewEvery, then the next caller that reads the clock makes a new one. The
// scale is computed over the interval since an anchor at least minBaseline old, so
// that it follows the kernel's own corrections (NTP), and an error does not add
// up.
type anchor struct {
	count uint64
	ns    int64  // since epoch
	scale uint64 // nanoseconds per count, times 1<<32
	valid uint64 // for this many counts
}

const (
	renewEvery  = 100 * time.Millisecond
	minBaseline = 10 * time.Millisecond
	// maxReading is how long, in counts, reading both clocks may take.
	maxReading = 4000
)

var (
	// current is nil until the counter has been watched for minBaseline, and for
	// good where it is not trusted: then the runtime's clock is read.
	current atomic.Pointer[anchor]

	renewal  sync.Mutex
	previous anchor // guarded by renewal; count 0: not yet
	trusted  = sync.OnceValue(counterTrusted)

	// distrusted says that trusted has said no: then a reading is a call of the runtime, and
	// nothing else.
	distrusted atomic.Bool
)

// counterTrusted reports whether the kernel keeps time by the counter. It has
// then checked that it is constant and the same on all processors.
func counterTrusted() bool {
	b, err := os.ReadFile("/sys/devices/system/clocksource/clocksource0/current_clocksource")
	return err == nil && strings.TrimSpace(string(b)) == "tsc" && hrtime.TSCSupported()
}

// now returns the nanoseconds since epoch; by the runtime's clock for one made in a
// bubble.
func now(bubble bool) int64 {
	if a := current.Load(); a != nil && !bubble {
		// A counter that is behind the anchor's, on another processor, gives a
		// huge d and takes the slow way.
		if d := hrtime.RDTSC() - a.count; d < a.valid {
			return a.ns + int64(d*a.scale>>32)
		}
	}
	if distrusted.Load() && !bubble {
		return running()
	}
	return nowSlow()
}

// nowSlow reads the runtime's clock, and makes a new anchor unless another goroutine does.
func nowSlow() int64 {
	if !trusted() {
		distrusted.Store(true)
		return monotonic()
	}
	if bubbled(time.Now()) || !renewal.TryLock() { // a bubble's time is no other goroutine's
		return monotonic()
	}
	defer renewal.Unlock()
	count, ns, ok := read()
	if !ok {
		return monotonic()
	}
	p := previous
	if p.count == 0 || count <= p.count {
		previous = anchor{count: count, ns: ns}
		return ns
	}
	if ns-p.ns < int64(minBaseline) {
		return ns
	}
	a := &anchor{count: count, ns: ns}
	// scale = (ns-p.ns)<<32 / (count-p.count); below 1<<32 for counters above
	// 1 GHz, so that a product with valid counts fits in 64 bits.
	hi, lo := bits.Mul64(uint64(ns-p.ns), 1<<32)
	elapsed := count - p.count
	if hi >= elapsed {
		return ns // a counter slower than 1 Hz: nonsense
	}
	a.scale, _ = bits.Div64(hi, lo, elapsed)
	if a.scale == 0 || a.scale >= 1<<32 {
		return ns
	}
	a.valid = uint64(renewEvery) << 32 / a.scale
	current.Store(a)
	previous = *a
	return ns
}

// read reads both clocks at the same instant, to within maxReading counts.
func read() (count uint64, ns int64, ok bool) {
	for range 4 {
		before := hrtime.RDTSC()
		ns = monotonic()
		after := hrtime.RDTSC()
		if after > before && after-before < maxReading {
			return before + (after-before)/2, ns, true
		}
	}
	return 0, 0, false
}
