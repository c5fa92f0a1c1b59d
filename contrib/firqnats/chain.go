package firqnats

import (
	"context"
	"encoding/binary"
	"slices"
	"strings"
	"sync/atomic"

	"github.com/firq-go/firq/actor"
)

// chain says which handlers wait for a call, over all nodes: the outermost first.
type chain []hop

// hop is a call from a node to another one.
type hop struct {
	addr  string   // of the node that called
	no    uint64   // of its call
	names []string // the handlers that wait there for the call, outermost first
}

func (c chain) append(b []byte) []byte {
	b = binary.AppendUvarint(b, uint64(len(c)))
	for _, h := range c {
		b = appendString(b, h.addr)
		b = binary.AppendUvarint(b, h.no)
		b = binary.AppendUvarint(b, uint64(len(h.names)))
		for _, name := range h.names {
			b = appendString(b, name)
		}
	}
	return b
}

func (c chain) size() int {
	n := 0
	for _, h := range c {
		n += len(h.addr) + 30
		for _, name := range h.names {
			n += len(name) + 10
		}
	}
	return n
}

func readChain(r *reader) (c chain) {
	for range r.count() {
		h := hop{addr: r.string(), no: r.uint()}
		for range r.count() {
			h.names = append(h.names, r.string())
		}
		c = append(c, h)
	}
	return c
}

// names of the handlers, each once.
func (c chain) names() (names []string) {
	for _, h := range c {
		for _, name := range h.names {
			if !slices.Contains(names, name) {
				names = append(names, name)
			}
		}
	}
	return names
}

// served is what the context of a delivered call holds: how its actor's handler finds the callers that wait for it.
type served struct {
	chain chain
	to    string      // the actor that the call was delivered to
	over  atomic.Bool // the call is answered: its caller waits no more
}

type servedKey struct{}

// chainOf returns the chain of a call with ctx: what waits elsewhere for its handler, and the handlers here
// that wait. A handler of a Tell has the values of the call in which it was sent, but is not waited for.
func (n *Node) chainOf(ctx context.Context, no uint64) chain {
	c, names := actor.Handler(ctx)
	if c == nil {
		return nil
	}
	return append(slices.Clip(n.chainBefore(ctx, names)), hop{n.addr, no, names})
}

// chainBefore returns what waits for the outermost of the handlers that wait here. If that is a start, these
// are the senders that wait for it.
func (n *Node) chainBefore(ctx context.Context, names []string) chain {
	if s, ok := ctx.Value(servedKey{}).(*served); ok && !s.over.Load() && slices.Contains(names, s.to) {
		return s.chain
	}
	return n.awaiting(names[0], nil, map[string]bool{})
}

// awaiting adds to c the chains of the senders that wait for the start of an actor here, and of those that
// wait for a start in which one of them is.
func (n *Node) awaiting(name string, c chain, seen map[string]bool) chain {
	kind, key, _ := strings.Cut(name, "/")
	n.mu.RLock()
	a := n.acts[actor.Identity{Kind: kind, Key: key}]
	n.mu.RUnlock()
	if a == nil || seen[name] || actState(a.state.Load()) != actStarting {
		return c
	}
	seen[name] = true
	a.mu.Lock()
	waiters := slices.Clone(a.waiters)
	a.mu.Unlock()
	for _, w := range waiters {
		for _, name := range w.names() {
			c = n.awaiting(name, c, seen)
		}
		c = append(c, w...)
	}
	return c
}

// waiting returns the call of this node that the chain comes from last; nil: none.
func (n *Node) waiting(c chain) *call {
	n.callMu.Lock()
	defer n.callMu.Unlock()
	for _, h := range slices.Backward(c) {
		if h.addr == n.addr {
			if o := n.calls[h.no]; o != nil {
				return o
			}
		}
	}
	return nil
}

// cycle returns a deadlock's cycle with those in it that wait on other nodes. The cycle as this node sees it
// passes from a handler that calls another node straight to the one that the call comes back to.
func (c chain) cycle(here []string) []string {
	names := c.names()
	out := make([]string, 0, len(here)+len(names))
	for _, name := range here {
		if !slices.Contains(out, name) {
			out = append(out, name)
		}
		at := slices.Index(names, name)
		if at < 0 {
			continue
		}
		for _, next := range names[at+1:] {
			if slices.Contains(here, next) {
				break
			}
			if !slices.Contains(out, next) {
				out = append(out, next)
			}
		}
	}
	return out
}

// cycleTo returns the names from that of an actor on: they wait for each other if the last one calls it; nil:
// it is not among them.
func cycleTo(names []string, id actor.Identity) []string {
	if at := slices.Index(names, id.String()); at >= 0 {
		return names[at:]
	}
	return nil
}
