package actor

// shelved is how many envelopes go back to their method's pool together: a trip there
// crosses processors.
const shelved = 32

// shelf is where a hand keeps the envelopes of the tells that it has handled, until
// there are enough, or the turn is over. Only its hand uses it.
type shelf struct {
	first *envelope // the others by next; all are of one method
	n     int
}

// put takes a tell whose handler is over.
func (h *shelf) put(e *envelope) {
	if !e.run.free() {
		return
	}
	if h.n > 0 && (h.n >= shelved || h.first.m != e.m) {
		h.clear()
	}
	e.next, h.first = h.first, e
	h.n++
}

// clear gives back the envelopes and the pack that w has emptied in a turn.
func (w *hand) clear() {
	w.shelf.clear()
	if e := w.empty; e != nil {
		w.empty = nil
		e.over()
	}
}

func (h *shelf) clear() {
	if h.n > 0 {
		h.first.m.tells.Put(h.first)
		h.first, h.n = nil, 0
	}
}

// over gives back a tell that will not be handled; it is in no list any more.
func (e *envelope) over() {
	if b := e.run.bundle(); b != nil {
		b.discard()
		return
	}
	if e.run.free() {
		e.next = nil
		e.m.tells.Put(e)
	}
}
