package firqnats

import (
	"cmp"
	"fmt"
	"slices"
	"sync"
	"time"

	"github.com/firq-go/firq/actor"
)

// laneState says whether a lane may send; guarded by lane.mu.
type laneState uint8

const (
	laneFlows  laneState = iota // messages are sent as they come
	laneDrains                  // the actor has moved: nothing is sent until all that was sent is answered
	laneRests                   // the timer is set that lets it flow again
	laneOver                    // it was idle, and is forgotten
)

// lane is the way from this node to one actor elsewhere. It keeps the order of messages, also while the
// actor moves, and bounds how many are unanswered.
type lane struct {
	n  *Node
	id actor.Identity

	mu    sync.Mutex
	state laneState
	node  string // where the actor is believed to be; "": not known
	sure  bool   // an answer said so
	seq   uint64
	sent  int // underway, those that Window bounds
	tries int // how often it has drained since the last answer
	queue []*call
	back  []*call // not handled where they were sent
	used  time.Time
}

const (
	maxQueue = 65_536           // messages that wait for one actor, on either side
	laneIdle = 30 * time.Second // after which a lane without messages is forgotten
)

// send puts a message into the queue, and sends what may be sent.
func (l *lane) send(o *call) error {
	l.mu.Lock()
	defer l.mu.Unlock()
	for l.state == laneOver { // forgotten since it was looked up
		next := l.n.lane(l.id)
		l.mu.Unlock()
		l = next
		l.mu.Lock()
	}
	if len(l.queue) >= maxQueue {
		l.queue = slices.DeleteFunc(l.queue, func(o *call) bool { return o.state == callSettled })
	}
	if len(l.queue) >= maxQueue {
		return notSent(fmt.Errorf("%w: %d messages wait for %v", actor.ErrMailboxFull, maxQueue, l.id))
	}
	l.seq++
	o.seq, o.lane = l.seq, l
	l.used = o.born
	if !l.busyLocked() {
		l.n.mu.RLock()
		if a := l.n.acts[l.id]; a != nil {
			a.lane.Store(l)
		}
		l.n.mu.RUnlock()
	}
	if l.state == laneFlows && slices.Contains(o.chain.names(), l.id.String()) {
		// The call comes back to a handler that waits for it. In the queue it could wait for calls
		// that wait for this handler.
		if l.aim() {
			l.transmit(o)
			return nil
		}
	}
	l.queue = append(l.queue, o)
	l.next()
	return nil
}

// aim chooses a node if none is known; false: there is none, or no connection. The caller holds l.mu.
func (l *lane) aim() bool {
	if l.node == "" {
		l.node, l.sure = l.n.place(l.id), false
	}
	return l.node != "" && l.n.nc.IsConnected()
}

// next does what the state asks for. The caller holds l.mu.
func (l *lane) next() {
	for l.state == laneFlows && len(l.queue) > 0 && l.sent < l.n.o.Window {
		o := l.queue[0]
		if o.state != callSettled {
			if !l.aim() {
				l.state = laneDrains
				break
			}
			l.transmit(o)
		}
		l.queue[0] = nil
		l.queue = l.queue[1:]
	}
	if l.state == laneDrains && l.sent == 0 {
		l.state = laneRests
		delay := time.Duration(0)
		if l.tries++; l.node == "" || l.tries > 2 {
			delay = min(time.Duration(l.tries)*2*time.Millisecond, 50*time.Millisecond)
		}
		time.AfterFunc(delay, l.resume)
	}
}

// resume sends again what came back, before what came later.
func (l *lane) resume() {
	l.mu.Lock()
	defer l.mu.Unlock()
	if len(l.back) > 0 {
		slices.SortFunc(l.back, func(a, b *call) int { return cmp.Compare(a.seq, b.seq) })
		for _, o := range l.back {
			if o.state == callBack {
				o.state = callQueued
			}
		}
		l.queue = append(l.back, l.queue...)
		l.back = nil
	}
	l.state = laneFlows
	l.next()
}

// transmit sends a message to l.node. The caller holds l.mu.
func (l *lane) transmit(o *call) {
	n := l.n
	o.left = n.o.Timeout
	if !o.deadline.IsZero() {
		o.left = max(time.Until(o.deadline), 0)
	}
	o.state, o.at, o.sure = callUnderway, l.node, l.sure
	l.sent++
	n.register(o)
	n.stat.sent.Add(1)
	if l.node == n.ID() { // the actor has come here: what follows does not take the lane, and must not overtake
		q := o.request
		q.from = n.addr
		if !n.receive(&q) { // it comes back: until then nothing that follows may begin the actor here (see clear)
			l.node, l.sure, l.state = "", false, laneDrains
		}
		return
	}
	n.post(l.node, partRequests+"."+l.id.Kind, &o.request, o.batch.Store)
}

// moved: the message was not handled where it was sent. hint says where the actor may be.
func (l *lane) moved(o *call, hint string) {
	hint = l.n.living(hint)
	l.mu.Lock()
	defer l.mu.Unlock()
	if o.state != callUnderway {
		return
	}
	o.state, o.at = callBack, ""
	l.sent--
	l.back = append(l.back, o)
	l.node, l.sure = hint, false
	if l.state == laneFlows {
		l.state = laneDrains
	}
	l.next()
}

// settle ends a message; answered: its node has said so. false: it had ended before. at is the node that
// may have got it.
func (l *lane) settle(o *call, reply []byte, err error, answered bool) (at string, mine bool) {
	l.mu.Lock()
	if o.state == callSettled {
		l.mu.Unlock()
		return "", false
	}
	if o.state == callUnderway {
		l.sent--
	}
	if answered {
		l.tries = 0
		l.sure = l.sure || l.node == o.at
	}
	o.state, o.reply, o.err = callSettled, reply, err
	at = o.at
	l.next()
	l.mu.Unlock()
	if o.done != nil {
		close(o.done)
	}
	l.n.outgoing.exit()
	return at, true
}
