package firqnats

import (
	"cmp"
	"hash/fnv"
	"math/rand/v2"
	"slices"
	"time"

	"github.com/firq-go/firq/actor"
)

const (
	overMean = 1.25 // what a node may have of the mean
	overSome = 16   // and above, so that few activations need not be even
)

// candidate is a node that may get an activation.
type candidate struct {
	id   string
	load int
}

// candidates for a kind, by ID. Those that were silent for long are left out.
func (n *Node) candidates(kind string) (list []candidate) {
	n.mu.RLock()
	defer n.mu.RUnlock()
	for _, m := range n.members {
		if m.Say == sayAlive && slices.Contains(m.Kinds, kind) && time.Since(m.heard) < n.o.Lease*2/3 {
			list = append(list, candidate{m.ID, m.Load})
		}
	}
	slices.SortFunc(list, func(a, b candidate) int { return cmp.Compare(a.id, b.id) })
	return list
}

// known reports whether a node has the kind, as far as this node knows.
func (n *Node) known(kind string) bool {
	n.mu.RLock()
	defer n.mu.RUnlock()
	for _, m := range n.members {
		if slices.Contains(m.Kinds, kind) {
			return true
		}
	}
	return false
}

// place chooses a node for an actor; "": there is none.
func (n *Node) place(id actor.Identity) string {
	list := n.candidates(id.Kind)
	if len(list) == 0 {
		return ""
	}
	self := n.ID()
	switch n.o.Place {
	case Random:
		return list[rand.IntN(len(list))].id
	case LeastLoaded:
		return slices.MinFunc(list, func(a, b candidate) int { return cmp.Compare(a.load, b.load) }).id
	case Local:
		if slices.ContainsFunc(list, func(c candidate) bool { return c.id == self }) {
			return self
		}
	}
	return rendezvous(list, id)
}

// rendezvous returns the node with the greatest hash of those that are not far above the mean.
func rendezvous(list []candidate, id actor.Identity) string {
	total := 0
	for _, c := range list {
		total += c.load
	}
	limit := bound(total, len(list))
	best, top := "", uint64(0)
	for _, c := range list {
		h := fnv.New64a()
		_, _ = h.Write([]byte(c.id + "|" + id.Kind + "|" + id.Key))
		v := h.Sum64() * 0x9E3779B97F4A7C15 // the high bits of FNV differ little for similar keys
		v ^= v >> 32
		if c.load <= limit && (best == "" || v > top) { // at least the one with the least load
			best, top = c.id, v
		}
	}
	return best
}

// bound is how many of all activations a node may have.
func bound(total, nodes int) int { return int(float64(total)*overMean)/nodes + overSome }

// rebalance lets some activations go if this node has far more than the others. They are taken by those
// that the next messages choose.
func (n *Node) rebalance(every time.Duration) {
	if n.o.Rebalance == 0 || !n.life.Load().holds() {
		return
	}
	self := n.ID()
	n.mu.RLock()
	mine, total, nodes := len(n.acts), len(n.acts), 1
	for _, m := range n.members {
		if m.Say == sayAlive && len(m.Kinds) > 0 && m.ID != self {
			total += m.Load
			nodes++
		}
	}
	var list []*activation
	if over := mine - bound(total, nodes); over > 0 && nodes > 1 && n.stage == stageIn {
		most := min(over, int(float64(mine)*n.o.Rebalance*every.Minutes())+1)
		for _, a := range n.acts {
			if len(list) == most {
				break
			}
			if a.idle() {
				list = append(list, a)
			}
		}
	}
	n.mu.RUnlock()
	for _, a := range list {
		if a.close(true) {
			n.background(func() { _ = a.body.Stop(n.ctx) }) // afterEnd does the rest
		}
	}
}
