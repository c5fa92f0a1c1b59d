package firqnats

import (
	"context"
	"encoding/json"
	"fmt"
	"time"

	"github.com/nats-io/nats.go"
)

// drained is what a node answers that was asked to drain: when it begins, and when it is done.
type drained struct {
	Activations int `json:",omitempty"` // to hand over
	Done        bool
}

// onDrain is asked to drain the node whose ID is the message.
func (n *Node) onDrain(m *nats.Msg) {
	if l := n.life.Load(); l == nil || string(m.Data) != l.id {
		return
	}
	say := func(d drained) {
		if b, err := json.Marshal(d); err == nil {
			_ = n.nc.Publish(m.Reply, b)
		}
	}
	n.background(func() {
		list, _ := n.retire(n.ctx, stageDrained)
		n.o.Logger.Info("firqnats: this node is drained: it hands over its actors, and takes no others", "activations", len(list))
		say(drained{Activations: len(list)})
		handOver(n.ctx, list)
		say(drained{Done: true})
	})
}

// retire makes that no activation begins here any more, tells the others, and returns the activations that
// there are; false: the node was that far already.
func (n *Node) retire(ctx context.Context, to stage) (list []*activation, first bool) {
	n.mu.Lock()
	first = n.stage < to
	n.stage = max(n.stage, to)
	for _, a := range n.acts {
		list = append(list, a)
	}
	if m := n.members[n.ID()]; m != nil {
		m.Say = sayLeaving
	}
	n.mu.Unlock()
	if first {
		n.renew(ctx) // the others learn that they are not to send here
	}
	return list, first
}

// drainPatience is how long a node has to say that it begins to drain.
const drainPatience = 2 * time.Second

// askDrain asks a node to drain, and waits until it is done.
func (n *Node) askDrain(ctx context.Context, node string, f func(activations int)) error {
	inbox := n.nc.NewRespInbox()
	sub, err := n.nc.SubscribeSync(inbox)
	if err != nil {
		return err
	}
	defer func() { _ = sub.Unsubscribe() }()
	if err := n.nc.PublishRequest(n.subject(subjectDrain), inbox, []byte(node)); err != nil {
		return err
	}
	soon, end := context.WithTimeout(ctx, drainPatience)
	defer end()
	for wait := soon; ; wait = ctx {
		m, err := sub.NextMsgWithContext(wait)
		if err != nil {
			return fmt.Errorf("firqnats: Drain: no answer of the node %s: %w", node, err)
		}
		var d drained
		if err := json.Unmarshal(m.Data, &d); err != nil {
			return fmt.Errorf("firqnats: Drain: %w", err)
		}
		if d.Done {
			return nil
		}
		f(d.Activations)
	}
}
