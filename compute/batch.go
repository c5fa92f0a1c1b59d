package compute

import (
	"log/slog"
	"time"

	"github.com/firq-go/firq"
	"github.com/firq-go/firq/gate"
)

// BatchConfig says how a Batcher behaves. The zero value works.
type BatchConfig[T comparable] struct {
	// Limit is how many batches are executed concurrently, at most gate.MaxSlots. 0: 2 x
	// GOMAXPROCS.
	Limit int
	// Max is how many calls are in one batch at most. 0: 32.
	Max int
	// Queue says how calls wait. Order 0: firq.AdaptiveLIFO, as of Config.Gate, unless FIFO.
	// MaxQueueAge holds for every call, whatever its context; 0: 3 s; below 0: none.
	Queue gate.Config[T]
	// FIFO lets the oldest call of a tenant go first always. Invalid with another
	// Queue.Order.
	FIFO bool
	// ExecTimeout is after what time the context of a batch ends. 0: never.
	ExecTimeout time.Duration
	// OnPanic is called once for each batch that panicked, or called runtime.Goexit, after
	// its calls have got their error. nil: it is logged, with its stack.
	OnPanic func(*PanicError)
	// Logger gets panics if there is no hook, and those of the hook. nil: slog.Default().
	Logger *slog.Logger
}

// BatchStats is a snapshot of a Batcher. The counters only grow. While calls are in
// progress the fields need not be from the same instant.
//
// Each call of Do that returned is in exactly one of Answered, Refused, GaveUp and Closed,
// but for calls that make no sense (firq.ErrInvalidArgument, ErrInvalidTask), which are
// in none.
type BatchStats[T comparable] struct {
	Batches uint64 // executions begun
	Calls   uint64 // calls in them

	Answered uint64 // by exec, whether or not it failed
	Refused  uint64 // ended with what matches firq.ErrRejected
	GaveUp   uint64 // whose context ended first
	Closed   uint64 // ended with firq.ErrClosed

	Executing int // batches in progress; at rest 0
	Waiting   int // calls that wait to be in one; at rest 0
	Queue     firq.Stats[T]
}

// DefaultMaxBatch is the default of BatchConfig.Max.
const DefaultMaxBatch = 32
