//go:build firq_failpoints && !amd64 && !arm64

package interleave

func goroutine() uintptr { return number() }
