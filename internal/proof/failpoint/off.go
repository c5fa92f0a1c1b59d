//go:build !firq_failpoints

package failpoint

import (
	"runtime"
	"sync"
)

// On reports whether marks do anything.
const On = false

// At marks a step; point names it.
func At(point string) {}

// Gosched is runtime.Gosched for a goroutine that can go on only when another
// one has made a step.
func Gosched(point string) { runtime.Gosched() }

// Lock locks m, which may be held across marks.
func Lock(m *sync.Mutex, point string) { m.Lock() }

// Processor returns the index of the processor that a Hook says the caller runs
// on; false: ask the runtime.
func Processor() (int, bool) { return 0, false }
