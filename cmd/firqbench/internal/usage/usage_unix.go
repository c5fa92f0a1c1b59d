//go:build unix

package usage

import (
	"syscall"
	"time"
)

// Now returns what the process has used until now (getrusage).
func Now() Usage {
	var r syscall.Rusage
	if err := syscall.Getrusage(syscall.RUSAGE_SELF, &r); err != nil {
		return Usage{}
	}
	return Usage{
		CPU:      time.Duration(r.Utime.Nano() + r.Stime.Nano()),
		Switches: uint64(r.Nvcsw) + uint64(r.Nivcsw),
	}
}
