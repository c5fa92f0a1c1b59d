package actor

import (
	"reflect"
	"sync"
	"sync/atomic"
)

// What an actor is made of, and who has its turn. The turn is the right to run the actor's
// handlers and the steps of its life: at most one goroutine has it. It goes idle -> ready
// (wake, by the goroutine that brings work) -> busy (a worker takes it from the run queue) -> idle or
// ready again (releaseLocked). Every change is made under mu, together with the look at what
// there is to do: so the goroutine that brings work finds the actor busy, and the one with the
// turn sees the work, or it finds the actor idle, and wakes it.

// turn says whether a worker may run an actor's messages.
// The turn of an actor is at one goroutine at most. busy has no owner in the actor: cur is the
// handler that has it, while there is one.
type turn uint8

const (
	idle  turn = iota
	ready      // it is in a run queue
	busy       // a goroutine has the turn
)

// actor is what a Ref points to. It is small: state that only few actors need is in extra.
type actor struct {
	mu sync.Mutex
	// Nearly every actor has messages of normal priority only, so that list is here, and those
	// of other priorities in extra.
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
	followed bool        // System.after has what AfterFunc was given; mu

	used int64 // finish tag: processor time by weight; guarded by the turn
	// What the options say. One value for all actors that were made with the same ones, so it
	// costs a word.
	set   *settings
	kind  kind // nil: a supervisor, or the System's root
	name  string
	x     *extra        // nil until it is needed; set under mu
	start any           // func(*Ctx) (S, error) of a supervised actor; nil: there is no other incarnation; mu
	done  chan struct{} // made for the first caller of ended; mu
	// state of the incarnation, of the type that kind says; written with the
	// turn and under mu, so either suffices to read it.
	state any
	cur   atomic.Pointer[Ctx] // the handler that has the turn, for the rule of deadlocks

	// The tree. No field for the children: the youngest one, in extra, leads to the others.
	up             *actor // parent; immutable once the actor has it
	older, younger *actor // the siblings started before and after it; System.tree
}

// extra is the state that only few actors have. The actor's mu guards all fields that
// do not say otherwise.
type extra struct {
	lines *[7]list // by priority, except for normal
	back  list     // messages taken back from the stash: they go first
	stash list
	// Senders that wait for room, in the order in which they get it.
	room   []*roomer
	exempt uint64 // messages that wait and do not count in the limit
	// Handlers in addition to the one with the turn: those that read, and those that wait and have
	// given the turn away. A step of the life waits for all of them (atRest).
	readers   int    // read-only handlers in progress
	owed      int64  // processor time of read-only handlers, not charged yet
	suspended int    // handlers that wait and have given up the turn
	holders   []*Ctx // all handlers that readers and suspended count
	resume    []*Ctx // handlers that want the turn back, first come first served
	pool      *pool  // of a Dedicated actor; set before it is used
	// The ends. err is for good, fail of the incarnation; takenDownFor is another's failure.
	err             error                  // why it ends, or has ended
	fail            error                  // why the incarnation failed
	abandoned       bool                   // an abandoned handler still has the state: no last words
	watchers        map[*Watching]uint64   // of this actor: in the order of these numbers
	watched         uint64                 // the last of the numbers
	watches         map[watchKey]*Watching // of this incarnation
	incarnation     uint64                 // counts those that have ended
	timers          map[*Timer]struct{}
	takenDownFor    error // the failure, of a sibling or the supervisor, for which it is taken down
	delay           backoff
	restartsInGroup bool // it is restarted with siblings, one by one, the oldest first
	uncounted       bool // it has failed, and its supervisor has not counted that: it is not started before
	sup             *supervisor
	last            *actor // youngest child; System.tree
}

// sys returns the System, which the settings know: an actor has no field for it.
func (a *actor) sys() *System { return a.set.sys }

// extra returns x, and makes it if needed. The caller holds a.mu.
func (a *actor) extra() *extra {
	// Under mu, so there is one. It stays until the end.
	if a.x == nil {
		a.x = new(extra)
	}
	return a.x
}

// ended returns Done of a Ref. The channel is made for the first caller that asks, since most
// actors end without one that waits. nil is the zero Ref, which has ended.
func (a *actor) ended() <-chan struct{} {
	if a == nil {
		return closedChan
	}
	a.mu.Lock()
	defer a.mu.Unlock()
	// Under mu, as finish closes it under mu.
	if a.done == nil {
		a.done = make(chan struct{}) // finish sets closedChan if there is none by then
	}
	return a.done
}

// err is Err of a Ref: nil until Done is closed, although the reason may be known before.
func (a *actor) err() error {
	if a == nil {
		return ErrStopped
	}
	a.mu.Lock()
	defer a.mu.Unlock()
	if a.life != gone {
		return nil
	}
	return a.x.err
}

// length is Len of a Ref.
func (a *actor) length() int {
	if a == nil {
		return 0
	}
	a.mu.Lock()
	defer a.mu.Unlock()
	return int(a.waits())
}

// kind of an actor: the type of its state. Two of a type are ==.
type kind interface {
	String() string
	open(start any, c *Ctx) (any, error) // calls start, which is a func(*Ctx) (S, error)
}

// kindOf is the kind of actors with the state S.
type kindOf[S any] struct{}

func (kindOf[S]) String() string { return reflect.TypeFor[S]().String() }

// newActor has kept start without its type, for another incarnation.
func (kindOf[S]) open(start any, c *Ctx) (any, error) { return start.(func(*Ctx) (S, error))(c) }

// kindName is what metrics, traces and Info call the actor: never its own name, of which there
// may be millions.
func (a *actor) kindName() string {
	if a.kind == nil {
		return "supervisor"
	}
	return a.kind.String()
}
