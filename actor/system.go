package actor

import (
	"fmt"
	"hash/maphash"
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
	// What does not change after New.
	cfg      Config
	slice    int64
	clk      clock.Clock
	defaults *settings
	pool     pool
	names    names
	root     *actor
	// Pools and caches of this System: in a bubble of testing/synctest nothing may come from
	// another one.
	waiters      sync.Pool // *waiter
	observations sync.Map  // observationKey: *observation
	blockers     sync.Map  // *method: handlers that were logged because they block
	shuffle      *shuffle  // of actortest

	// The order of locks: graph, tree, an actor's mu. Under an actor's mu no other lock is taken, and
	// under none of the three runs code of the user's.
	tree sync.Mutex // parents and children; locked before any actor's mu

	// Only from false to true. A goroutine that sees one of these unset and begins something has begun
	// before; Shutdown and Close look at what was begun after they have set it.
	shutting atomic.Bool // nothing from outside is accepted any more
	closed   atomic.Bool // nothing is accepted any more

	// All Ctxs that exist, so that Close can cancel every handler, and Running can show it.
	ctxs   sync.Map // *Ctx: all that exist
	ctxMu  sync.Mutex
	spare  []*Ctx // of calls from outside; ctxMu
	actors atomic.Int64

	// The books of actors that have ended (books.go), and what is counted for the whole System.
	sumMu     sync.Mutex // an actor moves from names to the sums under it
	in, out   uint64     // of actors that have ended
	dead      atomic.Uint64
	cancelled atomic.Uint64
	rejected  atomic.Uint64
	restarts  atomic.Uint64
	abandoned atomic.Uint64
	deadlocks atomic.Uint64
	handoffs  atomic.Uint64
	awake     atomic.Bool // entries do not wake the monitor
	busy      func() int  // goroutines of others that compute or could; nil: only time counts
	// Signals, each with room for one: several are one reason to look.
	monitor    chan struct{}
	stopped    chan struct{} // closed by Close
	rootNudge  chan struct{}
	gently     atomic.Bool // Shutdown ends the actors, so without an error
	mute       atomic.Bool // timers do not ring any more
	closeDone  chan struct{}
	deadLogged atomic.Int64 // when the last line about dead letters was written; 0: never
	apartNow   atomic.Int64 // hooks, and last words that Close runs, in progress
	keepMu     sync.Mutex
	timers     map[*time.Timer]struct{} // keepMu
	afterMu    sync.Mutex
	after      map[*actor][]func() // what AfterFunc was given, and was not called yet; not in the actor, as few have any; afterMu
}

// New returns a System, or an error that matches firq.ErrInvalidConfig and names the
// field. End it with Close or Shutdown.
func New(c Config) (*System, error) { return newSystem(c, nil) }

// newSystem is New; sh is the order by seed of actortest, nil: none.
func newSystem(c Config, sh *shuffle) (*System, error) {
	// Only by default: a time in Handoff is the program's decision, and an order by seed must not depend on
	// other goroutines.
	sees := c.Handoff == 0 && sh == nil
	// The copy of the user's Config, with all defaults in it.
	c, err := c.resolve()
	if err != nil {
		return nil, err
	}
	s := &System{
		cfg: c, slice: int64(c.Slice), clk: clock.New(), shuffle: sh,
		monitor: make(chan struct{}, 1), stopped: make(chan struct{}),
		rootNudge: make(chan struct{}, 1), closeDone: make(chan struct{}),
	}
	s.names.seed = maphash.MakeSeed()
	s.defaults = &settings{sys: s, box: c.Mailbox, limit: c.Mailbox.limit(), throughput: c.Throughput, weight: 1}
	// The parent of all that the System itself starts. It has no name, no mailbox, and never
	// ends.
	s.root = &actor{set: s.defaults, life: alive, x: &extra{}}
	if sees {
		// nil with a Go that does not count goroutines by what they do: then a shorter time
		// decides.
		s.see(newMeter())
	}
	// The workers begin here: all that they use is there.
	s.pool.init(s, c.Slots, false)
	// Below 0: handlers keep their slots, and no goroutine looks.
	if s.cfg.Handoff > 0 {
		go s.monitorSlots()
	} else {
		// There is no monitor to wake.
		s.awake.Store(true)
	}
	return s, nil
}
