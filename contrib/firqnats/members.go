package firqnats

import (
	"context"
	"encoding/json"
	"errors"
	"time"

	"github.com/nats-io/nats.go"
	"github.com/nats-io/nats.go/jetstream"
)

// beat is what nodes publish: of themselves, after each renewal and in their record, and of one that is dead.
type beat struct {
	ID    string
	Name  string   `json:",omitempty"`
	Rev   uint64   `json:",omitempty"` // of the record
	Say   saying   `json:",omitempty"`
	Kinds []string `json:",omitempty"` // that the node may have actors of
	Load  int      `json:",omitempty"` // activations
	Since time.Time
}

// saying is what a beat says of a node.
type saying uint8

const (
	sayAlive   saying = iota
	sayLeaving        // it hands over
	sayGone           // it has left: all is answered
	sayDead           // its record was deleted by the node that says so
)

// member is a node as this one sees it.
type member struct {
	beat
	heard time.Time
}

// watch is what the last look at the members knew; only the ticker uses it.
type watch struct {
	reconnects uint64
	last       time.Time
}

func (n *Node) publishBeat(b beat) {
	if d, err := json.Marshal(b); err == nil {
		_ = n.nc.Publish(n.subject(subjectBeats), d)
	}
}

func (n *Node) onBeat(m *nats.Msg) {
	var b beat
	if err := json.Unmarshal(m.Data, &b); err != nil {
		n.dropped(m, err)
		return
	}
	switch b.Say {
	case sayDead:
		n.forget(b.ID)
	case sayGone:
		n.mu.Lock()
		delete(n.members, b.ID)
		n.mu.Unlock()
		time.AfterFunc(2*time.Second, func() { n.forget(b.ID) }) // its last answers may come after this
	default:
		n.saw(b)
	}
}

// saw notes a sign of life.
func (n *Node) saw(b beat) {
	n.mu.Lock()
	defer n.mu.Unlock()
	if _, dead := n.dead[b.ID]; dead {
		return
	}
	m := n.members[b.ID]
	if m == nil {
		n.members[b.ID] = &member{b, time.Now()}
		return
	}
	if b.Rev >= m.Rev {
		m.beat, m.heard = b, time.Now()
	}
}

// forget a node that is not alive.
func (n *Node) forget(id string) {
	n.mu.Lock()
	delete(n.members, id)
	n.dead[id] = time.Now()
	n.mu.Unlock()
	dead := map[string]bool{id: true}
	n.lanes.sweep(dead)
	n.lose(func(node string) bool { return dead[node] })
}

// living returns a node, or "" if it is dead.
func (n *Node) living(id string) string {
	n.mu.RLock()
	defer n.mu.RUnlock()
	if _, dead := n.dead[id]; dead {
		return ""
	}
	return id
}

// observe declares nodes dead that were silent for a lease, in which this node was awake and connected.
func (n *Node) observe(every time.Duration) {
	now, reconnects := time.Now(), n.nc.Stats().Reconnects
	away := !n.nc.IsConnected() || reconnects != n.watch.reconnects || now.Sub(n.watch.last) > 3*every
	n.watch = watch{reconnects, now}
	self := n.ID()
	var silent []member
	n.mu.Lock()
	for _, m := range n.members {
		switch {
		case away:
			m.heard = now
		case m.ID != self && now.Sub(m.heard) >= n.o.Lease:
			silent = append(silent, *m)
		}
	}
	for id, at := range n.dead {
		if now.Sub(at) > 10*n.o.Lease+time.Minute {
			delete(n.dead, id)
		}
	}
	n.mu.Unlock()
	for _, m := range silent {
		n.background(func() { n.declareDead(m) }) // not here: the lease is to be renewed in time
	}
}

// declareDead deletes the record of a silent node. If the node has renewed it since, this fails.
func (n *Node) declareDead(m member) {
	ctx, end := context.WithTimeout(n.ctx, 2*time.Second)
	defer end()
	if n.remove(ctx, keyNode+m.ID, m.Rev) == nil {
		n.o.Logger.Warn("firqnats: a node was silent for its lease: it is dead", "node", m.ID, "name", m.Name)
		n.publishBeat(beat{ID: m.ID, Say: sayDead})
		n.forget(m.ID)
		return
	}
	if errors.Is(n.look(ctx, m.ID), jetstream.ErrKeyNotFound) {
		n.forget(m.ID)
	}
}

// alive looks whether a node may hold actors.
func (n *Node) alive(ctx context.Context, id string) (bool, error) {
	n.mu.RLock()
	_, known := n.members[id]
	n.mu.RUnlock()
	if known {
		return true, nil
	}
	err := n.look(ctx, id)
	if errors.Is(err, jetstream.ErrKeyNotFound) {
		return false, nil
	}
	return err == nil, err
}
