package actor

import (
	"context"
	"sync"
	"sync/atomic"
	"time"
)

// The Ctx of a handler is a context that costs nothing as long as the handler asks for no more than who
// is calling: it makes a context of package context, with its channel, when Done or a deadline is asked
// for (context). One atomic, st, says who may use it: see the states below.
//
// A Ctx outlives its handler, since the next one gets it. So what other goroutines do with it
// is in two steps: mark it under mu, which fails if the handler is over, and then add what
// clean has to end.

// States of a Ctx.
const (
	stale     uint32 = iota // no handler has it
	live                    // a handler has it
	slow                    // live, and clean has work to do when the handler returns
	abandoned               // its handler was abandoned; it is never used again
)

// Ctx is the context.Context that a handler gets. By it a call finds the handler
// that makes it. It is valid while its handler runs; afterwards another handler may use it.
//
// A context that context.WithoutCancel derives from a Ctx may outlive the handler: calls with it count
// as calls from outside, like those with context.Background. But its Value reads from the handler that
// has the Ctx by then, so copy the values that you need and begin with context.Background. Calls with
// a context that is derived from it, by context.WithTimeout for example, fail, or count as calls of
// that later handler.
//
// A handler's goroutines may use it as a context. To wait for several calls at the same time
// use Start: a Call by any of these goroutines counts as one that the handler waits for.
type Ctx struct {
	st atomic.Uint32
	// Walks, timeouts, Running and Close read these at any time: hence atomic. Only begin and returned write
	// them; but a caller that leaves cuts caller and serving (call.cut).
	a       atomic.Pointer[actor]
	m       atomic.Pointer[method]
	start   atomic.Int64         // when the handler began, or a little before
	serving atomic.Pointer[call] // nil: a Tell, or a call on its caller's goroutine
	caller  atomic.Pointer[Ctx]  // the handler that waits for this one; see call.cut
	wait    atomic.Pointer[call] // what the handler waits for
	inner   atomic.Pointer[Ctx]  // of the call that runs on this goroutine
	walk    uint64               // the last walk that has visited this; guarded by graph

	// Only the handler's goroutine uses what follows, up to mu.
	sys    *System
	w      *worker // nil: the goroutine is not the System's
	acct   *account
	child  *Ctx // for calls on this goroutine
	once   bool // the actor was spawned with Value
	state  any  // of the incarnation
	out    outcome
	turn   chan struct{} // signals that the handler has the turn again
	alone  bool          // the handler is observed, so no other follows it directly
	hold   hold          // actor.mu, once the handler runs
	pauses int           // waits in progress, of a reentrant actor's handler; actor.mu
	timed  atomic.Bool   // it has a timeout that may abandon or cancel it
	lent   atomic.Bool   // child is in use

	lentBefore int64 // of a call on its caller's goroutine: the account of the caller

	mu     sync.Mutex
	kept   bool                    // a Tell keeps values that it has: no other handler gets this Ctx
	base   context.Context         // of the call that is served; nil: nothing
	std    context.Context         // made on first use
	cancel context.CancelCauseFunc // of std
	ends   context.CancelFunc      // of std, if it has a deadline
	due    time.Time               // when a timeout with Cancel ends std; zero: there is none
	kids   []*call                 // calls that end with the handler: its own, in no order
	limit  alarm                   // of the timeout
	slow   alarm                   // of WithSlowAfter
	began  time.Time               // when the handler began, if it has an alarm
	run    uint64                  // counts handlers with timeouts
}

// outcome collects what a handler has requested through its Ctx.
type outcome struct {
	stashed bool
	stop    bool // c.Stop
	stopErr error
	unstash bool
}

// any reports whether there is something to do.
func (o *outcome) any() bool { return o.stashed || o.stop || o.unstash }

type ctxKey struct{}

var closedChan = func() chan struct{} { c := make(chan struct{}); close(c); return c }()

// sender returns the handler that sends with ctx; nil: the message comes from outside.
func sender(ctx context.Context) (*Ctx, error) {
	// The usual caller from outside: one comparison.
	if ctx == context.Background() {
		return nil, nil
	}
	// A handler's own Ctx is found without a look-up.
	c, ok := ctx.(*Ctx)
	if !ok {
		if ctx == nil {
			return nil, errNilContext
		}
		// A ctx that is derived from one finds it by a private key. Others belong to no
		// handler.
		if c, _ = ctx.Value(ctxKey{}).(*Ctx); c == nil {
			return nil, nil
		}
		if c.st.Load() == abandoned {
			return nil, ErrStale
		}
		if ctx.Done() == nil { // by context.WithoutCancel: it outlives the handler
			return nil, nil
		}
		if err := ctx.Err(); err != nil {
			return nil, err // ctx may be derived from a Ctx that another handler has now
		}
	}
	// A typed nil, or the Ctx of a handler that has returned.
	if c == nil || !c.valid() {
		return nil, ErrStale
	}
	return c, nil
}

// ctxErr returns why ctx has ended. c is the handler that it belongs to.
func ctxErr(ctx context.Context, c *Ctx) error {
	// Without making a context for it (ended).
	if own, ok := ctx.(*Ctx); ok && own == c {
		return c.ended()
	}
	return ctx.Err()
}

// valid reports whether a handler has c now.
func (c *Ctx) valid() bool {
	st := c.st.Load()
	return st == live || st == slow
}

// served returns the context that the Ctx takes its values and its end from.
func (c *Ctx) served() context.Context {
	c.mu.Lock()
	defer c.mu.Unlock()
	return c.base
}

// ended is Err of a Ctx that is valid.
func (c *Ctx) ended() error {
	if ctx, _ := c.current(); ctx != nil {
		return ctx.Err()
	}
	return nil
}

// current returns the context that has the values and the ends of now; nil: there are none. kept: its values stay.
func (c *Ctx) current() (ctx context.Context, kept bool) {
	c.mu.Lock()
	defer c.mu.Unlock()
	// If it was asked for it exists, and has all ends: of the call, of the timeout, of Close.
	if c.std != nil {
		return c.std, c.kept
	}
	return c.base, c.kept
}

// Deadline returns the deadline of the call that is served, or that of a timeout with Cancel if
// that is earlier.
func (c *Ctx) Deadline() (at time.Time, ok bool) {
	c.mu.Lock()
	defer c.mu.Unlock()
	// Marked first: what is made now has to be cleaned when the handler returns.
	if !c.marked() {
		return at, false
	}
	return c.context().Deadline()
}

// Done returns a channel that is closed when the ctx of the call that is served ends, when its caller leaves,
// when a timeout or Close cancels the handler, and when the handler has returned.
func (c *Ctx) Done() <-chan struct{} {
	c.mu.Lock()
	defer c.mu.Unlock()
	if !c.marked() {
		// Over: a goroutine of the handler that waits for Done goes on.
		return closedChan
	}
	return c.context().Done()
}

// marked records that clean has work to do. It reports false if the Ctx is stale. The caller
// holds c.mu.
func (c *Ctx) marked() bool {
	return c.st.CompareAndSwap(live, slow) || c.st.Load() == slow
}

// context makes std. The caller holds c.mu, and has marked c.
func (c *Ctx) context() context.Context {
	if c.std == nil {
		b := c.base
		if b == nil {
			b = context.Background()
		}
		// Made on first use, since most handlers never look at their context.
		c.std, c.cancel = context.WithCancelCause(b)
		// The deadline of a timeout with Cancel; an earlier one of the caller's stays, as
		// context takes the minimum.
		if !c.due.IsZero() {
			c.std, c.ends = context.WithDeadlineCause(c.std, c.due, ErrTimeout)
		}
		// Close has gone through the Ctxs before this context was there.
		if c.sys.closed.Load() {
			c.cancel(ErrStopped)
		}
	}
	return c.std
}

// Err returns ErrStale once the handler has returned or was abandoned. Until then it returns why Done
// is closed, or nil, as of any context.
func (c *Ctx) Err() error {
	if !c.valid() {
		return ErrStale
	}
	return c.ended()
}

// Value returns the value for key in the context of the call that is served.
func (c *Ctx) Value(key any) any {
	if _, ok := key.(ctxKey); ok {
		return c
	}
	// The look-up runs code of the user's contexts, and so without mu.
	if ctx, kept := c.current(); ctx != nil && (kept || c.valid()) {
		return ctx.Value(key)
	}
	return nil
}

// Name returns the name of the actor, or "" if the Ctx is stale.
func (c *Ctx) Name() string {
	if a := c.a.Load(); a != nil && c.valid() {
		return a.name
	}
	return ""
}

// System returns the System that the actor belongs to.
func (c *Ctx) System() *System { return c.sys }

// Stop ends the actor after this handler: waiting messages become dead letters, and
// Ref.Err is why. This is not a failure: a supervisor does not start another
// incarnation. A start, Started and last words may call it too. If the handler fails after it, the failure
// counts and the Stop does not.
func (c *Ctx) Stop(why error) {
	if c.valid() && !c.out.stop {
		c.out.stop, c.out.stopErr = true, why
	}
}

// keep lets no other handler have c, so that contexts which are derived from c go on to find its
// values when its handler is over.
func (c *Ctx) keep() {
	c.mu.Lock()
	if c.marked() {
		c.kept = true
	}
	c.mu.Unlock()
}
