//go:build !firq_nolinkname && !firq_failpoints

package clock

import (
	"math"
	"time"
	_ "unsafe" // for go:linkname
)

// time.Since costs 50 instructions on top of the runtime's reading, as a time.Time has two
// clocks. Build with the tag firq_nolinkname to do without this.

//go:linkname nanotime runtime.nanotime
//go:nosplit
func nanotime() int64

// start is epoch on the runtime's clock, to within the time that three readings take.
var start = startOf(epoch)

// startOf reads both clocks, again if the goroutine may have been interrupted in between.
func startOf(epoch time.Time) (start int64) {
	best := int64(math.MaxInt64)
	for try := 0; try < 100 && best > maxApart; try++ {
		before := nanotime()
		since := int64(time.Since(epoch))
		if apart := nanotime() - before; apart < best {
			best, start = apart, before+apart/2-since
		}
	}
	return start
}

// maxApart is how long three readings may take, in nanoseconds, where nothing comes in between.
const maxApart = 500

// running is the time since epoch by the machine's monotonic clock, in a bubble of synctest too.
func running() int64 { return nanotime() - start }
