package firqnats

import (
	"cmp"
	"context"
	"encoding/json"
	"fmt"
	"iter"
	"slices"
	"time"

	"github.com/nats-io/nats.go"

	"github.com/firq-go/firq/actor"
)

// Member of the cluster, as this node sees it.
type Member struct {
	ID, Name    string
	Kinds       []string // that it may have actors of
	Activations int
	Leaving     bool
	Since       time.Time
	Silent      time.Duration // since it was heard of last
	Self        bool
}

// Members returns the nodes that are alive, by name.
func (n *Node) Members() (list []Member) {
	self := n.ID()
	n.mu.RLock()
	defer n.mu.RUnlock()
	for _, m := range n.members {
		x := Member{ID: m.ID, Name: m.Name, Kinds: slices.Clone(m.Kinds), Activations: m.Load, Leaving: m.Say == sayLeaving,
			Since: m.Since, Silent: time.Since(m.heard), Self: m.ID == self}
		if x.Self {
			x.Activations = len(n.acts)
		}
		list = append(list, x)
	}
	slices.SortFunc(list, func(a, b Member) int { return cmp.Or(cmp.Compare(a.Name, b.Name), cmp.Compare(a.ID, b.ID)) })
	return list
}

// Where returns the node that has an actor; "": none has it.
func (n *Node) Where(ctx context.Context, id actor.Identity) (node string, err error) {
	h, _, _, err := n.readRecord(ctx, id)
	if err != nil || h.Node == "" {
		return "", err
	}
	alive, err := n.alive(ctx, h.Node)
	if err != nil || !alive {
		return "", err
	}
	return h.Node, nil
}

// ActorInfo is an activation.
type ActorInfo struct {
	actor.Identity
	Node    string
	Waiting int    // messages
	State   string // activating, active, closing
	Since   time.Time
}

// infos returns the activations here.
func (n *Node) infos(kind string) (list []ActorInfo) {
	n.mu.RLock()
	acts := make([]*activation, 0, len(n.acts))
	for id, a := range n.acts {
		if kind == "" || id.Kind == kind {
			acts = append(acts, a)
		}
	}
	n.mu.RUnlock()
	for _, a := range acts {
		a.mu.Lock()
		i := ActorInfo{Identity: a.id, Node: a.node, Waiting: len(a.pending), State: actState(a.state.Load()).String(), Since: a.since}
		if a.body != nil {
			i.Waiting += a.body.Len()
		}
		a.mu.Unlock()
		list = append(list, i)
	}
	return list
}

// onAsk answers a question for activations. The last answer of a node is an empty list.
func (n *Node) onAsk(m *nats.Msg) {
	say := func(list []ActorInfo) {
		if d, err := json.Marshal(list); err == nil {
			_ = n.nc.Publish(m.Reply, d)
		}
	}
	list, most := n.infos(string(m.Data)), int(n.nc.MaxPayload())
	for len(list) > 0 {
		size, many := 0, 0
		for many < len(list) && (many == 0 || size < most) {
			if size += 400 + 6*len(list[many].Key); size < most || many == 0 { // a byte of a key may take six
				many++
			}
		}
		say(list[:many])
		list = list[many:]
	}
	say([]ActorInfo{})
}

// Actors returns the activations of a kind, or of all kinds for "", on all nodes. The last pair has an error
// if nodes did not answer.
func (n *Node) Actors(ctx context.Context, kind string) iter.Seq2[ActorInfo, error] {
	return func(yield func(ActorInfo, error) bool) {
		if err := n.askActors(ctx, kind, len(n.Members()), func(i ActorInfo) bool { return yield(i, nil) }); err != nil {
			yield(ActorInfo{}, err)
		}
	}
}

// askActors calls f for each activation that as many nodes have, until that returns false.
func (n *Node) askActors(ctx context.Context, kind string, left int, f func(ActorInfo) bool) error {
	inbox := n.nc.NewRespInbox()
	sub, err := n.nc.SubscribeSync(inbox)
	if err != nil {
		return err
	}
	defer func() { _ = sub.Unsubscribe() }()
	if err := n.nc.PublishRequest(n.subject(subjectAsk), inbox, []byte(kind)); err != nil {
		return err
	}
	ctx, end := context.WithTimeout(ctx, 2*time.Second)
	defer end()
	for left > 0 {
		m, err := sub.NextMsgWithContext(ctx)
		if err != nil {
			return fmt.Errorf("firqnats: Actors: %d nodes did not answer: %w", left, err)
		}
		var list []ActorInfo
		if err := json.Unmarshal(m.Data, &list); err != nil {
			return fmt.Errorf("firqnats: Actors: %w", err)
		}
		if len(list) == 0 {
			left--
		}
		for _, i := range list {
			if !f(i) {
				return nil
			}
		}
	}
	return nil
}
