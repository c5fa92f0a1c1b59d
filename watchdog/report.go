package watchdog

import (
	"fmt"
	"time"
)

// Level says how bad the state is.
type Level uint8

// The three levels.
const (
	// OK: every signal is below its Warning threshold.
	OK Level = iota
	// Warning: a signal is at its Warning threshold or above, or a probe failed.
	Warning
	// Critical: a signal is at its Critical threshold or above.
	Critical
)

// String returns "ok", "warning" or "critical".
func (l Level) String() string {
	switch l {
	case OK:
		return "ok"
	case Warning:
		return "warning"
	case Critical:
		return "critical"
	}
	return fmt.Sprintf("Level(%d)", uint8(l))
}

// Signal is a kind of measurement that can raise the level.
type Signal uint8

// The signals; the package comment says what each of them sees.
const (
	TimerLateness     Signal = 1 + iota // Sample.TimerLateness
	SchedulingLatency                   // Sample.Scheduling.Tail
	QueueWait                           // QueueSample.Wait.Tail
	QueueStall                          // QueueSample.Stalled
	ProbeTime                           // ProbeSample.Time
	ProbeError                          // ProbeSample.Err
)

var signalNames = [...]string{"", "timer-lateness", "scheduling-latency", "queue-wait", "queue-stall", "probe-time", "probe-error"}

// String returns the signal's name for logs and labels, for example
// "queue-wait".
func (s Signal) String() string {
	if s > 0 && int(s) < len(signalNames) {
		return signalNames[s]
	}
	return fmt.Sprintf("Signal(%d)", uint8(s))
}

// Finding is a signal that reached a threshold.
type Finding struct {
	Signal    Signal
	Name      string        // of the queue or probe; else empty
	Level     Level         // Warning or Critical
	Value     time.Duration // as measured; 0 with ProbeError
	Threshold time.Duration // the one that was reached; 0 with ProbeError
	Err       error         // with ProbeError only
}

// String returns the finding in one line, for example
// "critical: queue-stall jobs: 2s, threshold 1s".
func (f Finding) String() string {
	who := f.Signal.String()
	if f.Name != "" {
		who += " " + f.Name
	}
	if f.Err != nil {
		return fmt.Sprintf("%v: %s: %v", f.Level, who, f.Err)
	}
	return fmt.Sprintf("%v: %s: %v, threshold %v", f.Level, who, f.Value, f.Threshold)
}

// Sample holds the measurements of one interval.
type Sample struct {
	// Start and End are when the interval began and ended, by this process's clock.
	// Zero: there was none yet.
	Start, End time.Time

	// TimerLateness is by how much the timer fired late, the worst of the
	// interval.
	TimerLateness time.Duration
	// Scheduling is how long goroutines were ready before they ran, of those
	// that the runtime looked at and that began to run in the interval. Empty if
	// this Go has no such metric (NoScheduling is then true).
	Scheduling   Latency
	NoScheduling bool

	// At the end of the interval, by the runtime; -1 if this Go has no such
	// metric.
	Goroutines, Runnable int // goroutines that exist; that are ready and do not run
	Processors           int // GOMAXPROCS

	// ProcessorTime is the time that this process used in the interval, all threads together; -1 if
	// the system does not say (it is asked for on Unix only).
	ProcessorTime time.Duration

	Queues []QueueSample // as in Options.Queues
	Probes []ProbeSample // as in Options.Probes
}

// Latency sums up a histogram over one interval. Every duration is the lower
// bound of its bucket: the true one is that or more, up to the bucket's width.
type Latency struct {
	P50, Tail, Max time.Duration // Tail is at Options.Quantile
	Samples        uint64
}

// QueueSample holds the measurements of one queue.
type QueueSample struct {
	Name      string
	Len       int           // tasks queued at the end of the interval
	Delivered uint64        // in the interval
	Expired   uint64        // in the interval
	Wait      Latency       // of the delivered tasks
	Stalled   time.Duration // how long there has been a backlog and no delivery: whole intervals that began so
}

// ProbeSample holds the measurements of one probe.
type ProbeSample struct {
	Name string
	// Time is the longest of the calls that ended in the interval and of the one
	// in progress, so far.
	Time time.Duration
	// Calls that ended in the interval.
	Calls int
	// Err of the last of them that failed.
	Err error
}

// Report is a report to OnReport and the log: the level changed, or is still not
// OK. Its slices are shared with Status and must not be changed.
type Report struct {
	Level, Previous Level     // equal in a reminder
	Reminder        bool      // the level did not change
	Since           time.Time // when Level began: the end of an interval
	Findings        []Finding // of the last interval, worst first; can be empty while the level waits to fall
	Sample          Sample    // of the last interval
	Seq             uint64    // 1 for the first report of this Watchdog, then one more each
	Missed          uint64    // reports right before this one that were dropped because the receiver was slow
	Stacks          []byte    // of level Critical only, see Options.StackBytes; nil: none taken
}

// Status is the result of Watchdog.Status. Its slices are shared and must not be
// changed.
type Status struct {
	Running  bool // Run is in progress
	Level    Level
	Since    time.Time // when Level began; zero before the first interval
	Findings []Finding // of the last interval
	Sample   Sample    // of the last interval; zero before the first
	Reports  uint64    // made
	Missed   uint64    // of these, dropped because the receiver was slow
}
