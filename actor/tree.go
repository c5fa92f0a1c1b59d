package actor

import (
	"slices"

	"github.com/firq-go/firq/internal/proof/failpoint"
)

// Who is whose child. A parent has its youngest child (extra.last), and the children are linked
// by age. System.tree guards the links, and is taken before any actor's lock: while it is held,
// no child comes or goes, so a walk of the tree sees one tree.

// adopt makes a the youngest child of up. c is the handler that starts it; nil: none does.
func (s *System) adopt(up, a *actor, c *Ctx) error {
	failpoint.At("adopt")
	s.tree.Lock()
	defer s.tree.Unlock()
	up.mu.Lock()
	defer up.mu.Unlock()
	// The handler was abandoned: its incarnation ends, and would not end this child.
	if c != nil && !c.valid() {
		return ErrStale
	}
	// Under the parent's lock: either this child is there when the parent looks at its
	// children, or it sees that the parent ends.
	if s.closed.Load() || c == nil && s.shutting.Load() || up.life >= stopping || up.life == falling {
		return ErrStopped
	}
	if k := a.set.byKey; k != nil && (s.gently.Load() || up.kind != nil && up.x.incarnation != k.born) {
		return ErrStopped // the Kind was made by an incarnation that has ended
	}
	x := up.extra()
	a.up, a.older = up, x.last
	if x.last != nil {
		x.last.younger = a
	}
	x.last = a
	return nil
}

// orphan takes a out of the children of its parent, which may go on now if it has
// waited for that.
func (s *System) orphan(a *actor) {
	failpoint.At("orphan")
	s.tree.Lock()
	up := a.up
	if up == nil || a.orphaned {
		s.tree.Unlock()
		return
	}
	// Close and the actor's own turn may both come here.
	a.orphaned = true
	if a.older != nil {
		// Out of the middle, without a search: a group may have many thousand children.
		a.older.younger = a.younger
	}
	if a.younger != nil {
		a.younger.older = a.older
	} else {
		up.mu.Lock()
		// It was the youngest.
		up.x.last = a.older
		up.mu.Unlock()
	}
	// An actor that a Ref keeps must not keep its siblings.
	a.older, a.younger = nil, nil
	s.tree.Unlock()
	// Without the tree's lock, as it may wake a worker.
	up.nudge()
}

// nudge makes a parent look at its children again.
func (a *actor) nudge() {
	s := a.sys()
	// Shutdown is what waits for the root's children.
	if a == s.root {
		select {
		case s.rootNudge <- struct{}{}:
			// Room for one: Shutdown looks at all children when it wakes up.
		default:
		}
		return
	}
	failpoint.At("nudge")
	a.mu.Lock()
	if a.kind != nil && !a.ends() {
		a.mu.Unlock()
		return // it does not wait for a child
	}
	// Pairs with step, which clears it before it looks at the children.
	a.nudged = true
	a.unlockWake(nil)
}

// youngest returns the last child, nil: there is none.
func (s *System) youngest(a *actor) *actor {
	s.tree.Lock()
	defer s.tree.Unlock()
	return a.last()
}

// last returns the youngest child. The caller holds System.tree.
func (a *actor) last() *actor {
	a.mu.Lock()
	defer a.mu.Unlock()
	if a.x == nil {
		return nil
	}
	return a.x.last
}

// children returns the children of a, oldest first.
func (s *System) children(a *actor) (list []*actor) {
	s.tree.Lock()
	defer s.tree.Unlock()
	for k := a.last(); k != nil; k = k.older {
		list = append(list, k)
	}
	slices.Reverse(list)
	return list
}

// enough is how many actors to look at, of those whose handlers an end waits for.
const enough = 1 << 14

// below adds the handlers of a and of its descendants to all, and looks at *left actors at most. The caller
// holds System.tree.
func (a *actor) below(all []*Ctx, left *int) []*Ctx {
	all = append(all, a.handlers()...)
	// A bound, as the caller holds the graph's lock: among more actors than that a deadlock may
	// be missed, and none is invented.
	for k := a.last(); k != nil && *left > 0; k = k.older {
		*left--
		all = k.below(all, left)
	}
	return all
}

// handlers returns the handlers in progress.
func (a *actor) handlers() (all []*Ctx) {
	a.mu.Lock()
	defer a.mu.Unlock()
	// The one with the turn, also between two of its messages: then its Ctx waits for nothing.
	if g := a.cur.Load(); g != nil {
		all = append(all, g)
	}
	if a.x != nil {
		all = append(all, a.x.holders...)
	}
	return all
}

// handlersBelow returns those of a and of its descendants: the end of a comes after theirs.
func (a *actor) handlersBelow() (all []*Ctx) {
	left := enough
	a.sys().tree.Lock()
	defer a.sys().tree.Unlock()
	return a.below(nil, &left)
}

// handlersBefore returns those that end before the next incarnation of a can begin: of the children of a,
// and of its ancestors, that have no incarnation either; of siblings that are taken down with one of these,
// and their children; and the starts of older siblings, as a supervisor starts those that it restarts
// together one by one. While the tree is locked no child comes or goes: so no incarnation that has children
// ends, and no supervisor starts its children.
func (a *actor) handlersBefore() (all []*Ctx) {
	left := enough
	a.sys().tree.Lock()
	defer a.sys().tree.Unlock()
	// Up the tree: an ancestor without an incarnation has to be started first.
	for p := a; p.up != nil; p = p.up {
		// This one lives, or starts: nothing has to end before it.
		if !p.is((*actor).between) {
			continue
		}
		// The children of its last incarnation end before the next one begins.
		for k := p.last(); k != nil; k = k.older {
			all = k.below(all, &left)
		}
		// So do siblings that the supervisor takes down with it.
		for q := p.up.last(); q != nil; q = q.older {
			if q != p && q.is((*actor).isAwaited) {
				all = q.below(all, &left)
			}
		}
		// And it is started after the older ones of its group.
		for q := p.older; q != nil && p.is((*actor).inLine); q = q.older {
			if q.is((*actor).inGroup) {
				all = append(all, q.handlers()...)
			}
		}
	}
	return all
}
