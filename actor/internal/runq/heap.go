package runq

import "math"

// Entry of a run queue.
type Entry[T any] struct {
	Of    T
	Tag   int64
	Since int64  // when it was put in
	seq   uint64 // breaks ties: the first to become idle, then first come, first served
}

// before reports whether e goes first: by its tag, and among equals by seq, whose highest bit
// says that it has used no less than the virtual time.
func (e *Entry[T]) before(f *Entry[T]) bool {
	return e.Tag < f.Tag || e.Tag == f.Tag && e.seq < f.seq
}

// heap of entries, each with four children: half the levels of one with two, and the children share a cache line
// or two. The lock of its shard guards it.
type heap[T any] struct {
	list []Entry[T]
	v    int64 // its virtual time
	seq  uint64
}

// head is the first entry's tag, doubled, plus 1 unless its actor is among those that have used less.
func (h *heap[T]) head() int64 {
	// Behind every key of an entry.
	if len(h.list) == 0 {
		return none
	}
	return min(h.list[0].Tag, math.MaxInt64/4)<<1 | int64(h.list[0].seq>>63)
}

// put raises the tag of e to the virtual time, which is how an entry that was idle loses the
// credit it had, and puts it where it belongs.
func (h *heap[T]) put(e Entry[T]) {
	// First come, first served, among equal tags of one shard.
	h.seq++
	e.seq = h.seq
	if e.Tag >= h.v {
		e.seq |= 1 << 63 // behind those that have used less, which ties hide
	}
	e.Tag = max(e.Tag, h.v)
	// From the end up: what is greater than e moves down one level.
	i := len(h.list)
	h.list = append(h.list, e)
	for i > 0 {
		// The parent: the children of i are 4i+1 to 4i+4.
		p := (i - 1) / 4
		if !e.before(&h.list[p]) {
			break
		}
		// Moved, not swapped: e is written once, at the end.
		h.list[i] = h.list[p]
		i = p
	}
	h.list[i] = e
}

// get takes the first entry. The heap is not empty.
func (h *heap[T]) get() Entry[T] {
	n := len(h.list) - 1
	// The last one leaves its place, and has to go somewhere: to the top, from which it sinks.
	top, last := h.list[0], h.list[n]
	h.list[n] = Entry[T]{} // it must not keep its actor
	h.list = h.list[:n]
	// The last entry fills the hole at the top, and sinks.
	if n > 0 {
		h.sink(last)
	} else if cap(h.list) > 1024 {
		h.list = nil // a burst has left it large
	}
	// The virtual time is the start tag of the latest turn.
	h.v = max(h.v, top.Tag)
	return top
}

// toFront makes entry i the first. The heap has no order then: only a drawn queue does so.
func (h *heap[T]) toFront(i int) { h.list[0], h.list[i] = h.list[i], h.list[0] }

// sink puts e in the place of the top, and moves it down to where it belongs.
func (h *heap[T]) sink(e Entry[T]) {
	i, n := 0, len(h.list)
	for {
		// The first child.
		k := 4*i + 1
		if k >= n {
			break
		}
		// The smallest of the children.
		least := k
		for j := k + 1; j < min(k+4, n); j++ {
			if h.list[j].before(&h.list[least]) {
				least = j
			}
		}
		// No child goes before e: this is its place.
		if !h.list[least].before(&e) {
			break
		}
		h.list[i] = h.list[least]
		i = least
	}
	h.list[i] = e
}
