//go:build firq_nolinkname

package cpu

import "math/rand/v2"

// Exact says that Hint is the processor's index.
const Exact = false

// Hint returns a random number: callers still spread over the cache lines, but
// do not stay on theirs.
func Hint() int { return int(rand.Uint32() >> 1) }

// Pin is Hint: the goroutine may be stopped before Unpin.
func Pin() int { return Hint() }

// Unpin ends Pin.
func Unpin() {}
