package watchdog

import (
	"math"
	"runtime/metrics"
	"slices"
	"time"
)

// The runtime's metrics that are read. A Go that lacks one says so by KindBad.
const (
	latencies  = "/sched/latencies:seconds"
	goroutines = "/sched/goroutines:goroutines"
	runnable   = "/sched/goroutines/runnable:goroutines" // since Go 1.26
	processors = "/sched/gomaxprocs:threads"
)

// reading holds the numbers of the runtime and the system at one instant; -1 or nil: they have none.
type reading struct {
	latencies                        []bin // since the process began
	goroutines, runnable, processors int
	used                             time.Duration // by the process since it began; see processorTime
}

// runtimeMetrics reads the runtime's metrics; one goroutine uses it.
type runtimeMetrics struct{ samples []metrics.Sample }

func newRuntimeMetrics() *runtimeMetrics {
	return &runtimeMetrics{[]metrics.Sample{{Name: latencies}, {Name: goroutines}, {Name: runnable}, {Name: processors}}}
}

func (m *runtimeMetrics) read() reading {
	metrics.Read(m.samples)
	r := reading{used: processorTime()}
	if v := m.samples[0].Value; v.Kind() == metrics.KindFloat64Histogram {
		r.latencies = bins(v.Float64Histogram())
	}
	r.goroutines, r.runnable, r.processors = count(m.samples[1].Value), count(m.samples[2].Value), count(m.samples[3].Value)
	return r
}

func count(v metrics.Value) int {
	if v.Kind() != metrics.KindUint64 {
		return -1
	}
	return int(min(v.Uint64(), math.MaxInt32))
}

// bins copies the histogram, which metrics.Read writes to again next time.
func bins(h *metrics.Float64Histogram) []bin {
	bs := make([]bin, len(h.Counts))
	for i, n := range h.Counts {
		bs[i] = bin{seconds(h.Buckets[i]), n}
	}
	return bs
}

// seconds converts a bound of a bucket, which may be infinite.
func seconds(s float64) time.Duration {
	switch ns := math.Round(s * 1e9); {
	case !(ns > 0):
		return 0
	case ns >= math.MaxInt64:
		return math.MaxInt64
	default:
		return time.Duration(ns)
	}
}

// since returns the samples that were added to the histogram after old was read, which has
// the same buckets.
func (r reading) since(old reading) []bin {
	bs := slices.Clone(r.latencies)
	for i := range min(len(bs), len(old.latencies)) {
		bs[i].n = grown(old.latencies[i].n, bs[i].n)
	}
	return bs
}
