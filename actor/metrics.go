package actor

import "time"

// Metrics receives what a System does. Its methods are called without a lock: Turn and
// Refused by the goroutine that did it, the others on a goroutine for which that one waits.
// They have to be quick and safe for concurrent use; their panics are logged. Labels are kinds and methods, never actors. NoMetrics does nothing; embed
// it to implement only some of the methods.
type Metrics interface {
	// Turn: a turn of an actor has ended. It handled that many messages and used that
	// much processor time, after it had waited that long for a slot. The handler of a ReadOnly
	// message counts as a turn. A turn with a handler that was abandoned ends when that returns.
	Turn(kind string, messages int, used, waited time.Duration, why TurnEnd)
	// Timeout: a handler has run for its timeout.
	Timeout(kind, method string, mode TimeoutMode)
	// Abandoned: the number of abandoned handlers that still run has changed by delta.
	Abandoned(kind string, delta int)
	// Failed: an incarnation has failed.
	Failed(kind string, why error)
	// Restarted: a supervisor has started an incarnation.
	Restarted(kind string)
	// Refused: a message was not accepted.
	Refused(kind string, why error)
	// Handoff: a handler that computed for too long has lost its slot.
	Handoff()
}

// TurnEnd says why a turn has ended.
type TurnEnd uint8

// The reasons.
const (
	TurnIdle       TurnEnd = iota // nothing was left, or the next message may not run yet
	TurnSlice                     // it had used its Slice
	TurnThroughput                // it had handled Throughput messages
	TurnLost                      // a handler waited, or lost the slot
)

// String returns the reason in one word, for labels.
func (e TurnEnd) String() string {
	return [...]string{"idle", "slice", "throughput", "lost"}[min(e, TurnLost)]
}

// NoMetrics is Metrics that does nothing.
type NoMetrics struct{}

// Turn does nothing.
func (NoMetrics) Turn(string, int, time.Duration, time.Duration, TurnEnd) {}

// Timeout does nothing.
func (NoMetrics) Timeout(string, string, TimeoutMode) {}

// Abandoned does nothing.
func (NoMetrics) Abandoned(string, int) {}

// Failed does nothing.
func (NoMetrics) Failed(string, error) {}

// Restarted does nothing.
func (NoMetrics) Restarted(string) {}

// Refused does nothing.
func (NoMetrics) Refused(string, error) {}

// Handoff does nothing.
func (NoMetrics) Handoff() {}
