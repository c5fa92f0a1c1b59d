//go:build firq_failpoints && (amd64 || arm64)

package interleave

// goroutine returns the address of the calling goroutine's g, which no other goroutine has until
// it has ended. Reading the goroutine's number at each step instead took five sixths of the time
// of a search.
func goroutine() uintptr
