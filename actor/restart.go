package actor

import (
	"slices"
	"sync"
	"sync/atomic"
	"time"
)

// What a supervisor does when a child has failed. All of it happens in steps of the
// supervisor's own turn, so two failures at the same time are one after the other. A step goes
// as far as it can without waiting; then the end of a child, or of a backoff, nudges the
// supervisor.
//
// OneForOne restarts the child alone, after its backoff: one request to start. The other
// strategies restart a group: first its incarnations end, the youngest first (endingSet),
// then the group waits (backingOff), and then they are started, the oldest first, each after
// the one before is up (startingSet). A failure of a child in between begins a new group, with
// those of the old one that are still down.
//
// When the supervisor itself has failed, endAll ends all incarnations, and startAll starts them
// as if it had just been made.
//
// Each failure counts once, and before the child that has failed is started again: from fallen on
// the child is down, but uncounted until the supervisor takes the loss, and requestStart
// does nothing. Otherwise a group that it belongs to, or an old alarm, could start it between fallen and
// the loss, as if it had not failed.

// phase of a group.
type phase uint8

const (
	endingSet   phase = iota // its incarnations end, the youngest first
	backingOff               // it waits for the end of the backoff
	startingSet              // they start, the oldest first
	endingAll                // the supervisor's own incarnation ends, and before it those of all children
)

// group is one restart of several children, in a supervisor's turn. A failure in between replaces it by
// another group: so an alarm that comes too late rings for a group that is gone.
type group struct {
	phase phase
	set   []*actor    // oldest first; from startingSet on: those that are still to be started
	up    int         // of set: the incarnations from here on have ended
	why   error       // what their last words are told
	rang  atomic.Bool // the backoff is over; set by its alarm
}

// supervisor is the part of an actor that is a Supervisor. step runs in the actor's turn;
// mu guards what other goroutines tell the supervisor.
type supervisor struct {
	a     *actor
	v     Supervision
	child *settings // of children, before their own options

	mu sync.Mutex
	// Written by the goroutines on which children fail and end, read by step.
	losses []loss
	over   bool // it ends permanently, and starts no child any more

	// Guarded by the turn: only steps look at it.
	group  *group    // nil: none is in progress
	recent []restart // oldest first
	delay  backoff   // of groups
}

// loss: a child has failed, and is down or has ended.
type loss struct {
	child *actor
	why   error
	with  []*actor // siblings that its strategy takes, where the child has ended and is none of the children any more
}

// isDown notes that a child has no incarnation any more. why is set if it has failed.
func (p *supervisor) isDown(a *actor, why error) {
	p.mu.Lock()
	over := p.over
	p.mu.Unlock()
	// The supervisor ends for good, so this child gets no other incarnation.
	if over {
		a.terminate(p.a.sys().parentEnd())
		return
	}
	// It has failed: what follows is decided in the supervisor's turn.
	if why != nil {
		p.tell(loss{child: a, why: why})
		return
	}
	p.a.nudge()
}

// end lets the children without an incarnation end immediately. They get no other one, and
// younger children, whose end comes first, may wait for that incarnation.
func (p *supervisor) end() {
	p.mu.Lock()
	was := p.over
	p.over = true
	p.mu.Unlock()
	// The step comes again with the end of each child.
	if was {
		return
	}
	s := p.a.sys()
	// Those that have an incarnation end one after the other, by endChildren.
	for _, k := range s.children(p.a) {
		if k.is((*actor).isDown) {
			k.terminate(s.parentEnd())
		}
	}
}

// gone notes that a child has ended. fail is set if the child ended because it failed
// and its state cannot be made again.
func (p *supervisor) gone(a *actor, fail error) {
	// A child that ended as it was told, or that concerns no sibling.
	if fail == nil || p.v.Strategy.alone() {
		return
	}
	e := loss{child: a, why: fail}
	// Now, as the child leaves the list next, which says which siblings are younger.
	younger := false
	for _, k := range p.a.sys().children(p.a) {
		if k == a {
			younger = true
		} else if p.v.Strategy.takes(younger) {
			e.with = append(e.with, k)
		}
	}
	p.tell(e)
}

// tell lets the supervisor know of a loss. It may be called by any goroutine.
func (p *supervisor) tell(e loss) {
	p.mu.Lock()
	// Before the nudge: the step that it causes finds the loss.
	p.losses = append(p.losses, e)
	p.mu.Unlock()
	p.a.nudge()
}

// loss takes the oldest one.
func (p *supervisor) loss() (loss, bool) {
	p.mu.Lock()
	defer p.mu.Unlock()
	if len(p.losses) == 0 {
		return loss{}, false
	}
	e := p.losses[0]
	p.losses = p.losses[1:]
	return e, true
}

// step goes on as far as it can without waiting.
func (p *supervisor) step() {
	for {
		// Each phase either waits (return) or has led to the next one.
		switch g := p.group; {
		case g == nil || g.phase == startingSet:
			// A child that fails while siblings are being started goes down with the group before
			// others are started beside it.
			if e, ok := p.loss(); ok {
				if !p.failure(e) {
					return
				}
			} else if g == nil || !p.startNext(g) {
				return // nothing has happened: the supervisor sleeps
			}
		case g.phase == endingSet:
			if !p.endNext(g) {
				return
			}
		case !g.rang.Load():
			return
		default:
			g.phase = startingSet
		}
	}
}

// failure begins a restart; false: it would be one too many.
func (p *supervisor) failure(e loss) bool {
	k := e.child
	k.mu.Lock()
	over, counted := k.over(), !k.x.uncounted
	// From here on it may be started.
	k.x.uncounted = false
	k.mu.Unlock()
	if over && p.v.Strategy.alone() || !over && counted {
		return true // nothing to restart, or startAll was first
	}
	now := time.Now()
	n := p.restarts(e.child, now)
	// One too many: the supervisor fails, with the child's failure as the reason, and its own
	// supervisor decides.
	if n >= max(p.v.MaxRestarts, 0) {
		p.a.fail(methodGivesUp, e.why, false)
		return false
	}
	// OneForOne too has a group while the supervisor starts all of its children again
	// (startAll): a child that fails then is restarted with the rest of these.
	alone := p.v.Strategy.alone() && p.group == nil
	r := restart{at: now}
	if alone {
		r.of, r.wait = e.child, e.child.x.delay.next(p.a.sys(), &p.v, now)
	}
	// With Unlimited no one is too many, and the list would grow.
	if p.v.MaxRestarts != Unlimited {
		p.recent = append(p.recent, r)
	}
	p.logRestart(e.child, n+1)
	if alone {
		// The supervisor itself goes on: others may fail, and be restarted, in between.
		p.a.sys().later(r.wait, e.child.requestStart)
		return true
	}
	// What the siblings' last words get as the reason is this failure.
	found, g := false, &group{why: e.why}
	// Those that belong to the group for what was before: a group in progress, or the siblings
	// of a child that is gone.
	was := map[*actor]bool{}
	if p.group != nil {
		e.with = slices.Concat(p.group.set, e.with)
	}
	for _, k := range e.with {
		was[k] = true
	}
	for _, k := range p.a.sys().children(p.a) {
		// Children are listed by age: what comes after the failed child is younger.
		found = found || k == e.child
		if k == e.child || p.v.Strategy.takes(found) || was[k] {
			// For the rule of deadlocks: the start of this child comes after those of older
			// ones in the group.
			k.setInGroup(true)
			// Oldest first, as children are listed.
			g.set = append(g.set, k)
		}
	}
	// Those of an earlier group that are down stay in the set, so each is started once.
	g.up, p.group = len(g.set), g
	p.unwaitStarts()
	return true
}
