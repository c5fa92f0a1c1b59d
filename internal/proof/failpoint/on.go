//go:build firq_failpoints

package failpoint

import (
	"runtime"
	"sync"
	"sync/atomic"
)

// On reports whether marks do anything.
const On = true

// Hook decides what happens at a mark. Its methods are called by many goroutines
// at the same time.
type Hook interface {
	// At is called before a step.
	At(point string)
	// Stuck is called by a goroutine that can go on only when another one has
	// made a step; it tries again when Stuck returns.
	Stuck(point string)
	// Processor returns the index of the processor that the caller is to believe
	// it runs on; false: the real one.
	Processor() (int, bool)
}

var hook atomic.Pointer[Hook]

// Set installs a Hook, nil for none, and returns what takes it back.
func Set(h Hook) (restore func()) {
	old := hook.Load()
	if h == nil {
		hook.Store(nil)
	} else {
		hook.Store(&h)
	}
	return func() { hook.Store(old) }
}

// At marks a step; point names it.
func At(point string) {
	if h := hook.Load(); h != nil {
		(*h).At(point)
	}
}

// Gosched is runtime.Gosched for a goroutine that can go on only when another
// one has made a step.
func Gosched(point string) {
	if h := hook.Load(); h != nil {
		(*h).Stuck(point)
		return
	}
	runtime.Gosched()
}

// Lock locks m, which may be held across marks.
func Lock(m *sync.Mutex, point string) {
	h := hook.Load()
	if h == nil {
		m.Lock()
		return
	}
	(*h).At(point)
	for !m.TryLock() {
		(*h).Stuck(point)
	}
}

// Processor returns the index of the processor that a Hook says the caller runs
// on; false: ask the runtime.
func Processor() (int, bool) {
	if h := hook.Load(); h != nil {
		return (*h).Processor()
	}
	return 0, false
}
