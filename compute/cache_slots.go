package compute

// slots number the nodes, so that lines link 4-byte numbers and not pointers, and nodes need
// no links. No node in a line has number 0. Guarded by the cache.
type slots[T, K comparable, V any] struct {
	pages []*page[T, K, V]
	free  uint32
	live  int
}

// page has the slots of numbers that follow each other: nothing moves when there are more.
type page[T, K comparable, V any] struct {
	nodes [perPage]*node[T, K, V] // nil: free
	links [perPage]link           // a free one points to the next free one
}

const perPage = 64

// link is a node's place in a line.
type link struct{ older, newer uint32 }

// line is an order of slots.
type line struct {
	head uint32 // the newest
	tail uint32 // the oldest
}

// push adds a slot as the newest.
func (l *line) push(links func(uint32) *link, at uint32) {
	*links(at) = link{older: l.head}
	if l.head != 0 {
		links(l.head).newer = at
	} else {
		l.tail = at
	}
	l.head = at
}

// remove takes a slot out.
func (l *line) remove(links func(uint32) *link, at uint32) {
	it := *links(at)
	if it.older != 0 {
		links(it.older).newer = it.newer
	} else {
		l.tail = it.newer
	}
	if it.newer != 0 {
		links(it.newer).older = it.older
	} else {
		l.head = it.older
	}
}

func (s *slots[T, K, V]) link(at uint32) *link {
	return &s.pages[at/perPage].links[at%perPage]
}

func (s *slots[T, K, V]) node(at uint32) *node[T, K, V] {
	return s.pages[at/perPage].nodes[at%perPage]
}

func (s *slots[T, K, V]) set(at uint32, n *node[T, K, V]) {
	s.pages[at/perPage].nodes[at%perPage] = n
}

// next moves on to the next number, from the last to the first; then it reports that.
func (s *slots[T, K, V]) next(at *uint32) (around bool) {
	if *at++; int(*at) >= len(s.pages)*perPage {
		*at = 0
		return true
	}
	return false
}

// add gives n a number.
func (s *slots[T, K, V]) add(n *node[T, K, V]) uint32 {
	if s.free == 0 {
		first := uint32(len(s.pages) * perPage)
		s.pages = append(s.pages, new(page[T, K, V]))
		for at := first + perPage - 1; at >= max(first, 1); at-- {
			s.link(at).newer = s.free
			s.free = at
		}
	}
	at := s.free
	s.free = s.link(at).newer
	s.set(at, n)
	n.slot = at
	s.live++
	return at
}

// drop frees a number.
func (s *slots[T, K, V]) drop(at uint32) {
	s.node(at).slot = 0
	s.set(at, nil)
	*s.link(at) = link{newer: s.free}
	s.free = at
	s.live--
}
