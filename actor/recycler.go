package actor

// recycleTogether is how many envelopes go back to their method's pool together, because each
// trip there moves cache lines between processors.
const recycleTogether = 32

// recycler collects the envelopes of tells that a worker has handled, and gives them back to
// their method's pool together: when there are enough, or when the turn is over. Only its worker
// uses it.
type recycler struct {
	first *envelope // the others by next; all are of one method
	n     int
}

// put takes a tell whose handler is over.
func (r *recycler) put(e *envelope) {
	if !e.run.free() {
		return
	}
	if r.n > 0 && (r.n >= recycleTogether || r.first.m != e.m) {
		r.clear()
	}
	e.next, r.first = r.first, e
	r.n++
}

// clear gives back the envelopes and the pack that w has emptied in a turn.
func (w *worker) clear() {
	w.recycler.clear()
	if e := w.empty; e != nil {
		w.empty = nil
		e.over()
	}
}

func (r *recycler) clear() {
	if r.n > 0 {
		r.first.m.tells.Put(r.first)
		r.first, r.n = nil, 0
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
