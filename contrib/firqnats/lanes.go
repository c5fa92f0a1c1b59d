package firqnats

import (
	"slices"
	"sync"
	"time"

	"github.com/firq-go/firq/actor"
)

// lanes of a node.
type lanes struct {
	mu  sync.Mutex
	all map[actor.Identity]*lane
}

// lane returns the way to an actor.
func (n *Node) lane(id actor.Identity) *lane {
	n.lanes.mu.Lock()
	defer n.lanes.mu.Unlock()
	l := n.lanes.all[id]
	if l == nil {
		l = &lane{n: n, id: id, used: time.Now()}
		n.lanes.all[id] = l
	}
	return l
}

func (ls *lanes) get(id actor.Identity) *lane {
	ls.mu.Lock()
	defer ls.mu.Unlock()
	return ls.all[id]
}

func (ls *lanes) list() []*lane {
	ls.mu.Lock()
	defer ls.mu.Unlock()
	all := make([]*lane, 0, len(ls.all))
	for _, l := range ls.all {
		all = append(all, l)
	}
	return all
}

// sweep forgets lanes that are idle, gives up tells that were not sent in time, and forgets that actors
// were on nodes that are dead.
func (ls *lanes) sweep(dead map[string]bool) {
	for _, l := range ls.list() {
		l.mu.Lock()
		if dead[l.node] {
			l.node, l.sure = "", false
		}
		var late []*call
		for _, o := range l.queue {
			if o.op == opTell && time.Since(o.born) > l.n.o.Timeout {
				late = append(late, o)
			}
		}
		idle := l.state == laneFlows && !l.busyLocked() && time.Since(l.used) > laneIdle
		if idle {
			l.state = laneOver
		}
		l.mu.Unlock()
		for _, o := range late {
			l.n.settle(o, nil, ErrLost, false)
		}
		if idle {
			ls.mu.Lock()
			if ls.all[l.id] == l {
				delete(ls.all, l.id)
			}
			ls.mu.Unlock()
		}
	}
}

// moved says where the actor went that was here. What was sent here comes back.
func (ls *lanes) moved(id actor.Identity, node string) {
	l := ls.get(id)
	if l == nil {
		return
	}
	l.mu.Lock()
	defer l.mu.Unlock()
	l.node, l.sure = l.n.living(node), false
	if l.state == laneFlows && l.sent > 0 {
		l.state = laneDrains
	}
}

func (l *lane) where() string {
	l.mu.Lock()
	defer l.mu.Unlock()
	return l.node
}

// busyLocked reports whether messages wait here, or for an answer. The caller holds l.mu.
func (l *lane) busyLocked() bool { return len(l.queue) > 0 || len(l.back) > 0 || l.sent > 0 }

// clear reports whether a message that does not take the lane cannot overtake one that does: what was sent to
// this node is before it at the actor, unless it comes back. a, if not nil, then forgets the lane.
func (l *lane) clear(a *activation) bool {
	l.mu.Lock()
	defer l.mu.Unlock()
	if len(l.queue) > 0 || len(l.back) > 0 || l.sent > 0 && (l.node != l.n.ID() || l.state != laneFlows) {
		return false
	}
	if a != nil {
		a.lane.Store(nil)
	}
	return true
}

// isAt reports whether the node that may have got a message is dead.
func (l *lane) isAt(o *call, dead func(node string) bool) bool {
	l.mu.Lock()
	defer l.mu.Unlock()
	return o.state == callUnderway && dead(o.at)
}

// close ends what was not sent, as the node has left.
func (l *lane) close() {
	l.mu.Lock()
	list := slices.Concat(l.back, l.queue)
	l.mu.Unlock()
	for _, o := range list {
		l.n.settle(o, nil, errLeft, false)
	}
}
