//go:build !firq_nolinkname

package cpu

import (
	_ "unsafe" // for go:linkname

	"github.com/firq-go/firq/internal/proof/failpoint"
)

// The runtime offers no exported way to the processor's index; reading it takes
// about 2 ns against 14 ns for a sync.Pool token and 115 ns for getcpu. Build
// with the tag firq_nolinkname to do without.

// Exact says that Hint is the processor's index.
const Exact = true

//go:linkname procPin runtime.procPin
//go:nosplit
func procPin() int

//go:linkname procUnpin runtime.procUnpin
//go:nosplit
func procUnpin()

// Hint returns the index of the processor (the runtime's P) that the caller runs
// on. The caller may be moved right after that: it is a hint, not a lock.
func Hint() int {
	if p, ok := failpoint.Processor(); ok {
		return p
	}
	p := procPin()
	procUnpin()
	return p
}

// Pin is Hint that keeps the goroutine on its processor, and running, until Unpin. In between
// it must not block.
func Pin() int {
	if failpoint.On {
		return Hint()
	}
	return procPin()
}

// Unpin ends Pin.
func Unpin() {
	if !failpoint.On {
		procUnpin()
	}
}
