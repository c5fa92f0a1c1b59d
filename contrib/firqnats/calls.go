package firqnats

import (
	"context"
	"errors"
	"fmt"
	"strconv"
	"strings"
	"sync/atomic"
	"time"

	"github.com/nats-io/nats.go"

	"github.com/firq-go/firq/actor"
)

// callState says where a message to another node is; guarded by lane.mu.
type callState uint8

const (
	callQueued   callState = iota // in lane.queue
	callUnderway                  // sent to call.at, and not answered
	callBack                      // in lane.back: not handled where it was sent
	callSettled                   // answered, or given up
)

// call is a message to an actor on another node: a call, or a tell.
type call struct {
	request
	lane     *lane
	ctx      context.Context
	born     time.Time
	deadline time.Time     // zero: none
	batch    atomic.Uint64 // the NATS message that it went with last
	done     chan struct{} // closed when it is settled; nil: a tell

	// Guarded by lane.mu.
	state callState
	seq   uint64 // order in the lane
	at    string // the node that may have got it; "": certainly none
	reply []byte
	err   error
}

// send puts a message into its lane. A message of ErrNotSent is an error, and no call.
func (n *Node) send(ctx context.Context, id actor.Identity, method string, data []byte, tell bool) (*call, error) {
	o := &call{ctx: ctx, born: time.Now()}
	o.request = request{op: opTell, no: n.callNo.Add(1), key: id.Key, method: method, data: data, kind: id.Kind}
	if d, ok := ctx.Deadline(); ok && !tell {
		o.deadline = d
	}
	if !tell {
		o.op, o.done = opCall, make(chan struct{})
		o.chain = n.chainOf(ctx, o.no)
	}
	if n.o.Inject != nil {
		if err := guard(func() error { o.headers = n.o.Inject(ctx, nil); return nil }); err != nil {
			n.o.Logger.Error("firqnats: Options.Inject", "error", err)
		}
	}
	if size, most := int64(o.size()+len(n.addr)), n.nc.MaxPayload(); size > most {
		return nil, notSent(fmt.Errorf("%w: a message to %v of %d bytes, and the server's limit is %d", nats.ErrMaxPayload, id, size, most))
	}
	if !n.outgoing.enter() {
		return nil, errLeft
	}
	if err := n.lane(id).send(o); err != nil {
		n.outgoing.exit()
		return nil, err
	}
	return o, nil
}

// register makes answers find o.
func (n *Node) register(o *call) {
	n.callMu.Lock()
	n.calls[o.no] = o
	n.callMu.Unlock()
}

// take returns the call with a number, which then has its answer; nil: there is none.
func (n *Node) take(no uint64) *call {
	n.callMu.Lock()
	defer n.callMu.Unlock()
	o := n.calls[no]
	delete(n.calls, no)
	return o
}

// takeAll returns the calls for which f returns true.
func (n *Node) takeAll(f func(o *call) bool) (list []*call) {
	n.callMu.Lock()
	defer n.callMu.Unlock()
	for no, o := range n.calls {
		if f(o) {
			list = append(list, o)
			delete(n.calls, no)
		}
	}
	return list
}

// wait for the answer.
func (n *Node) wait(o *call) error {
	var late <-chan time.Time
	if o.deadline.IsZero() {
		t := time.NewTimer(time.Until(o.born.Add(n.o.Timeout)))
		defer t.Stop()
		late = t.C
	}
	var why error
	select {
	case <-o.done:
		return o.err
	case <-o.ctx.Done():
		why = o.ctx.Err()
	case <-late:
		why = ErrLost
	}
	return n.giveUp(o, why)
}

// giveUp ends a call whose caller waits no longer, and returns its error.
func (n *Node) giveUp(o *call, why error) error {
	n.take(o.no)
	at, mine := o.lane.settle(o, nil, why, false)
	switch {
	case !mine:
		<-o.done
		return o.err
	case at == "" && !n.known(o.kind):
		return notSent(fmt.Errorf("%w, for the kind %q: %w", ErrUnknown, o.kind, why))
	case at == "":
		return notSent(why)
	}
	n.post(at, partRequests+"."+o.kind, &request{op: opCancel, no: o.no}, nil)
	return why
}

// deliverEncoded is a call whose request is encoded, and whose reply is not needed.
func (n *Node) deliverEncoded(ctx context.Context, id actor.Identity, method string, data []byte) error {
	o, err := n.send(ctx, id, method, data, false)
	if err != nil {
		return err
	}
	return n.wait(o)
}

// onAnswers receives a frame of answers.
func (n *Node) onAnswers(m *nats.Msg) {
	r, err := frame(m.Data)
	if err != nil {
		n.dropped(m, err)
		return
	}
	for r.more() {
		a := readAnswer(r)
		if r.bad {
			n.dropped(m, errShort)
			return
		}
		o := n.take(a.no)
		if o == nil {
			continue // its caller has left
		}
		switch a.status {
		case statusMoved:
			n.stat.retried.Add(1)
			o.lane.moved(o, string(a.data))
		case statusFailed:
			n.settle(o, nil, decodeError(a.data), true)
		default:
			n.settle(o, a.data, nil, true)
		}
	}
}

var errShort = errors.New("a frame that ends in the middle of an entry, or has one of an unknown shape")

func (n *Node) dropped(m *nats.Msg, err error) {
	n.o.Logger.Warn("firqnats: a message was dropped", "subject", m.Subject, "error", err)
}

// onNobody hears of messages that no node has got.
func (n *Node) onNobody(m *nats.Msg) {
	at := strings.LastIndexByte(m.Subject, '.')
	batch, err := strconv.ParseUint(m.Subject[at+1:], 36, 64)
	if err == nil && m.Header.Get("Status") == "503" {
		n.notGot(batch)
	}
}

// notGot sends again what went with a NATS message that no node has got.
func (n *Node) notGot(batch uint64) {
	for _, o := range n.takeAll(func(o *call) bool { return o.batch.Load() == batch }) {
		n.stat.retried.Add(1)
		o.lane.moved(o, "")
	}
}

// settle ends a call, or a tell. answered: its node has said so.
func (n *Node) settle(o *call, reply []byte, err error, answered bool) {
	_, mine := o.lane.settle(o, reply, err, answered)
	if mine && answered && o.op == opCall {
		n.recorded.call(o.kind, o.method, time.Since(o.born))
	}
	if mine && err != nil && o.op == opTell {
		n.stat.lost.Add(1)
		if f := n.o.OnLost; f != nil {
			n.background(func() {
				if p := guard(func() error { f(o.id(), o.method, err); return nil }); p != nil {
					n.o.Logger.Error("firqnats: Options.OnLost", "error", p)
				}
			})
		}
	}
}

// expire gives up tells that were not confirmed, and calls to nodes that are dead.
func (n *Node) expire() {
	n.mu.RLock()
	dead := make(map[string]bool, len(n.dead))
	for id := range n.dead {
		dead[id] = true
	}
	n.mu.RUnlock()
	for _, o := range n.takeAll(func(o *call) bool { return o.op == opTell && time.Since(o.born) > n.o.Timeout }) {
		n.settle(o, nil, ErrLost, false)
	}
	n.lanes.sweep(dead)
	n.refusals.sweep(n.o.Timeout)
	n.lose(func(node string) bool { return dead[node] })
}

// lose ends what was sent to nodes that are dead: whether it was handled is not known.
func (n *Node) lose(dead func(node string) bool) {
	n.callMu.Lock()
	list := make([]*call, 0, len(n.calls))
	for _, o := range n.calls {
		list = append(list, o)
	}
	n.callMu.Unlock()
	for _, o := range list {
		if o.lane.isAt(o, dead) && n.take(o.no) != nil {
			n.settle(o, nil, ErrLost, false)
		}
	}
}
