//go:build !linux || !amd64 || firq_failpoints

package clock

// now reads the runtime's clock: whether a time stamp counter can be trusted is
// not known here, or time is to stand still (see package interleave).
func now(bubble bool) int64 {
	if bubble {
		return monotonic()
	}
	return running()
}
