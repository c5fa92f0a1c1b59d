package compute

// slots number the nodes of a shard, so that the lines need 8 bytes per entry and not
// 16, and nodes none. Number 0 is nobody's. Guarded by the shard.
type slots[T, K comparable, V any] struct {
	nodes    []*node[T, K, V] // by number; nil: free
	links    []link           // of the shard's line; a free one points to the next free one
	owned    []link           // of the tenants' lines; nil without a bound per tenant
	ghosts   ghosts           // of half as many keys as there are numbers
	free     uint32
	live     int
	expected int
}

// link is a node's place in a line.
type link struct{ older, newer uint32 }

// line is an order of slots: SIEVE's queue, with its hand.
type line struct {
	head uint32 // the newest
	tail uint32 // the oldest
	hand uint32 // the entry that is looked at next; 0: the tail
}

// push adds a slot as the newest.
func (l *line) push(links []link, at uint32) {
	links[at] = link{older: l.head}
	if l.head != 0 {
		links[l.head].newer = at
	} else {
		l.tail = at
	}
	l.head = at
}

// remove takes a slot out.
func (l *line) remove(links []link, at uint32) {
	it := links[at]
	if l.hand == at {
		l.hand = it.newer
	}
	if it.older != 0 {
		links[it.older].newer = it.newer
	} else {
		l.tail = it.newer
	}
	if it.newer != 0 {
		links[it.newer].older = it.older
	} else {
		l.head = it.older
	}
}

// add gives n a number.
func (s *slots[T, K, V]) add(n *node[T, K, V], owned bool) uint32 {
	if s.free == 0 {
		s.grow(owned)
	}
	at := s.free
	s.free = s.links[at].newer
	s.nodes[at] = n
	n.slot = at
	s.live++
	return at
}

// drop frees a number.
func (s *slots[T, K, V]) drop(at uint32) {
	s.nodes[at] = nil
	s.links[at] = link{newer: s.free}
	s.free = at
	s.live--
}

func (s *slots[T, K, V]) reset() {
	*s = slots[T, K, V]{expected: s.expected}
}

// grow makes room for more: twice as many, but not many more than are expected.
func (s *slots[T, K, V]) grow(owned bool) {
	have := max(len(s.nodes), 1)
	want := max(2*have, 8)
	if most := s.expected + s.expected/16 + 8; s.expected > 0 && want > most {
		want = max(most, have+have/8+1)
	}
	nodes, links := make([]*node[T, K, V], want), make([]link, want)
	copy(nodes, s.nodes)
	copy(links, s.links)
	s.nodes, s.links = nodes, links
	s.ghosts = make(ghosts, want/2) // what the old one has is not worth moving
	if owned {
		o := make([]link, want)
		copy(o, s.owned)
		s.owned = o
	}
	for at := want - 1; at >= have; at-- {
		s.links[at].newer = s.free
		s.free = uint32(at)
	}
}
