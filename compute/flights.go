package compute

// flights finds the flights of a shard by key: chains, by a hash that is known already,
// so that a miss hashes its key once. The zero value is empty. Guarded by shard.mu.
type flights[T, K comparable, V any] struct {
	heads []*flight[T, K, V] // a power of two
	n     int
}

// few is how many chains an empty shard may keep.
const few = 64

// at returns the chain of a hash, by higher bits than those that choose the shard.
func (l *flights[T, K, V]) at(h uint64) *(*flight[T, K, V]) {
	return &l.heads[h>>32&uint64(len(l.heads)-1)]
}

// find returns the flight of a key; nil: there is none.
func (l *flights[T, K, V]) find(h uint64, k *Key[T, K]) *flight[T, K, V] {
	if l.n == 0 {
		return nil
	}
	f := *l.at(h)
	for f != nil && (f.hash != h || f.key != *k) {
		f = f.next
	}
	return f
}

// add adds a flight whose key is not there.
func (l *flights[T, K, V]) add(f *flight[T, K, V]) {
	if l.n >= 2*len(l.heads) {
		l.grow()
	}
	head := l.at(f.hash)
	f.next, *head = *head, f
	l.n++
}

// remove takes out a flight that is there.
func (l *flights[T, K, V]) remove(f *flight[T, K, V]) {
	at := l.at(f.hash)
	for *at != f {
		at = &(*at).next
	}
	*at, f.next = f.next, nil
	if l.n--; l.n == 0 && len(l.heads) > few {
		l.heads = nil
	}
}

// each calls do with all flights; do may remove the one that it gets.
func (l *flights[T, K, V]) each(do func(*flight[T, K, V])) {
	for _, f := range l.heads {
		for f != nil {
			next := f.next
			do(f)
			f = next
		}
	}
}

// grow makes twice as many chains.
func (l *flights[T, K, V]) grow() {
	old := l.heads
	l.heads, l.n = make([]*flight[T, K, V], max(2*len(old), 4)), 0
	for _, f := range old {
		for f != nil {
			next := f.next
			l.add(f)
			f = next
		}
	}
}
