package actor

import (
	"errors"
	"fmt"
	"hash/maphash"
	"log/slog"
	"sync"
	"sync/atomic"
	"time"

	"github.com/firq-go/firq"
	"github.com/firq-go/firq/internal/core/clock"
)

var errNilContext = fmt.Errorf("%w: actor: the context is nil", firq.ErrInvalidArgument)

// System is a set of actors and the slots that they share. Its methods are safe for
// concurrent use.
type System struct {
	cfg          Config
	slice        int64
	clk          clock.Clock
	defaults     *settings
	pool         pool
	names        names
	root         *actor
	waiters      sync.Pool // *waiter
	observations sync.Map  // observationKey: *observation
	blockers     sync.Map  // *method: handlers that were logged because they block
	shuffle      *shuffle  // of actortest

	tree sync.Mutex // parents and children; locked before any actor's mu

	shutting atomic.Bool // nothing from outside is accepted any more
	closed   atomic.Bool // nothing is accepted any more

	ctxMu  sync.Mutex
	ctxs   map[*Ctx]struct{} // all that exist
	spare  []*Ctx            // of calls from outside
	actors atomic.Int64

	sumMu      sync.Mutex // an actor moves from names to the sums under it
	in, out    uint64     // of actors that have ended
	dead       atomic.Uint64
	cancelled  atomic.Uint64
	rejected   atomic.Uint64
	restarts   atomic.Uint64
	abandoned  atomic.Uint64
	deadlocks  atomic.Uint64
	handoffs   atomic.Uint64
	awake      atomic.Bool // entries do not wake the monitor
	busy       func() int  // goroutines of others that compute or could; nil: only time counts
	monitor    chan struct{}
	stopped    chan struct{} // closed by Close
	rootNudge  chan struct{}
	gently     atomic.Bool // Shutdown ends the actors, so without an error
	mute       atomic.Bool // timers do not ring any more
	closeDone  chan struct{}
	deadLogged atomic.Int64 // when the last line about dead letters was written; 0: never
	apartNow   atomic.Int64 // hooks, and last words that Close runs, in progress
	keepMu     sync.Mutex
	dedicated  map[*actor]struct{}      // keepMu
	timers     map[*time.Timer]struct{} // keepMu
}

// Stats of a System. At rest Accepted is Handled + DeadLetters + Cancelled, and Waiting
// is 0.
type Stats struct {
	Actors      int    // alive; supervisors do not count
	Waiting     int    // messages in mailboxes, stashed ones included
	Accepted    uint64 // messages, inline calls too
	Handled     uint64 // a handler was started
	DeadLetters uint64 // no handler will get them
	Cancelled   uint64 // the caller left before a handler was started
	Refused     uint64 // not accepted
	Restarts    uint64 // incarnations that supervisors have started
	Abandoned   uint64 // handlers that ran for their timeout with Stop
	Deadlocks   uint64 // ErrDeadlock
	Handoffs    uint64 // slots that were taken from handlers that blocked, or computed for too long
}

// New returns a System, or an error that matches firq.ErrInvalidConfig and names the
// field. End it with Close or Shutdown.
func New(c Config) (*System, error) { return newSystem(c, nil) }

func newSystem(c Config, sh *shuffle) (*System, error) {
	sees := c.Handoff == 0 && sh == nil
	c, err := c.resolve()
	if err != nil {
		return nil, err
	}
	s := &System{
		cfg: c, slice: int64(c.Slice), clk: clock.New(), shuffle: sh,
		ctxs: map[*Ctx]struct{}{}, monitor: make(chan struct{}, 1), stopped: make(chan struct{}),
		rootNudge: make(chan struct{}, 1), dedicated: map[*actor]struct{}{}, closeDone: make(chan struct{}),
	}
	s.names.seed = maphash.MakeSeed()
	s.defaults = &settings{sys: s, box: c.Mailbox, limit: c.Mailbox.limit(), throughput: c.Throughput, weight: 1}
	s.root = &actor{set: s.defaults, life: alive, x: &extra{}}
	if sees {
		s.see(newMeter())
	}
	s.pool.init(s, c.Slots, false)
	if s.cfg.Handoff > 0 {
		go s.monitorSlots()
	} else {
		s.awake.Store(true)
	}
	return s, nil
}

func (s *System) now() int64 { return s.clk.Now() }

// queueFor makes the run queue for the given number of slots. It is a variable so that benchmarks can measure other queues.
var queueFor = func(slots int) queue { return newShards(slots) }

func (s *System) newQueue(slots int) queue {
	if s.shuffle != nil {
		return s.shuffle.queue()
	}
	return queueFor(slots)
}

// Stats returns a snapshot. It takes time in proportion to the number of actors.
func (s *System) Stats() Stats {
	st := Stats{
		DeadLetters: s.dead.Load(), Cancelled: s.cancelled.Load(), Refused: s.rejected.Load(),
		Restarts: s.restarts.Load(), Abandoned: s.abandoned.Load(), Deadlocks: s.deadlocks.Load(),
		Handoffs: s.handoffs.Load(), Actors: int(s.actors.Load()),
	}
	s.sumMu.Lock()
	in, out := s.in, s.out
	for a := range s.names.all() {
		a.mu.Lock()
		in, out = in+a.in, out+a.handled()
		a.mu.Unlock()
	}
	s.sumMu.Unlock()
	st.Handled, st.Waiting = out, int(in-out)
	st.Accepted = in + st.DeadLetters + st.Cancelled
	return st
}

// retire adds what an actor has counted to the sums and frees its name.
func (s *System) retire(a *actor) {
	s.sumMu.Lock()
	a.mu.Lock()
	s.in, s.out = s.in+a.in, s.out+a.out
	a.in, a.out = 0, 0
	a.mu.Unlock()
	s.names.remove(a.name, a)
	s.sumMu.Unlock()
	if a.kind != nil {
		s.actors.Add(-1)
	}
}

// refused counts a message that was not accepted.
func (a *actor) refused(err error) error {
	if errors.Is(err, ErrStale) {
		return err
	}
	s := a.sys()
	s.rejected.Add(1)
	if m := s.cfg.Metrics; m != nil {
		s.hookHere("Metrics.Refused", func() { m.Refused(a.kindName(), err) })
	}
	return err
}

func (a *actor) kindName() string {
	if a.kind == nil {
		return "supervisor"
	}
	return a.kind.name
}

// hook runs a function of the user's on a separate goroutine. A panic in it is logged, and
// Goexit in it does not cut short the monitor, Close or the end of an actor.
func (s *System) hook(name string, f func()) {
	s.apart(func() { s.hookHere(name, f) })
}

// hookHere is hook for functions that are called for each message or turn, where a goroutine would
// cost too much. Goexit in f ends the caller's goroutine, which then gives back what it holds.
func (s *System) hookHere(name string, f func()) {
	defer func() {
		if v := recover(); v != nil {
			s.log(slog.LevelError, "actor: a hook panicked", "hook", name, "panic", v)
		}
	}()
	f()
}

// apart runs f on a separate goroutine, and returns when that has ended, even by Goexit.
func (s *System) apart(f func()) {
	s.apartNow.Add(1)
	defer s.apartNow.Add(-1)
	done := make(chan struct{})
	go func() {
		defer close(done)
		f()
	}()
	<-done
}

// newCtx returns a Ctx with its own account.
func (s *System) newCtx() *Ctx {
	c := &Ctx{sys: s, acct: new(account)}
	s.ctxMu.Lock()
	s.ctxs[c] = struct{}{}
	s.ctxMu.Unlock()
	return c
}

// dropCtx forgets a Ctx, and those of calls on its goroutine.
func (s *System) dropCtx(c *Ctx) {
	s.ctxMu.Lock()
	for ; c != nil; c = c.child {
		delete(s.ctxs, c)
	}
	s.ctxMu.Unlock()
}

// childCtx returns a Ctx for a call on the goroutine of c, or from outside.
func (s *System) childCtx(c *Ctx) *Ctx {
	if c != nil && c.lent.CompareAndSwap(false, true) {
		if c.child == nil {
			c.child = s.newCtx()
			c.child.w, c.child.acct = c.w, c.acct
		}
		return c.child
	}
	s.ctxMu.Lock()
	if n := len(s.spare); n > 0 {
		cc := s.spare[n-1]
		s.spare = s.spare[:n-1]
		s.ctxMu.Unlock()
		return cc
	}
	s.ctxMu.Unlock()
	return s.newCtx()
}

// doneCtx gives back a Ctx that childCtx returned.
func (s *System) doneCtx(c, cc *Ctx) {
	if c != nil && c.child == cc {
		if cc.kept {
			c.child = nil
			s.dropCtx(cc)
		}
		c.lent.Store(false)
		return
	}
	s.ctxMu.Lock()
	if len(s.spare) < spares && !cc.kept {
		s.spare = append(s.spare, cc)
	} else {
		delete(s.ctxs, cc)
	}
	s.ctxMu.Unlock()
}
