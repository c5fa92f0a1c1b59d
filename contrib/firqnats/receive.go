package firqnats

import (
	"context"
	"errors"
	"fmt"
	"slices"
	"strings"
	"sync"
	"sync/atomic"

	"github.com/nats-io/nats.go"

	"github.com/firq-go/firq/actor"
)

var errFull = notSent(fmt.Errorf("%w: %d messages wait for its start", actor.ErrMailboxFull, maxQueue))

// passing says how far the delivery of a message to its actor is.
type passing = uint32

const (
	passBegun   passing = iota
	passBack            // the actor has refused it, as it ends
	passThrough         // Deliver has returned
)

// incoming is a message of another node.
type incoming struct {
	request
	n       *Node
	served  *served // nil: nothing waits elsewhere for its handler
	passing atomic.Uint32

	mu     sync.Mutex
	gone   bool // its caller has left
	cancel context.CancelFunc
}

// runKey identifies a call of another node.
type runKey struct {
	addr string
	no   uint64
}

// runs are the calls of other nodes that are not answered.
type runs struct {
	mu  sync.Mutex
	all map[runKey]*incoming
}

func (r *runs) add(in *incoming) {
	r.mu.Lock()
	r.all[runKey{in.from, in.no}] = in
	r.mu.Unlock()
}

func (r *runs) remove(k runKey) *incoming {
	r.mu.Lock()
	defer r.mu.Unlock()
	in := r.all[k]
	delete(r.all, k)
	return in
}

func (r *runs) len() int {
	r.mu.Lock()
	defer r.mu.Unlock()
	return len(r.all)
}

// onRequests receives a frame of requests.
func (n *Node) onRequests(m *nats.Msg) {
	r, err := frame(m.Data)
	if err != nil {
		n.dropped(m, err)
		return
	}
	from, kind := r.string(), m.Subject[strings.LastIndexByte(m.Subject, '.')+1:]
	for r.more() {
		q := readRequest(r)
		if r.bad {
			break
		}
		q.from, q.kind = from, kind
		n.receive(q)
	}
	if r.bad {
		n.dropped(m, errShort)
	}
}

// receive takes a request; false: it is sent back.
func (n *Node) receive(q *request) bool {
	if q.op == opCancel {
		if in := n.runs.remove(runKey{q.from, q.no}); in != nil {
			in.callerLeft()
		}
		return true
	}
	in := &incoming{request: *q, n: n}
	in.received = n.arrivals.Add(1)
	if q.op == opCall {
		n.runs.add(in)
	}
	return n.dispatch(in)
}

// dispatch gives a message to its actor, which is started if needed, or sends it back: false.
func (n *Node) dispatch(in *incoming) bool {
	id := in.id()
	for {
		if !n.life.Load().holds() {
			in.moved("")
			return false
		}
		n.mu.RLock()
		a, stage, k := n.acts[id], n.stage, n.kinds[in.kind]
		n.mu.RUnlock()
		// After the look at acts: leave notes what it sends back before another activation can be there.
		if !in.comesHome() && n.refusals.follow(in) {
			hint := ""
			if a != nil {
				hint = a.node
			}
			in.moved(hint)
			return false
		}
		if a == nil {
			switch {
			case !n.holds(k):
				in.moved("")
				return false
			case stage != stageIn:
				in.moved(n.place(id))
				return false
			case in.sure: // it was let go, and is not to come back for this
				in.moved("")
				return false
			}
			var begun bool
			if a, begun = n.activate(id, k, []*incoming{in}, nil); begun {
				atActivated()
				return true
			}
			if a == nil {
				continue
			}
		}
		if a.accept(in) {
			return true
		}
	}
}

// deliver gives a message to the actor of an activation; false: the actor has ended.
func (n *Node) deliver(a *activation, in *incoming) bool {
	ctx, ok := in.context()
	if !ok {
		return true
	}
	in.passing.Store(passBegun)
	a.passed.Add(1)
	err := a.k.deliver(ctx, a, in, func(reply any, err error) {
		defer a.passed.Add(-1)
		if err == nil || !errors.Is(err, actor.ErrNotSent) || !errors.Is(err, actor.ErrStopped) {
			in.answered(reply, err)
		} else if !in.passing.CompareAndSwap(passBegun, passBack) {
			a.comesBack(in)
		}
	})
	if err != nil {
		a.passed.Add(-1)
		in.fail(err)
	}
	return in.passing.CompareAndSwap(passBegun, passThrough)
}

// context returns that of the handler; false: the caller has left.
func (in *incoming) context() (context.Context, bool) {
	ctx, n := context.Background(), in.n
	if len(in.chain) > 0 {
		if o := n.waiting(in.chain); o != nil {
			ctx = o.ctx // package actor sees then that the handler that waits here is behind this call
		}
		in.served = &served{chain: in.chain, to: in.id().String()}
		ctx = context.WithValue(ctx, servedKey{}, in.served)
	}
	if n.o.Extract != nil && len(in.headers) > 0 {
		err := guard(func() error { ctx = n.o.Extract(ctx, in.headers); return nil })
		if err != nil {
			n.o.Logger.Error("firqnats: Options.Extract", "error", err)
		}
	}
	if in.op == opTell {
		return ctx, true
	}
	in.mu.Lock()
	defer in.mu.Unlock()
	if in.gone {
		return nil, false
	}
	ctx, in.cancel = context.WithTimeout(ctx, in.left)
	return ctx, true
}

// callerLeft cancels the handler.
func (in *incoming) callerLeft() {
	in.mu.Lock()
	defer in.mu.Unlock()
	in.gone = true
	if in.cancel != nil {
		in.cancel()
	}
}

// settled is called once there is an answer; false: the caller has left.
func (in *incoming) settled() bool {
	if in.served != nil {
		in.served.over.Store(true)
	}
	if in.op == opTell {
		return true
	}
	in.mu.Lock()
	if in.cancel != nil {
		in.cancel()
	}
	in.mu.Unlock()
	return in.n.runs.remove(runKey{in.from, in.no}) != nil
}

func (in *incoming) answer(status answerStatus, data []byte) {
	if in.settled() {
		in.n.post(in.from, partAnswers, &answer{in.no, status, data}, nil)
	}
}

// comesHome reports whether a call comes back to an actor whose handler waits for it: what it would wait for may wait for it.
func (in *incoming) comesHome() bool {
	return len(in.chain) > 0 && slices.Contains(in.chain.names(), in.id().String())
}

// moved sends a message back: it was not handled here.
func (in *incoming) moved(hint string) {
	in.n.refusals.add(in)
	in.n.stat.moved.Add(1)
	in.answer(statusMoved, []byte(hint))
}

func (in *incoming) fail(err error) {
	in.answer(statusFailed, encodeError(err, in.chain, in.n.answerMost()))
}

// answerMost is how long the data of an answer may be.
func (n *Node) answerMost() int { return int(n.nc.MaxPayload()) - 64 }

// answered sends what the handler has returned; of a tell: that it was accepted, or why not.
func (in *incoming) answered(reply any, err error) {
	n := in.n
	n.stat.handled.Add(1)
	var data []byte
	if err == nil && in.op == opCall {
		err = guard(func() (err error) { data, err = n.o.Codec.Encode(reply); return err })
		if most := n.answerMost(); err == nil && len(data) > most {
			err = fmt.Errorf("%w: a reply of %d bytes, and the server's limit is %d", nats.ErrMaxPayload, len(data), most)
		}
	}
	if err != nil {
		in.fail(err)
		return
	}
	in.answer(statusDone, data)
}
