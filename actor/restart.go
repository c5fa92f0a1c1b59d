package actor

import (
	"slices"
	"sync"
	"time"
)

// What a supervisor does when a child has failed. All of it happens in steps of the
// supervisor's own turn, so two failures at the same time are one after the other. A step goes
// as far as it can without waiting; then the end of a child, or of a backoff, nudges the
// supervisor.
//
// OneForOne restarts the child alone, after its backoff: one request to start. The other
// strategies restart a group (set): first its incarnations end, the youngest first (endingSet),
// then the group waits (backingOff), and then they are started, the oldest first, each after
// the one before is up (startingSet). A failure of a child in between begins a new group, with
// those of the old one that are still down.
//
// When the supervisor itself has failed, endAll ends all incarnations, and startAll starts them
// as if it had just been made.

// phase of a supervisor.
type phase uint8

const (
	calm        phase = iota
	endingSet         // it takes children down, the youngest first
	backingOff        // it waits for the end of the backoff
	startingSet       // it starts them, the oldest first
)

// supervisor is the part of an actor that is a Supervisor. step runs in the actor's turn;
// mu guards what other goroutines tell the supervisor.
type supervisor struct {
	a     *actor
	v     Supervision
	child *settings // of children, before their own options

	mu     sync.Mutex
	losses []loss
	rang   uint64 // the last round whose backoff is over
	over   bool   // it ends permanently, and starts no child any more

	// Guarded by the turn.
	phase  phase
	recent []restart // oldest first
	set    []*actor  // children that are being restarted, oldest first
	up     int       // of set, or of ending: the incarnations from here on have ended
	// ending holds the children, oldest first, while the supervisor's own incarnation ends.
	ending []*actor
	why    error
	delay  backoff
	round  uint64
}

// loss: a child has failed, and is down or has ended.
type loss struct {
	child   *actor
	why     error
	younger []*actor // siblings, where the child has ended and is none of the children any more
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
	if fail == nil || p.v.Strategy == OneForOne {
		return
	}
	e := loss{child: a, why: fail}
	// Now, as the child leaves the list next; RestForOne has to know who came after it.
	for _, k := range slices.Backward(p.a.sys().children(p.a)) {
		if k == a {
			break
		}
		e.younger = append(e.younger, k)
	}
	p.tell(e)
}

func (p *supervisor) tell(e loss) {
	p.mu.Lock()
	// Before the nudge: the step that it causes finds the loss.
	p.losses = append(p.losses, e)
	p.mu.Unlock()
	p.a.nudge()
}

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
		switch p.phase {
		case calm:
			e, ok := p.loss()
			if !ok {
				return
			}
			if !p.failure(e) {
				return
			}
		case endingSet:
			if !p.endNext() {
				return
			}
		case backingOff:
			p.mu.Lock()
			// A later failure has begun a new round, whose own alarm counts.
			over := p.rang == p.round
			p.mu.Unlock()
			if !over {
				return
			}
			p.phase = startingSet
		case startingSet:
			// A child has failed while siblings are being started. It goes down with the group
			// before others are started beside it.
			if e, ok := p.loss(); ok {
				p.phase = calm
				if !p.failure(e) {
					return
				}
				if p.phase == calm {
					p.phase = startingSet // nothing has come of it, and others are still to be started
				}
				continue
			}
			if !p.startNext() {
				return
			}
		}
	}
}

// failure begins a restart; false: it would be one too many.
func (p *supervisor) failure(e loss) bool {
	if over := e.child.is((*actor).over); !over && !e.child.is((*actor).isDown) || over && p.v.Strategy == OneForOne {
		return true // it is up again, restarted with others
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
	alone := p.v.Strategy == OneForOne && len(p.set) == 0
	r := restart{at: now}
	if alone {
		r.of, r.wait = e.child, e.child.x.delay.next(p.a.sys(), &p.v, now)
	}
	// With Unlimited nobody counts, and the list would grow.
	if p.v.MaxRestarts != Unlimited {
		p.recent = append(p.recent, r)
	}
	// What the siblings' last words get as the reason.
	p.why = e.why
	p.logRestart(e.child, n+1)
	if alone {
		p.a.sys().later(r.wait, e.child.requestStart)
		return true
	}
	found := false
	var set []*actor
	was := map[*actor]bool{}
	for _, k := range slices.Concat(p.set, e.younger) {
		was[k] = true
	}
	for _, k := range p.a.sys().children(p.a) {
		// From the failed child on, by age: RestForOne.
		found = found || k == e.child
		if k == e.child || p.v.Strategy == OneForAll || p.v.Strategy == RestForOne && found || was[k] {
			// For the rule of deadlocks: the start of this child comes after those of older
			// ones in the group.
			k.setInGroup(true)
			set = append(set, k)
		}
	}
	// Those of an earlier group that are down stay in the set, so each is started once.
	p.set, p.up, p.phase = set, len(set), endingSet
	p.unwaitStarts()
	return true
}

// endNext ends the youngest incarnation of the set that is up; true: all are down.
func (p *supervisor) endNext() bool {
	if !endYoungest(p.set, &p.up, p.why) {
		return false
	}
	p.phase = backingOff
	p.unwaitStarts() // of those that were down before
	p.round++
	round := p.round
	wait := p.delay.next(p.a.sys(), &p.v, time.Now())
	// The wait belongs to the restart that has begun it: restarts does not count this time as
	// up.
	if n := len(p.recent); n > 0 {
		p.recent[n-1].wait = wait
	}
	p.a.sys().later(wait, func() {
		p.mu.Lock()
		// An alarm of an earlier round, whose group has grown since, does not end this one.
		p.rang = max(p.rang, round)
		p.mu.Unlock()
		p.a.nudge()
	})
	return true
}

// startNext starts the oldest of the set that is down; true: none is.
func (p *supervisor) startNext() bool {
	for len(p.set) > 0 {
		k := p.set[0]
		k.mu.Lock()
		life := k.life
		k.mu.Unlock()
		switch life {
		// The next one of the group. Its start nudges this supervisor when it is up, or has
		// failed.
		case down, rising:
			k.requestStart()
			return false
		case restarting, failed, falling:
			k.endIncarnation(p.why) // for its handlers, which must not wait for those that come up after it
			return false            // it comes down again, and says so
		}
		// It is up, or it has ended for good.
		k.setInGroup(false)
		p.set = p.set[1:]
	}
	p.set, p.phase = nil, calm
	return true
}

// endAll ends the incarnations of all children because that of the supervisor ends; false: one of
// them is still up.
func (p *supervisor) endAll(why error) bool {
	// The first step of this end; later ones go on where it was.
	if p.ending == nil {
		p.ending = p.a.sys().children(p.a) // no child is added before startAll
		p.up = len(p.ending)
	}
	if !endYoungest(p.ending, &p.up, why) {
		return false
	}
	p.ending = nil
	return true
}

// endYoungest ends the youngest incarnation of the list that is up; true: all are down. It goes on
// from up, as those behind it have ended. But the end of a backoff may have started one of them again,
// so the last look is at all.
func endYoungest(list []*actor, up *int, why error) bool {
	for last := *up == 0; ; last = true {
		for ; *up > 0; *up-- {
			k := list[*up-1]
			if !k.is((*actor).isDown) && !k.is((*actor).over) {
				// Its end nudges the supervisor, whose next step goes on below it.
				k.endIncarnation(why)
				return false
			}
		}
		if last {
			return true
		}
		*up = len(list)
	}
}

// startAll starts all children, as if the supervisor had just been made.
func (p *supervisor) startAll() {
	p.mu.Lock()
	// Failures of incarnations that ended with the supervisor's own.
	p.losses = nil
	p.round++
	p.mu.Unlock()
	// As if just made: what its children did before its own failure does not count.
	p.recent, p.delay, p.why = nil, backoff{}, nil
	// All, the oldest first; and with a new backoff for each.
	p.set = p.a.sys().children(p.a)
	for _, k := range p.set {
		k.mu.Lock()
		k.extra().delay, k.x.restartsInGroup = backoff{}, true
		k.mu.Unlock()
	}
	p.phase = startingSet
	p.unwaitStarts()
	p.a.nudge()
}
