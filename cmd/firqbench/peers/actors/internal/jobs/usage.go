package jobs

import (
	"runtime"
	"syscall"
	"time"
)

// usage is what the process has used until now.
type usage struct {
	at      time.Time
	cpu     time.Duration // user and system
	mallocs uint64
}

func used() usage {
	var m runtime.MemStats
	runtime.ReadMemStats(&m)
	u := usage{mallocs: m.Mallocs}
	var r syscall.Rusage
	if err := syscall.Getrusage(syscall.RUSAGE_SELF, &r); err == nil {
		u.cpu = time.Duration(r.Utime.Nano() + r.Stime.Nano())
	}
	u.at = time.Now()
	return u
}

// since returns the figures of n messages or calls since before. Processor time is what other work on the machine
// disturbs least.
func (u usage) since(before usage, n float64) Metrics {
	return Metrics{
		"rate": n / u.at.Sub(before.at).Seconds() / 1e6, "cpu": float64(u.cpu-before.cpu) / n, "allocs": float64(u.mallocs-before.mallocs) / n,
	}
}
