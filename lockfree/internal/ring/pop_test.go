package ring

// Put publishes a value.
func (s *Slots[V]) Put(ticket uint32, v V) {
	*s.Slot(ticket) = v
	s.Publish(ticket)
}

// Push draws a ticket for a value and publishes it; false: the ring is full.
func (r *MPSC[V]) Push(v V) bool {
	ticket, ok := r.Draw()
	if ok {
		r.Put(ticket, v)
	}
	return ok
}

// Pop is Next that takes the value out of its slot.
func (r *MPSC[V]) Pop(at *uint32, tail uint32) (v V, ok bool) {
	p := r.Next(at, tail)
	if p == nil {
		return v, false
	}
	var zero V
	v, *p = *p, zero // keep no payload alive
	return v, true
}
