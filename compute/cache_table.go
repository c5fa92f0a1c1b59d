package compute

import (
	"math/bits"
	"sync"
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

// octet is eight words, which is a cache line: seven places, and their tags, a byte each. The first
// place's is the lowest; the highest byte is unused.
type octet[T, K comparable, V any] struct {
	tags atomic.Uint64
	at   [perOctet]atomic.Pointer[node[T, K, V]]
}

const perOctet = 7

// table is places with what writers need besides.
type table[T, K comparable, V any] struct {
	at       *places[T, K, V] // immutable
	mu       sync.Mutex       // guards the following, and the writing of at; under it no other lock is taken
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
	highest = 0x0080808080808080 // of each byte that is a tag
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

// set puts n in the place of the node of its key, which it returns, or adds it.
func (t *table[T, K, V]) set(h uint64, n *node[T, K, V], hash func(*Key[T, K]) uint64) (old *node[T, K, V]) {
	t.mu.Lock()
	defer t.mu.Unlock()
	if old = t.at.find(h, &n.key); old != nil {
		g, at := t.place(h, old)
		g.at[at].Store(n)
		return old
	}
	all := t.at.at.Load()
	if all == nil || 10*(t.used+1) > 9*perOctet*len(*all) {
		all = t.rebuild(hash)
	}
	t.put(*all, h, n)
	return nil
}

// cut takes the node of a key out, and returns it; nil: there is none.
func (t *table[T, K, V]) cut(h uint64, k *Key[T, K]) *node[T, K, V] {
	t.mu.Lock()
	defer t.mu.Unlock()
	n := t.at.find(h, k)
	if n != nil {
		t.remove(h, n)
	}
	return n
}

// discard takes n out, if it is still there.
func (t *table[T, K, V]) discard(h uint64, n *node[T, K, V]) {
	t.mu.Lock()
	t.remove(h, n)
	t.mu.Unlock()
}

// remove is discard. Under mu.
func (t *table[T, K, V]) remove(h uint64, n *node[T, K, V]) {
	g, at := t.place(h, n)
	if g == nil {
		return
	}
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

// place returns where a node is; nil: not there.
func (t *table[T, K, V]) place(h uint64, n *node[T, K, V]) (g *octet[T, K, V], at int) {
	all := t.at.at.Load()
	if all == nil {
		return nil, 0
	}
	groups, tag := *all, tagOf(h)
	for i := first(h, len(groups)); ; {
		g = &groups[i]
		tags := g.tags.Load()
		for m := equal(tags, tag); m != 0; m &= m - 1 {
			if at = bits.TrailingZeros64(m) / 8; g.at[at].Load() == n {
				return g, at
			}
		}
		if equal(tags, empty) != 0 {
			return nil, 0
		}
		if i++; i == len(groups) {
			i = 0
		}
	}
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
	groups := make([]octet[T, K, V], max(want, (t.live+1)*5/4)/perOctet+1)
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

// reset gives the memory back, if there is no node.
func (t *table[T, K, V]) reset() {
	t.mu.Lock()
	defer t.mu.Unlock()
	if t.live == 0 {
		t.at.at.Store(nil)
		t.used = 0
	}
}
