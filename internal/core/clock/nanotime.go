//go:build !firq_nolinkname && !firq_failpoints

package clock

import (
	"time"
	_ "unsafe" // for go:linkname
)

// time.Since costs 50 instructions on top of the runtime's reading, as a time.Time has two
// clocks. Build with the tag firq_nolinkname to do without this.

//go:linkname nanotime runtime.nanotime
//go:nosplit
func nanotime() int64

// start is epoch on the runtime's clock, to within the time that two readings take.
var start = nanotime() - int64(time.Since(epoch))

// running is monotonic, but goes by the machine's clock in a bubble too.
func running() int64 { return nanotime() - start }
