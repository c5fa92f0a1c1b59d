package firqnats

import (
	"cmp"
	"context"
	"crypto/rand"
	"slices"
	"sync"
	"sync/atomic"
	"time"

	"github.com/firq-go/firq/actor"
)

// actState of an activation. It only grows.
type actState uint32

const (
	actStarting actState = iota // takes the record, and starts the actor; messages wait
	actActive                   // messages go to the actor
	actClosing                  // the actor ends, and the record is given back; messages wait
	actGone
)

func (s actState) String() string {
	return [...]string{"activating", "active", "closing", "gone"}[s]
}

// activation of an actor on this node.
type activation struct {
	n     *Node
	k     kindOf
	id    actor.Identity
	node  string // the life of the node that it belongs to
	tag   string // unique
	since time.Time
	over  chan struct{} // closed when it is actGone

	mu      sync.Mutex
	state   atomic.Uint32 // an actState; changes under mu
	ready   chan struct{} // closed when it is no longer actStarting; nil once the actor has started, for the memory
	pending []*incoming   // by arrival
	waiters []chain       // as actStarting: of the calls that wait for the start
	err     error         // why the start failed; as actGone
	away    bool          // the actor goes, or is, elsewhere: a sender that waits for it sends

	// Set before it is actActive.
	ref  any // the actor.Ref of its state
	body body
	kill func(why error) // ends the actor after the handlers in progress; why is its Err

	lane    atomic.Pointer[lane] // where messages of this node may still wait that were sent before it was here
	loading atomic.Bool          // start runs
	passed  atomic.Int64         // messages that the actor has, and that are not answered
	own     ownership
}

// testHookActivated is called by a sender that has begun an activation; nil but in tests, which hold the sender there.
var testHookActivated atomic.Pointer[func()]

func atActivated() {
	if f := testHookActivated.Load(); f != nil {
		(*f)()
	}
}

// activate returns the activation of an actor, after it was begun if needed; nil: not on this node now. begun: it was,
// and has pending and who.
func (n *Node) activate(id actor.Identity, k kindOf, pending []*incoming, who chain) (a *activation, begun bool) {
	n.mu.Lock()
	defer n.mu.Unlock()
	if a := n.acts[id]; a != nil {
		return a, false
	}
	a = n.beginLocked(id, k, pending, who)
	return a, a != nil
}

// beginLocked begins an activation; pending are messages that wait for it, who is the chain of a handler here that
// does. It has them before begin runs: were they noted later, the calls of start could go without the chains of those
// who wait for it, and one that comes back would wait for itself. nil: the node leaves, or rests. The caller holds n.mu.
func (n *Node) beginLocked(id actor.Identity, k kindOf, pending []*incoming, who chain) *activation {
	l := n.life.Load()
	if n.stage != stageIn || !l.holds() { // nothing would end one of a life that is over
		return nil
	}
	node := l.id
	a := &activation{n: n, k: k, id: id, node: node, tag: node + "/" + rand.Text(), since: time.Now(), pending: pending,
		ready: make(chan struct{}), over: make(chan struct{})}
	for _, in := range pending {
		if in.chain != nil {
			a.waiters = append(a.waiters, in.chain)
		}
	}
	if who != nil {
		a.waiters = append(a.waiters, who)
	}
	if way := n.lanes.get(id); way != nil {
		a.lane.Store(way)
	}
	if !n.background(a.begin) {
		return nil
	}
	n.acts[id] = a
	return a
}

// afterEnd ends the activation after its actor has ended, unless it was abandoned.
func (a *activation) afterEnd() {
	if actState(a.state.Load()) != actGone {
		a.close(false)
		a.finish()
	}
}

// isElsewhere reports whether the activation has ended, and the next one is not for this node to make.
func (a *activation) isElsewhere() bool {
	a.mu.Lock()
	defer a.mu.Unlock()
	return actState(a.state.Load()) == actGone && a.away
}

// idle reports whether it has nothing to do.
func (a *activation) idle() bool {
	return actState(a.state.Load()) == actActive && a.body.Len() == 0
}

// close lets messages wait from now on; away: for an activation elsewhere. false: it is not active.
func (a *activation) close(away bool) bool {
	a.mu.Lock()
	defer a.mu.Unlock()
	if actState(a.state.Load()) != actActive {
		return false
	}
	a.state.Store(uint32(actClosing))
	a.away = away
	return true
}

// handOver ends the actor after the messages that it has. What is not handled when ctx ends is lost.
func (a *activation) handOver(ctx context.Context) {
	_ = a.awaitReady(ctx)
	if a.close(true) && a.body.Stop(ctx) != nil {
		a.body.Kill()
	}
	select {
	case <-a.over:
	case <-ctx.Done():
		a.abandon(actor.ErrStopped)
	}
}

// finish gives the record back.
func (a *activation) finish() {
	for ctx := a.n.ctx; a.passed.Load() > 0 && nap(ctx, time.Millisecond) == nil; { // some may come back
	}
	a.giveBack()
	a.mu.Lock()
	away := a.away
	a.mu.Unlock()
	hint := ""
	if away || a.n.at() != stageIn {
		away = true
		hint = a.n.place(a.id)
	}
	a.leave(hint, nil, away)
}

// stop ends the actor with an error.
func (a *activation) stop(why error) {
	a.mu.Lock()
	started := a.body != nil
	a.mu.Unlock()
	if started {
		a.kill(why)
	}
}

// abandon ends an activation without waiting for its actor, or for the record.
func (a *activation) abandon(why error) {
	a.stop(why)
	a.leave("", nil, true)
}

// leave ends the activation. The messages that wait fail with err; or they go where the actor is, hint says
// where that may be; or they begin another activation, in which no later message overtakes them.
func (a *activation) leave(hint string, err error, away bool) {
	n := a.n
	told := away
	if away {
		// Before it is gone: a sender that finds it gone must not take what it sent here for what is handled
		// here, and begin the actor again.
		n.lanes.moved(a.id, hint)
	}
	n.mu.Lock()
	a.mu.Lock()
	was := actState(a.state.Load())
	if was == actGone {
		a.mu.Unlock()
		n.mu.Unlock()
		return
	}
	a.state.Store(uint32(actGone))
	list := a.pending
	a.pending, a.waiters, a.err = nil, nil, err
	if n.acts[a.id] == a {
		delete(n.acts, a.id)
		if err == nil && !away && len(list) > 0 {
			if away = n.beginLocked(a.id, a.k, list, nil) == nil; !away {
				list = nil
			}
		}
	}
	if away && err == nil {
		for _, in := range list { // before the locks are free: what these senders have sent since must not be handled before it
			n.refusals.add(in)
		}
	}
	a.away = away
	if was == actStarting {
		close(a.ready)
	} else {
		n.stat.passivated.Add(1)
	}
	close(a.over)
	a.mu.Unlock()
	n.mu.Unlock()
	if away && !told {
		n.lanes.moved(a.id, hint)
	}
	for _, in := range list {
		if err != nil {
			in.fail(err)
		} else {
			in.moved(hint)
		}
	}
}

// accept takes a message; false: the activation is gone.
func (a *activation) accept(in *incoming) bool {
	a.mu.Lock()
	defer a.mu.Unlock()
	switch actState(a.state.Load()) {
	case actGone:
		return false
	case actStarting:
		// If start does not run, the one that waits is an earlier activation, or one elsewhere, which take finds.
		if c := cycleTo(in.chain.names(), a.id); c != nil && a.loading.Load() {
			in.fail(notSent(&actor.DeadlockError{Cycle: c})) // a start that waits for itself
			return true
		}
		if in.chain != nil {
			a.waiters = append(a.waiters, in.chain)
		}
	case actActive:
		if a.pass(in) {
			return true
		}
	}
	a.wait(in)
	return true
}

// pass gives a message to the actor; false: it has ended, and the message waits. The caller holds a.mu.
func (a *activation) pass(in *incoming) bool {
	if a.n.deliver(a, in) {
		return true
	}
	a.state.CompareAndSwap(uint32(actActive), uint32(actClosing)) // afterEnd comes soon
	return false
}

// wait lets a message wait for the start, or for the next activation. The caller holds a.mu.
func (a *activation) wait(in *incoming) {
	if len(a.pending) >= maxQueue {
		in.fail(errFull)
		return
	}
	at, _ := slices.BinarySearchFunc(a.pending, in, func(x, y *incoming) int { return cmp.Compare(x.received, y.received) })
	a.pending = slices.Insert(a.pending, at, in)
}

// comesBack takes a message that the actor has refused because it ends, after it was accepted.
func (a *activation) comesBack(in *incoming) {
	a.mu.Lock()
	if actState(a.state.Load()) == actGone {
		a.mu.Unlock()
		in.sure = false
		a.n.dispatch(in)
		return
	}
	a.state.CompareAndSwap(uint32(actActive), uint32(actClosing))
	a.wait(in)
	a.mu.Unlock()
}
