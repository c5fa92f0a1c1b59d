package actor

import (
	linked "container/list"
	"sync"
	"sync/atomic"

	"github.com/firq-go/firq/internal/proof/failpoint"
)

// What an actor is made of, and who has its turn. The turn is the right to run the actor's
// handlers and the steps of its life: at most one goroutine has it. It goes idle -> ready
// (wake, by whoever brings work) -> busy (a worker takes it from the run queue) -> idle or
// ready again (releaseLocked). Every change is made under mu, together with the look at what
// there is to do: so the goroutine that brings work finds the actor busy, and the one with the
// turn sees the work, or it finds the actor idle, and wakes it.

// turn says whether a worker may run an actor's messages.
type turn uint8

const (
	idle  turn = iota
	ready      // it is in a run queue
	busy       // a goroutine has the turn
)

// actor is what a Ref points to. It is small: state that only few actors need is in extra.
type actor struct {
	mu    sync.Mutex
	mail  list   // of normal priority; mu
	in    uint64 // messages accepted, except for those that left unhandled; mu
	out   uint64 // messages whose handler was started, except for those of batch; mu
	batch *batch // messages that the worker with the turn has taken, nil: none; mu

	// In the same cache line as mu and the mailbox, as each step looks at them.
	mean     int32       // ns per message, a moving average; guarded by the turn
	batching atomic.Bool // packing tells may pay; written under mu
	life     life        // where it is in life.go; mu
	turn     turn        // mu
	draining bool        // Stop was called: it accepts nothing, and ends once the mailbox is worked off, incarnations later if need be; mu
	awaited  bool        // its supervisor waits for the end of the incarnation; mu
	nudged   bool        // it has to look at its children: it supervises them, or waits for their end; mu
	orphaned bool        // it is no longer a child; System.tree

	used  int64 // finish tag: processor time by weight; guarded by the turn
	set   *settings
	kind  *kind // nil: a supervisor, or the System's root
	name  string
	x     *extra        // nil until it is needed; set under mu
	start any           // func(*Ctx) (S, error) of a supervised actor; nil: there is no other incarnation; mu
	done  chan struct{} // made for the first caller of ended; mu
	// state of the incarnation, of the type that kind says; written with the
	// turn and under mu, so either suffices to read it.
	state any
	cur   atomic.Pointer[Ctx] // the handler that has the turn, for the rule of deadlocks

	up             *actor // parent; immutable once the actor has it
	older, younger *actor // the siblings started before and after it; System.tree
}

// extra is the state that only few actors have. The actor's mu guards all fields that
// do not say otherwise.
type extra struct {
	lines           *[7]list // by priority, except for normal
	back            list     // messages taken back from the stash: they go first
	stash           list
	room            []*roomer
	exempt          uint64                 // messages that wait and do not count in the limit
	readers         int                    // read-only handlers in progress
	owed            int64                  // processor time of read-only handlers, not charged yet
	suspended       int                    // handlers that wait and have given up the turn
	holders         []*Ctx                 // all handlers that readers and suspended count
	resume          []*Ctx                 // handlers that want the turn back, first come first served
	pool            *pool                  // of a Dedicated actor; set before it is used
	err             error                  // why it ends, or has ended
	fail            error                  // why the incarnation failed
	abandoned       bool                   // an abandoned handler still has the state: no last words
	watchers        *linked.List           // of this actor: *Watching, in order
	watches         map[watchKey]*Watching // of this incarnation
	incarnation     uint64                 // counts those that have ended
	timers          map[*Timer]struct{}
	takenDownFor    error // the failure, of a sibling or the supervisor, for which it is taken down
	delay           backoff
	restartsInGroup bool // it is restarted with siblings, one by one, the oldest first
	sup             *supervisor
	last            *actor // youngest child; System.tree
}

func (a *actor) sys() *System { return a.set.sys }

// extra returns x, and makes it if needed. The caller holds a.mu.
func (a *actor) extra() *extra {
	if a.x == nil {
		a.x = new(extra)
	}
	return a.x
}

// wake makes an idle actor ready if it has something to do, and reports whether it did.
// The caller holds a.mu, and has to schedule an actor that was made ready.
func (a *actor) wake() bool {
	// Ready or busy: the goroutine that has the turn, or will have it, sees the work when it
	// gives the turn back.
	if a.turn != idle || !a.runnable() {
		return false
	}
	a.turn = ready
	return true
}

// runnable reports whether a goroutine that gets the turn has something to do. The
// caller holds a.mu.
func (a *actor) runnable() bool {
	if a.owesTurn() {
		return true // also after Close has ended the actor
	}
	if a.due() && a.atRest() {
		return true
	}
	// Messages that a suspended handler may wait for come before a step. Without one, it is due only
	// once those who read have left.
	return a.serves() && a.head() != nil && (!a.due() || a.x.suspended > 0)
}

// atRest reports whether no handler but the one with the turn is in progress. The
// caller holds a.mu.
func (a *actor) atRest() bool { return a.x == nil || a.x.readers == 0 && a.x.suspended == 0 }

// unlockWake frees a.mu, and schedules the actor if it was idle and has something to do. c is the
// handler that has caused that; nil: none has.
func (a *actor) unlockWake(c *Ctx) { a.unlockReady(a.wake(), c) }

// unlockReady frees a.mu, and puts an actor that was made ready under it into its run queue: after a.mu, as
// the queue may wake a worker, which takes a.mu first of all.
func (a *actor) unlockReady(ready bool, c *Ctx) {
	a.mu.Unlock()
	if ready {
		failpoint.At("schedule")
		a.pool().ready(a, c)
	}
}

func (a *actor) pool() *pool {
	if a.set.dedicated {
		return a.x.pool
	}
	return &a.set.sys.pool
}

// release gives up the turn: to a handler that wants it back, to the run queue, or to
// no goroutine.
func (a *actor) release() {
	a.cur.Store(nil)
	failpoint.At("release")
	a.mu.Lock()
	a.unlockReady(a.releaseLocked(), nil)
}

// releaseLocked is release for a caller that holds a.mu. It reports whether the actor is ready.
func (a *actor) releaseLocked() bool {
	a.recall()
	if a.owesTurn() {
		a.handOver()
		return false
	}
	// First idle, and then the same question that a sender asks: what came while the turn was
	// taken is found now.
	a.turn = idle
	return a.wake()
}

// dropped takes back a turn that no worker will take, because the pool is closed. A handler
// that Close does not wait for may want that turn.
func (a *actor) dropped() {
	a.mu.Lock()
	if a.turn == ready {
		a.turn = idle
		if a.owesTurn() {
			a.turn = busy
			a.handOver()
		}
	}
	a.mu.Unlock()
}

// owesTurn reports whether a handler that has waited wants the turn back, and may have it. The caller holds a.mu.
func (a *actor) owesTurn() bool { return a.x != nil && len(a.x.resume) > 0 && a.x.readers == 0 }

// handOver gives the turn to a handler that wants it back. The caller holds a.mu and
// has the turn, which stays busy.
func (a *actor) handOver() {
	x := a.x
	c := x.resume[0]
	// The slice is cut from the front, and would keep the Ctx.
	x.resume[0] = nil
	x.resume = x.resume[1:]
	a.resumed(c)
	// It has room for one, and c waits for one: this does not block under mu.
	c.turn <- struct{}{}
}
