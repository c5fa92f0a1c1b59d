package drr

import "hash/maphash"

// hash is seeded, so that no client can choose flows that fall on each other.
func (q *Queue[K, T]) hash(id uint64) uint64 { return maphash.Comparable(q.seed, id) }

// find returns the flow, nil if it is not there.
func (x *flows[K, T]) find(hash, id uint64) *flow[K, T] {
	f := x.table[hash&uint64(len(x.table)-1)]
	for f != nil && f.id != id {
		f = f.chain
	}
	return f
}

// addFlow puts a flow that is not there into the table.
func (q *Queue[K, T]) addFlow(x *flows[K, T], id uint64) *flow[K, T] {
	if int(x.n) == len(x.table) {
		q.widen(x)
	}
	f := q.flowRecords.get()
	f.id = id
	b := &x.table[q.hash(id)&uint64(len(x.table)-1)]
	f.chain, *b = *b, f
	x.n++
	return f
}

// widen doubles the table.
func (q *Queue[K, T]) widen(x *flows[K, T]) {
	old := x.table
	x.table = make([]*flow[K, T], 2*len(old))
	for _, f := range old {
		for f != nil {
			next := f.chain
			b := &x.table[q.hash(f.id)&uint64(len(x.table)-1)]
			f.chain, *b = *b, f
			f = next
		}
	}
}

// dropFlow takes a flow out of the table. It is in no list.
func (q *Queue[K, T]) dropFlow(x *flows[K, T], f *flow[K, T]) {
	at := &x.table[q.hash(f.id)&uint64(len(x.table)-1)]
	for *at != f {
		at = &(*at).chain
	}
	*at = f.chain
	x.n--
	*f = flow[K, T]{}
	q.flowRecords.put(f)
}

// freeList recycles what the flows of a Queue need, up to keepFlows of them.
type freeList[N any] struct{ free []*N }

const keepFlows = 1024

func (s *freeList[N]) get() *N {
	last := len(s.free) - 1
	if last < 0 {
		return new(N)
	}
	n := s.free[last]
	s.free[last] = nil
	s.free = s.free[:last]
	return n
}

// put takes back n, which is zeroed and which nothing refers to.
func (s *freeList[N]) put(n *N) {
	if len(s.free) < keepFlows {
		s.free = append(s.free, n)
	}
}
