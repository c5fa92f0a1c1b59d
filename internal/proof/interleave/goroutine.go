//go:build firq_failpoints && (amd64 || arm64)

package interleave

// goroutine returns what tells the calling goroutine from all others that have not ended: where
// the runtime keeps it (its g). When we read the goroutine's number at each step instead, that was
// five sixths of the time of a search.
func goroutine() uintptr
