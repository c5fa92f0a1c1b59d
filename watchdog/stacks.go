package watchdog

import (
	"runtime/pprof"
)

// stacks returns the first limit bytes of the goroutine profile. Unlike
// runtime.Stack it does not stop the world while it walks all stacks, which with
// 100,000 goroutines would be another standstill, and it groups equal ones.
func stacks(limit int) []byte {
	h := head{left: limit}
	if err := pprof.Lookup("goroutine").WriteTo(&h, 1); err != nil {
		panic("firq: watchdog: the goroutine profile failed: " + err.Error()) // head never does
	}
	return h.text
}

// head is a writer that keeps the beginning.
type head struct {
	text []byte
	left int
}

func (h *head) Write(p []byte) (int, error) {
	n := min(len(p), h.left)
	h.text = append(h.text, p[:n]...)
	h.left -= n
	return len(p), nil
}
