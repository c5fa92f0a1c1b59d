package compute

import (
	"log/slog"
	"time"

	"github.com/firq-go/firq/gate"
)

// Defaults and limits of Config.
const (
	DefaultSize        = 65_536
	DefaultMaxWaiters  = 1_024
	DefaultJitter      = 0.1
	DefaultBackoff     = time.Second
	DefaultSpill       = 1.25
	DefaultMaxQueueAge = 3 * time.Second

	MaxGroups = 256 // the most that Config.Groups may be
)

// Config says how a Server behaves. The zero value works: it coalesces, is fair, and
// keeps nothing.
//
// Its functions are called by many goroutines concurrently, never with a lock held.
type Config[T, K comparable, V any] struct {
	// Limit is how many executions may run concurrently, all groups together, at most
	// gate.MaxSlots, at least Groups. 0: 2 x GOMAXPROCS, at least Groups.
	Limit int
	// Adaptive moves the limit of all groups together by how long executions take, and
	// begins with its Min; an execution that ends with context.DeadlineExceeded counts
	// as failed. SetLimit then lasts until its next step. nil: the limit is fixed.
	Adaptive *gate.AdaptiveConfig
	// Groups is how many groups there are: executions of a key go to its group as long
	// as that is not overloaded. 1 to MaxGroups. 0: 1.
	Groups int
	// Spill is how many times the mean load a group may have; at least 1. 0: 1.25.
	// +Inf: calls never leave the group of their key.
	Spill float64
	// Gate says how calls wait for a slot, in each group. Order 0: firq.AdaptiveLIFO: if
	// more than HighWater, 80, calls of a tenant wait, its newest goes first, until fewer than
	// LowWater, 40, do; unless FIFO. MaxQueueAge holds for every call, whatever its context;
	// 0: 3 s; below 0: none.
	Gate gate.Config[T]
	// FIFO lets the oldest call of a tenant go first always (Gate.Order cannot say so, as
	// firq.FIFO is its zero value). Invalid with another Gate.Order.
	FIFO bool

	// TTL is how long a result is an answer, to the millisecond, from the end of its
	// execution on. 0: results are not kept, unless TTLFor says so.
	TTL time.Duration
	// TTLFor returns the TTL of a result, instead of TTL. 0 or less: the result is not
	// kept. A panic is that of the execution. nil: TTL.
	TTLFor func(T, K, V) time.Duration
	// Jitter is the largest fraction by which a TTL is shortened, at random, so that
	// results made together do not expire together. 0: 0.1; below 0: none; 1 or more is
	// invalid.
	Jitter float64
	// RefreshAhead is how long before the end of its TTL a call for a result starts a
	// refresh in the background. As long as TTL or longer is invalid; results with a
	// TTL (TTLFor, Jitter) that is not longer are not refreshed ahead. 0: off.
	RefreshAhead time.Duration
	// Stale is how long after the end of its TTL a result is still an answer, while it
	// is refreshed in the background. 0: off.
	Stale time.Duration
	// StaleIfError is how long after the end of its TTL a result is still an answer,
	// with a nil error, if the execution fails or is refused, but not if the call's
	// context ends. 0: off.
	StaleIfError time.Duration
	// Backoff is for how long nothing is executed for a key after an execution has failed
	// or was refused, as long as its older result can be an answer, by RefreshAhead, Stale
	// or StaleIfError. Calls get that result immediately, those by StaleIfError too; the
	// first one after Backoff starts a refresh in the background. So only the calls for
	// which it fails first wait, and not each call during an outage. What ends with
	// context.Canceled has not failed. Jitter shortens it. NoStale and NoCache ignore it. 0: 1 s;
	// below 0: none, so each call that StaleIfError answers first waits for its own execution to fail.
	Backoff time.Duration
	// ErrorTTL says how long an error of exec is kept; 0 or less: not at all. It is not
	// called for errors that match context.Canceled or DeadlineExceeded, nor while an
	// older result can still be an answer: an error takes no such result's place. A
	// panic is that of the execution. nil: errors are not kept.
	ErrorTTL func(error) time.Duration

	// Size is how many entries are kept; with Weigh it is their total weight, and must
	// be given. Each active tenant keeps an equal part of it if it needs that much. 0: 65,536.
	Size int
	// Weigh weighs a result; below 1 counts as 1, and an error weighs 1. What is heavier
	// than Size, than MaxPerTenant of it, or than what other active tenants' parts leave, is
	// not kept, and evicts nothing. A panic is that of the execution. nil: each weighs 1.
	Weigh func(K, V) int64
	// MaxPerTenant is the part of Size that one tenant may fill, above 0 and up to 1, even
	// if no other tenant needs the rest; beyond it the tenant evicts its own entries. 0: all of it.
	MaxPerTenant float64
	// Cache keeps the entries instead of the one of this package. Size, Weigh and
	// MaxPerTenant together with it are invalid.
	Cache Cache[T, K, V]

	// OnPanic is called once for each execution that panicked, or called runtime.Goexit,
	// after its calls have got their error, and for each panic of Cost or a function of Gate
	// in the background. nil: it is logged, with its stack.
	OnPanic func(Call[T, K], *PanicError)
	// OnBehind is called for each execution in the background, for RefreshAhead, Stale or
	// StaleIfError, that has failed, or was refused; its panics go to OnPanic. nil: it is
	// logged, at most once a second.
	OnBehind func(Call[T, K], error)
	// Logger gets what has no hook, and the panics of hooks, with the tenant but without the
	// key. nil: slog.Default().
	Logger *slog.Logger

	// MaxWaiters is how many calls may wait for one execution, its leader not counted;
	// further ones get ErrTooManyWaiters. 0: 1,024.
	MaxWaiters int
	// NoCoalesce lets each call that misses execute by itself.
	NoCoalesce bool
	// Detach runs executions on separate goroutines, so that a call returns when its
	// context ends even though the execution goes on.
	Detach bool
	// ExecTimeout is after what time the context of an execution ends. 0: never.
	ExecTimeout time.Duration
	// Cost is what the execution counts in fairness; 0 means 1; negative is
	// firq.ErrInvalidTask. A panic goes to the call that leads. nil: 1.
	Cost func(T, K) int64
	// ChargeByTime lets an execution count as many units as it takes milliseconds,
	// rounded up, in fairness; Cost is the estimate until it has ended.
	ChargeByTime bool
	// Clone returns a copy of a result for one call. A panic goes to that call. nil:
	// all callers share the same result, and must not change it.
	Clone func(V) V
}
