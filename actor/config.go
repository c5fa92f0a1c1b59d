package actor

import (
	"cmp"
	"fmt"
	"log/slog"
	"math"
	"runtime"
	"time"

	"github.com/firq-go/firq"
	firqworker "github.com/firq-go/firq/worker"
)

// Defaults of Config.
const (
	DefaultSlice      = 100 * time.Microsecond
	DefaultThroughput = 100
	DefaultHandoff    = 10 * time.Millisecond
	DefaultMailbox    = 65_536

	unseenHandoff = time.Millisecond // default where the runtime does not tell which goroutines compute

	maxSlots  = 1 << 16
	maxWeight = 1 << 20
)

// Config of a System. The zero value works.
type Config struct {
	// Slots is how many handlers compute at the same time. 0: GOMAXPROCS. Handlers that
	// wait in Call, Wait or Await do not count, nor do calls from outside the System that
	// run on their caller's goroutine.
	Slots int
	// Slice is the processor time of a turn: after it the actor goes behind those that
	// have used less. 0: 100 us.
	Slice time.Duration
	// Throughput is the maximum number of messages in a turn. 0: 100. 1 is the fairest.
	Throughput int
	// Handoff says when a handler loses its slot, and keeps its goroutine, if other actors wait
	// for one. 0: as soon as it is seen to block outside of Await (on a request, a lock, a
	// sleep), or when it has computed for 10 ms. It blocks if the process has fewer goroutines that
	// compute than slots with a handler, which needs Go 1.26 or later; before, and in a program that
	// computes outside of actors on as many processors as there are slots, time alone decides (with
	// an earlier Go 1 ms).
	// Above 0: after so long, whatever it does. Below 0: never.
	//
	// So a handler that blocks costs what the goroutine of another library's actor costs, and some
	// microseconds until its slot is taken, a millisecond now and then. Await gives the slot away
	// immediately. The first time that a method takes a millisecond in this way is logged.
	Handoff time.Duration
	// Mailbox of every actor without WithMailbox. Zero: 65,536 messages, reject.
	Mailbox Mailbox
	// Metrics receives turns, timeouts and restarts. nil: no metrics.
	Metrics Metrics
	// Logger gets every event that has no hook: failures with their stack, timeouts, and dead
	// letters, at most one line per second; and each restart. nil: slog.Default().
	Logger *slog.Logger
	// OnFailure is called for each failure of an actor, and of a supervisor that gives up. As
	// OnDeadLetter it may Tell, but must not Call an actor that may wait for it. Its panics are
	// logged. nil: the failure is logged.
	OnFailure func(Failure)
	// OnDeadLetter is called for each accepted message that no handler will get,
	// because the actor has ended or the mailbox's policy evicted it. It is called
	// without a lock, on a separate goroutine. The goroutine that finds this out waits for it, and
	// that may be a handler or the actor's end. So the hook may Tell, but must not Call: a Call to
	// the actor that waits for the hook never returns, and the rule of deadlocks does not see it.
	// Its panics are logged. nil: dead letters are logged.
	OnDeadLetter func(DeadLetter)
	// OnTimeout is called for each handler that has run for its timeout, in every mode,
	// on its own goroutine. Its panics are logged. nil: the timeout is logged.
	OnTimeout func(SlowHandler)

	// Profile sets pprof labels on the goroutine of each handler while the handler runs:
	// actor, which is the kind of the actor, and method. This costs some tens of ns per
	// message. (In an execution trace handlers are regions in any case.)
	Profile bool
}

// DeadLetter is an accepted message that no handler will get.
type DeadLetter struct {
	Name, Method string
	Req          any
	Err          error // ErrStopped or ErrMailboxFull
}

// Failure of an incarnation: a panic, an error of its start, or a timeout with the mode Stop.
type Failure struct {
	Name   string // of the actor
	Method string // Start, Started: of the state's life; "": a supervisor that gives up
	Err    error  // a *PanicError holds the stack; of a supervisor: the failure that was one too many
	Final  bool   // the actor ends: it has no supervisor, or its state cannot be made again
}

// SlowHandler is a handler in progress.
type SlowHandler struct {
	Name, Method string
	Elapsed      time.Duration // since it was started
}

// Mailbox says how many messages may wait for an actor, and what happens to a message
// that arrives at that limit. DropOldest and DropNewest evict a message of the lowest
// priority that is not above the new one's, as they do in package firq. Where there is
// no such message, they reject the new one. Wait waits for room, at most for
// Backpressure.Wait.
type Mailbox struct {
	Limit int // 0: 65,536; below 0: none
	firq.Backpressure
}

// TimeoutMode says what happens when a handler has run for its timeout.
type TimeoutMode = firqworker.TimeoutMode

// The modes of WithTimeout and WithHandlerTimeout.
const (
	// Warn calls Config.OnTimeout and nothing else.
	Warn = firqworker.Warn
	// Cancel cancels the handler's Ctx too.
	Cancel = firqworker.Cancel
	// Stop abandons the handler: its caller gets ErrTimeout, and the actor goes on
	// with a new incarnation, or ends if it has no supervisor.
	Stop = firqworker.Stop
)

// Reentrancy says which messages an actor handles while one of its handlers waits in
// Call, Future.Wait or Ctx.Await.
type Reentrancy uint8

const (
	// None: no message. A call that comes back to the actor is ErrDeadlock.
	None Reentrancy = iota
	// CallChain: calls that the waiting handler has caused, directly or through others.
	CallChain
	// Full: any message. The state may have changed when the wait is over.
	Full
)

// resolve checks a Config, and puts the defaults in.
func (c Config) resolve() (Config, error) {
	switch {
	case c.Slots < 0 || c.Slots > maxSlots:
		return c, invalid("Slots: %d, must be 0 to %d", c.Slots, maxSlots)
	case c.Slice < 0:
		return c, invalid("Slice: %v, must not be negative", c.Slice)
	case c.Throughput < 0 || c.Throughput > math.MaxInt32:
		return c, invalid("Throughput: %d, must be 0 to %d", c.Throughput, math.MaxInt32)
	}
	if err := c.Mailbox.check(); err != nil {
		return c, err
	}
	// As many as there are processors: more would only compute in turns.
	c.Slots = cmp.Or(c.Slots, runtime.GOMAXPROCS(0))
	c.Slice = cmp.Or(c.Slice, DefaultSlice)
	c.Throughput = cmp.Or(c.Throughput, DefaultThroughput)
	c.Handoff = cmp.Or(c.Handoff, DefaultHandoff)
	return c, nil
}

// check is for a Config and for an Option, whose errors name the field.
func (m Mailbox) check() error {
	if m.Limit > math.MaxInt32 {
		return invalid("Mailbox.Limit: %d, must be at most %d", m.Limit, math.MaxInt32)
	}
	if err := m.Validate(); err != nil {
		return fmt.Errorf("actor: Mailbox: %w", err)
	}
	return nil
}

// limit as a number that a count can be compared with: without a limit it is one that no
// mailbox reaches.
func (m Mailbox) limit() uint64 {
	if m.Limit < 0 {
		return math.MaxUint64
	}
	return uint64(cmp.Or(m.Limit, DefaultMailbox))
}

// invalid is an error that matches firq.ErrInvalidConfig, and says which field or option it is
// about.
func invalid(format string, args ...any) error {
	return fmt.Errorf("%w: actor: "+format, append([]any{firq.ErrInvalidConfig}, args...)...)
}
