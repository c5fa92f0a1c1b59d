package ring

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
