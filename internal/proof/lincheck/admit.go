package lincheck

import "github.com/firq-go/firq"

// acceptAll is for the tasks of one call, in order. With Relaxation.Batches the places
// of later ones may be taken before the first can be seen.
func (b *steps) acceptAll(ids []int) {
	from := [3]int{b.last, b.last, b.last}
	for _, id := range ids {
		if b.loose && b.Relaxation.Batches && !b.evicts() {
			from = b.acceptLoosely(id, b.Tasks[id].Tenant, from)
		} else {
			b.accept(id)
		}
	}
}

func (b *steps) accept(id int) {
	t := b.Tasks[id].Tenant
	switch {
	case b.evicts():
		b.acceptEvicting(id, t)
	case b.loose:
		b.acceptLoosely(id, t, [3]int{b.last, b.last, b.last})
	default:
		b.then("accept", func(s *state) bool { return b.reserve(s, t) && b.publish(s, id) })
	}
}

// acceptLoosely adds the steps of a task: it takes its ticket, its tenant's place and
// its place of all after the three steps from, and can be seen after the last one. It
// returns the steps that take them.
func (b *steps) acceptLoosely(id, t int, from [3]int) [3]int {
	ticket := from[0]
	if b.Relaxation.Tickets {
		ticket = b.beside("take a ticket", from[0], func(s *state) bool {
			if s.tenants[t].lined == maxQueued {
				return false // each ticket goes with a place, and there are fewer places
			}
			b.line(s, id)
			return true
		})
	}
	var place, reserved int
	if b.Relaxation.Limits && b.changes {
		place = b.beside("reserve a place", from[1], func(s *state) bool { return b.reservePlace(s, t) })
		reserved = b.beside("reserve", from[2], func(s *state) bool { return b.reserveCredit(s, t) }, place)
	} else {
		reserved = b.beside("reserve", from[2], func(s *state) bool { return b.reserve(s, t) })
		place = reserved
	}
	b.last = b.beside("publish", b.last, func(s *state) bool { return b.publish(s, id) }, ticket, reserved)
	return [3]int{ticket, place, reserved}
}

func (b *steps) acceptEvicting(id, t int) {
	full := func(s *state) bool { return b.globalFull(s) || b.tenantFull(s, t) }
	word, bit := b.call/64, uint64(1)<<(b.call%64)
	b.then("accept", func(s *state) bool {
		evicts := full(s)
		if b.stopped(s, t) || evicts && !b.evict(s, id) || !b.reserve(s, t) {
			return false
		}
		if evicts || !b.loose { // the evicted one's place is taken under the lock
			return b.publish(s, id)
		}
		s.holding[word] |= bit
		return true
	})
	if b.loose {
		b.then("publish", func(s *state) bool {
			reserved := s.holding[word]&bit != 0
			s.holding[word] &^= bit
			return !reserved || b.publish(s, id)
		})
	}
}

func (b *steps) refuse(id int, why error) {
	t := b.Tasks[id].Tenant
	if why == firq.ErrClosed {
		b.refuseClosed(t)
		return
	}
	full := func(s *state) bool { return b.globalFull(s) }
	if why == firq.ErrTenantFull {
		full = func(s *state) bool { return b.tenantFull(s, t) }
	}
	last := func(s *state) bool { return !b.evicts() || b.victim(s, id) == 0 }
	if !b.loose {
		b.then("refuse", func(s *state) bool {
			return !b.stopped(s, t) && full(s) && (why == firq.ErrGlobalFull || !b.globalFull(s)) && last(s)
		})
		return
	}
	// It looks at one thing after the other. What it then meets may be the places of
	// calls that are just being refused because of a Close.
	ending := func(s *state) bool { return s.stopped|s.life != 0 }
	b.then("sees it open", func(s *state) bool { return !b.stopped(s, t) })
	open := b.last
	b.then("sees it full", func(s *state) bool { return ending(s) || full(s) })
	if why == firq.ErrTenantFull {
		b.beside("sees other room", open, func(s *state) bool { return ending(s) || !b.globalFull(s) })
	}
	if b.evicts() {
		b.then("finds no victim", func(s *state) bool { return ending(s) || last(s) })
	}
}

// refuseClosed: such a call may have had a place for a while.
func (b *steps) refuseClosed(t int) {
	if b.loose {
		word, bit := b.call/64, uint64(1)<<(b.call%64)
		b.then("hold a place", func(s *state) bool {
			if !b.stopped(s, t) && !b.globalFull(s) {
				s.credits++
				s.holding[word] |= bit
			}
			return true
		})
		b.then("let it go", func(s *state) bool {
			if s.holding[word]&bit != 0 {
				s.credits--
				s.holding[word] &^= bit
			}
			return true
		})
	}
	b.then("refuse", func(s *state) bool { return b.stopped(s, t) })
}
