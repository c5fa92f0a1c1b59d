//go:build unix

package watchdog

import (
	"syscall"
	"time"
)

// processorTime returns the time that the process has used since it began, all threads together; below 0:
// the system does not say.
func processorTime() time.Duration {
	var r syscall.Rusage
	if syscall.Getrusage(syscall.RUSAGE_SELF, &r) != nil {
		return -1
	}
	return time.Duration(r.Utime.Nano() + r.Stime.Nano())
}
