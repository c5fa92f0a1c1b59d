package compute

import (
	"math/bits"
	"sync/atomic"
)

// places is what readers see of a table: its octets. They take no lock.
//
// A key's node is in the first octet, from the key's own on, that had a place when it came.
// A node never moves within one array, and an octet that was once full has no empty
// place again, so a reader that has found an empty place need not go on. Each place has a tag,
// so that readers look at hardly any node but the one that they look for. Before few places are
// empty, all nodes go to a new array. A reader that still has the old one sees what was true when it
// began to read, or later.
type places[T, K comparable, V any] struct {
	at atomic.Pointer[[]octet[T, K, V]]
}

// octet is eight places, and their tags: a byte each, the first place's is the lowest.
type octet[T, K comparable, V any] struct {
	tags atomic.Uint64
	at   [8]atomic.Pointer[node[T, K, V]]
}

// table is what writers know besides. Guarded by the cache.
type table[T, K comparable, V any] struct {
	at       *places[T, K, V] // immutable
	live     int              // nodes
	used     int              // places that are not empty
	expected int              // immutable; how many nodes there will be, 0: unknown
}

// The tags of places without a node; all others have the highest bit.
const (
	empty = 0
	gone  = 1
)

const (
	each    = 0x0101010101010101
	highest = 0x8080808080808080
)

// tagOf returns the tag of a key: of bits that choose neither table nor group.
func tagOf(h uint64) uint64 { return h>>24&0x7f | 0x80 }

// equal returns the highest bit of each byte that is tag, and maybe of others above one that is.
func equal(tags, tag uint64) uint64 {
	x := tags ^ tag*each
	return (x - each) & ^x & highest
}

// first returns where a search begins: by the high bits.
func first(h uint64, n int) int {
	hi, _ := bits.Mul64(h, uint64(n))
	return int(hi)
}

// find returns the node of a key, nil if there is none. Without a lock.
func (p *places[T, K, V]) find(h uint64, k *Key[T, K]) *node[T, K, V] {
	all := p.at.Load()
	if all == nil {
		return nil
	}
	groups, tag := *all, tagOf(h)
	for i := first(h, len(groups)); ; {
		g := &groups[i]
		tags := g.tags.Load()
		for m := equal(tags, tag); m != 0; m &= m - 1 {
			if n := g.at[bits.TrailingZeros64(m)/8].Load(); n != nil && n.key == *k {
				return n
			}
		}
		if equal(tags, empty) != 0 {
			return nil
		}
		if i++; i == len(groups) {
			i = 0
		}
	}
}

// place returns where a node is that is there.
func (t *table[T, K, V]) place(h uint64, n *node[T, K, V]) (g *octet[T, K, V], at int) {
	groups, tag := *t.at.at.Load(), tagOf(h)
	for i := first(h, len(groups)); ; {
		g = &groups[i]
		for m := equal(g.tags.Load(), tag); m != 0; m &= m - 1 {
			if at = bits.TrailingZeros64(m) / 8; g.at[at].Load() == n {
				return g, at
			}
		}
		if i++; i == len(groups) {
			i = 0
		}
	}
}

// swap puts another node of its key in the place of one that is there.
func (t *table[T, K, V]) swap(h uint64, old, with *node[T, K, V]) {
	g, at := t.place(h, old)
	g.at[at].Store(with)
}

// remove takes a node out that is there.
func (t *table[T, K, V]) remove(h uint64, n *node[T, K, V]) {
	g, at := t.place(h, n)
	tags := g.tags.Load()
	left := uint64(gone)
	if equal(tags, empty) != 0 { // no search has ever gone past this octet
		left = empty
		t.used--
	}
	g.tags.Store(tags&^(0xff<<(8*at)) | left<<(8*at))
	g.at[at].Store(nil)
	t.live--
}

// add adds a node whose key is not there.
func (t *table[T, K, V]) add(h uint64, n *node[T, K, V], hash func(*Key[T, K]) uint64) {
	all := t.at.at.Load()
	if all == nil || t.used+1 > 7*len(*all) {
		all = t.rebuild(hash)
	}
	t.put(*all, h, n)
}

// put stores n in the first place that has no node.
func (t *table[T, K, V]) put(groups []octet[T, K, V], h uint64, n *node[T, K, V]) {
	for i := first(h, len(groups)); ; {
		g := &groups[i]
		tags := g.tags.Load()
		if m := ^tags & highest; m != 0 {
			at := bits.TrailingZeros64(m) / 8
			if tags>>(8*at)&0xff == empty {
				t.used++
			}
			g.at[at].Store(n) // before its tag, which readers look at first
			g.tags.Store(tags&^(0xff<<(8*at)) | tagOf(h)<<(8*at))
			t.live++
			return
		}
		if i++; i == len(groups) {
			i = 0
		}
	}
}

// rebuild makes a new array: 1.25 places for each node, more as long as it is growing.
func (t *table[T, K, V]) rebuild(hash func(*Key[T, K]) uint64) *[]octet[T, K, V] {
	old := t.at.at.Load()
	want := 2 * (t.live + 1)
	if t.expected > 0 {
		want = min(want, max(t.live+1, t.expected)*5/4)
	}
	groups := make([]octet[T, K, V], max(want, (t.live+1)*5/4)/8+1)
	t.live, t.used = 0, 0
	if old != nil {
		for i := range *old {
			for at := range (*old)[i].at {
				if n := (*old)[i].at[at].Load(); n != nil {
					t.put(groups, hash(&n.key), n)
				}
			}
		}
	}
	t.at.at.Store(&groups)
	return &groups
}

// reset forgets everything.
func (t *table[T, K, V]) reset() {
	t.at.at.Store(nil)
	t.live, t.used = 0, 0
}
