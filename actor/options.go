package actor

import (
	"math"
	"time"

	"github.com/firq-go/firq"
)

// What can be chosen per actor and per method. An Option checks its argument and says what it
// is called; settle applies them to a copy, so settings never change once an actor has them,
// and are read without a lock.

// Option of an actor: see Spawn and Supervise.
type Option func(*settings) error

// settings of an actor: immutable once the actor is made, and shared by all that were
// made without an option.
type settings struct {
	sys *System
	// The mailbox: its policy, and its limit as a number.
	box   Mailbox
	limit uint64
	// How much of the processor it gets: messages in a turn, and the divisor of the time that
	// is charged.
	throughput int
	weight     int64
	reent      Reentrancy
	// What happens if a handler takes long.
	timeout   time.Duration
	mode      TimeoutMode
	slowAfter time.Duration
	onSlow    func(SlowHandler)
	dedicated bool
	idle      *idlers // of WithIdle; nil: an idle actor stays
	// Set by NewKind, and by no option.
	byKey *byKey // the actors of its Kind; nil: the actor is of none
}

// option sets something in the settings if its argument is ok; if not, the text says why.
func option(ok bool, set func(*settings), text string, args ...any) Option {
	return func(o *settings) error {
		if !ok {
			return invalid(text, args...)
		}
		set(o)
		return nil
	}
}

// WithThroughput is the maximum number of messages in a turn of the actor: at least 1.
func WithThroughput(n int) Option {
	return option(n >= 1 && n <= math.MaxInt32, func(o *settings) { o.throughput = n },
		"WithThroughput: %d, must be 1 to %d", n, math.MaxInt32)
}

// WithWeight is the weight of the actor, 1 to 1,048,576: it gets this many times the
// processor time of an actor without the option while both have work.
func WithWeight(w int) Option {
	return option(w >= 1 && w <= maxWeight, func(o *settings) { o.weight = int64(w) },
		"WithWeight: %d, must be 1 to %d", w, maxWeight)
}

// WithReentrancy says which messages the actor handles while a handler waits.
func WithReentrancy(r Reentrancy) Option {
	return option(r <= Full, func(o *settings) { o.reent = r }, "WithReentrancy: unknown reentrancy %d", r)
}

// WithMailbox replaces Config.Mailbox.
func WithMailbox(m Mailbox) Option {
	return func(o *settings) error {
		if err := m.check(); err != nil {
			return err
		}
		o.box, o.limit = m, m.limit()
		return nil
	}
}

// WithHandlerTimeout is how long a handler may run, its waits included, until mode
// applies. A method's WithTimeout takes precedence. 0: none.
func WithHandlerTimeout(d time.Duration, mode TimeoutMode) Option {
	if mode > Stop {
		return option(false, nil, "WithHandlerTimeout: unknown mode %d", mode)
	}
	return option(d >= 0, func(o *settings) { o.timeout, o.mode = d, mode },
		"WithHandlerTimeout: %v, must not be negative", d)
}

// WithSlowAfter calls hook once for each handler that has run for d, on a separate goroutine, while the handler runs. Panics of hook are logged.
func WithSlowAfter(d time.Duration, hook func(SlowHandler)) Option {
	return option(d > 0 && hook != nil, func(o *settings) { o.slowAfter, o.onSlow = d, hook },
		"WithSlowAfter: %v, must be positive, and the hook not nil", d)
}

// Dedicated gives the actor its own goroutine, operating system thread and slot: for
// code that has to stay on one thread, or computes all the time. Calls to the actor
// never run on a caller's goroutine.
func Dedicated() Option {
	return func(o *settings) error { o.dedicated = true; return nil }
}

// MethodOption of NewMethod and NewAction.
type MethodOption func(*method)

// ReadOnly says that the method only reads the state: such handlers of an actor may run
// at the same time. Each message still waits for its turn in the mailbox.
func ReadOnly() MethodOption { return func(m *method) { m.readOnly = true } }

// Inline lets a call run on its caller's goroutine even if the call's ctx may end: for
// handlers that are short or honour their Ctx.
func Inline() MethodOption { return func(m *method) { m.inline = true } }

// WithTimeout is how long a handler of the method may run, its waits included, until
// mode applies. It takes precedence over the actor's timeout. NewMethod panics if d is
// negative or mode unknown. 0: the actor's.
func WithTimeout(d time.Duration, mode TimeoutMode) MethodOption {
	return func(m *method) { m.timeout, m.mode = d, mode }
}

// WithPriority of the method's messages in the mailbox; 0: normal.
func WithPriority(p firq.Priority) MethodOption { return func(m *method) { m.prio = p } }

// settle returns base as opts change it, after checking them.
func (s *System) settle(base *settings, opts []Option) (*settings, error) {
	// Shared with all others that have no options: it costs no memory per actor.
	if len(opts) == 0 {
		return base, nil
	}
	o := *base
	for _, opt := range opts {
		if opt == nil {
			return nil, invalid("an Option is nil")
		}
		// The first error ends it: nothing has been made yet.
		if err := opt(&o); err != nil {
			return nil, err
		}
	}
	return &o, nil
}
