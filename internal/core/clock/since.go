//go:build firq_nolinkname || firq_failpoints

package clock

// running is monotonic.
func running() int64 { return monotonic() }
