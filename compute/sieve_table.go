package compute

import (
	"math/bits"
	"sync/atomic"
)

// table finds nodes by key: open addressing, linear probing. A caller that reads takes no lock;
// a writer has the shard's.
//
// A node never moves within one array, and no place becomes empty again, so a reader
// passes no node that is there: what is taken out leaves gone behind, whose place the
// next one may take. Before few places are empty, all nodes go to a new array. A
// reader that still has the old one sees what was true when it began to read, or later.
type table[T, K comparable, V any] struct {
	at       atomic.Pointer[[]atomic.Pointer[node[T, K, V]]]
	gone     *node[T, K, V] // immutable
	live     int            // nodes
	used     int            // places that are not empty
	expected int            // immutable; how many nodes there will be, 0: unknown
}

// first returns where a search begins: by the high bits.
func first(h uint64, n int) int {
	hi, _ := bits.Mul64(h, uint64(n))
	return int(hi)
}

// get returns the node of a key, nil if there is none. Without a lock.
func (t *table[T, K, V]) get(h uint64, k *Key[T, K]) *node[T, K, V] {
	all := t.at.Load()
	if all == nil {
		return nil
	}
	at := *all
	for i := first(h, len(at)); ; {
		n := at[i].Load()
		if n == nil {
			return nil
		}
		if n != t.gone && n.key == *k {
			return n
		}
		if i++; i == len(at) {
			i = 0
		}
	}
}

// swap puts another node in the place of one that is there; gone takes it out.
func (t *table[T, K, V]) swap(h uint64, old, with *node[T, K, V]) {
	at := *t.at.Load()
	i := first(h, len(at))
	for at[i].Load() != old {
		if i++; i == len(at) {
			i = 0
		}
	}
	at[i].Store(with)
	if with == t.gone {
		t.live--
	}
}

// add adds a node whose key is not there.
func (t *table[T, K, V]) add(h uint64, n *node[T, K, V], hash func(*Key[T, K]) uint64) {
	all := t.at.Load()
	if all == nil || 5*(t.used+1) > 4*len(*all) {
		all = t.rebuild(hash)
	}
	t.put(*all, h, n)
}

// put stores n in the first place that nobody has.
func (t *table[T, K, V]) put(at []atomic.Pointer[node[T, K, V]], h uint64, n *node[T, K, V]) {
	i := first(h, len(at))
	for {
		was := at[i].Load()
		if was == nil {
			t.used++
			break
		}
		if was == t.gone {
			break
		}
		if i++; i == len(at) {
			i = 0
		}
	}
	at[i].Store(n)
	t.live++
}

// rebuild makes a new array: 1.6 places for each node, more as long as it is growing.
func (t *table[T, K, V]) rebuild(hash func(*Key[T, K]) uint64) *[]atomic.Pointer[node[T, K, V]] {
	old := t.at.Load()
	want := max(t.live+1, t.expected) * 8 / 5
	if most := (t.live + 1) * 5 / 2; want > most || t.expected == 0 {
		want = most
	}
	want = max(want, (t.live+1)*8/5, 8)
	at := make([]atomic.Pointer[node[T, K, V]], want)
	t.live, t.used = 0, 0
	if old != nil {
		for i := range *old {
			if n := (*old)[i].Load(); n != nil && n != t.gone {
				t.put(at, hash(&n.key), n)
			}
		}
	}
	t.at.Store(&at)
	return &at
}
