package compute

// tenants are those that have entries. Guarded by the cache.
//
// Room is made by the tenant that has most, so a tenant keeps at least Size / tenants, and
// what it does not need is divided among those that do. Silent tenants are not counted:
// their entries go first. For what is too heavy for the room that can be made so (spare), none
// is made.
//
// A tenant is silent once the cache has turned over, evicted as many entries as it has, two to four
// times without a call of it. Its calls are seen when it stores an entry, and when the
// census or an eviction finds one that was asked for. One call per turn suffices.
type tenants[T comparable] struct {
	byKey map[T]*tenant[T]
	heap  []*tenant[T] // the first has most
	last  *tenant[T]   // in a ring: whose last call was seen first; its older one is the latest
	round uint64       // turns
	at    uint32       // the slot that the census has looked at
}

// tenant is one that has entries.
type tenant[T comparable] struct {
	key          T
	weight       int64
	young        int64 // of weight, in the window
	window, main line
	place        int    // in the heap
	seen         uint64 // the round in which its last call was seen
	older, newer *tenant[T]
}

func (s *tenants[T]) init() { s.byKey = map[T]*tenant[T]{} }

// of returns the tenant, which has made a call and is about to get an entry.
func (s *tenants[T]) of(key T) *tenant[T] {
	t := s.byKey[key]
	if t == nil {
		t = &tenant[T]{key: key, place: len(s.heap), seen: s.round}
		s.byKey[key] = t
		s.heap = append(s.heap, t)
		s.enter(t)
	}
	s.call(t)
	return t
}

// call notes that a tenant has called.
func (s *tenants[T]) call(t *tenant[T]) {
	if t.seen != s.round {
		t.seen = s.round
		s.leave(t)
		s.enter(t)
	}
}

// enter puts t into the ring as the one that has called last.
func (s *tenants[T]) enter(t *tenant[T]) {
	if s.last == nil {
		t.older, t.newer = t, t
		s.last = t
		return
	}
	t.newer, t.older = s.last, s.last.older
	t.older.newer, t.newer.older = t, t
}

// leave takes t out of the ring.
func (s *tenants[T]) leave(t *tenant[T]) {
	t.older.newer, t.newer.older = t.newer, t.older
	if s.last == t {
		if s.last = t.newer; s.last == t {
			s.last = nil
		}
	}
}

// victim returns the tenant that is to make room for w of x, which is nil if it has nothing
// yet: there is spare room, and there are tenants.
func (s *tenants[T]) victim(x *tenant[T], w int64) *tenant[T] {
	if t := s.last; t != x && s.silent(t) {
		return t
	}
	top := s.heap[0]
	if x != nil && x.weight+w >= top.weight {
		return x
	}
	return top // which has more than its part
}

// silent reports whether t has made no call for several turns of the cache, so that it does not count.
func (s *tenants[T]) silent(t *tenant[T]) bool { return t.seen+2 < s.round }

// spare reports whether need can be evicted for x, which is nil if it has nothing yet: what x and
// silent tenants have, and what the others have beyond their equal parts of size. A need no
// greater than such a part is always met.
func (s *tenants[T]) spare(x *tenant[T], need, size int64) bool {
	active := int64(len(s.heap))
	if x != nil {
		need -= x.weight
	} else {
		active++
	}
	for t := s.last; need > 0 && t != nil && s.silent(t); {
		need -= t.weight
		active--
		if t = t.newer; t == s.last {
			break
		}
	}
	return need <= 0 || s.beyond(0, x, size/active, need) <= 0
}

// beyond returns how much of need is left after what the tenants in the heap, from a place on, have
// beyond part.
func (s *tenants[T]) beyond(place int, x *tenant[T], part, need int64) int64 {
	if need <= 0 || place >= len(s.heap) || s.heap[place].weight <= part {
		return need // the tenants below have no more
	}
	if t := s.heap[place]; t != x && !s.silent(t) {
		need -= t.weight - part
	}
	return s.beyond(2*place+2, x, part, s.beyond(2*place+1, x, part, need))
}

// weigh adds w to what t has. A tenant that has nothing is forgotten.
func (s *tenants[T]) weigh(t *tenant[T], w int64) {
	t.weight += w
	if t.weight > 0 {
		s.up(t)
		s.down(t)
		return
	}
	delete(s.byKey, t.key)
	s.leave(t)
	end := len(s.heap) - 1
	moved := s.heap[end]
	s.put(moved, t.place)
	s.heap[end] = nil
	s.heap = s.heap[:end]
	if moved != t {
		s.up(moved)
		s.down(moved)
	}
	if end == 0 { // give the memory back
		s.heap, s.byKey = nil, map[T]*tenant[T]{}
	}
}

func (s *tenants[T]) put(t *tenant[T], place int) { s.heap[place], t.place = t, place }

func (s *tenants[T]) up(t *tenant[T]) {
	i := t.place
	for ; i > 0; i = (i - 1) / 2 {
		above := s.heap[(i-1)/2]
		if above.weight >= t.weight {
			break
		}
		s.put(above, i)
	}
	s.put(t, i)
}

func (s *tenants[T]) down(t *tenant[T]) {
	i := t.place
	for {
		at := 2*i + 1
		if at >= len(s.heap) {
			break
		}
		if at+1 < len(s.heap) && s.heap[at+1].weight > s.heap[at].weight {
			at++
		}
		if s.heap[at].weight <= t.weight {
			break
		}
		s.put(s.heap[at], i)
		i = at
	}
	s.put(t, i)
}
