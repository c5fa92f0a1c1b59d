package drr

// head returns the seat whose turn it is, nil if the lists are empty.
func (q *Queue[K, T]) head(now int64) *seat[K, T] {
	if !q.cfg.Across {
		return q.lists[0].head()
	}
	return q.headOfAll(now)
}

// headOfAll is head with Across.
func (q *Queue[K, T]) headOfAll(now int64) *seat[K, T] {
	var best *seat[K, T]
	var oldest head
	most := int64(0)
	for l := levels - 1; l >= 0; l-- {
		s := q.lists[l].head()
		if s == nil {
			continue
		}
		h, _ := q.front(s, now)
		if h.none() || q.cfg.Aging == 0 && best == nil {
			return s // none below can be before it
		}
		// The tenant that waited longer wins a tie.
		if a := q.aged(h, l, now); best == nil || a > most || a == most && h.enqueued < oldest.enqueued {
			best, oldest, most = s, h, a
		}
	}
	return best
}

func (l *list[K, T]) head() *seat[K, T] {
	switch {
	case l.fresh.head != nil:
		return l.fresh.head
	case l.freed.head != nil:
		return l.freed.head
	}
	return l.active.head
}
