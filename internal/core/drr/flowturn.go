package drr

import (
	"math"
	"math/bits"

	"github.com/firq-go/firq"
)

// choose returns the task that is next among the flows, of which one has some.
func (q *Queue[K, T]) choose(t *Tenant[K, T], x *flows[K, T]) (next head, e *entry[K, T]) {
	for emptyVisits := 0; ; {
		h := x.lines.head
		next, e = q.frontOfLine(t, &h.line)
		switch {
		case x.chosen:
			return next, e
		case next.none():
			q.closeLine(x, h)
			continue
		case !h.inTurn:
			h.inTurn = true
			h.deficit = addSaturated(h.deficit, t.quantum)
		}
		if h.deficit >= next.cost {
			x.chosen = q.cfg.Order == firq.FIFO
			return next, e
		}
		h.inTurn = false
		x.lines.remove(h)
		x.lines.push(h)
		if h == x.mark {
			x.nextRound()
		}
		if emptyVisits++; emptyVisits >= len(x.open) {
			emptyVisits = 0
			q.skipTurns(t, x)
		}
	}
}

// foresee returns the task that choose would return, and changes nothing.
func (q *Queue[K, T]) foresee(t *Tenant[K, T], x *flows[K, T]) (next head) {
	if x.chosen {
		next, _ = q.frontOfLine(t, &x.lines.head.line)
		return next
	}
	first := uint64(math.MaxUint64) // after how many passes over the lines
	for h := x.lines.head; h != nil; h = h.next {
		e, _ := q.frontOfLine(t, &h.line)
		if e.none() {
			continue
		}
		passes := uint64(1)
		if e.cost > h.deficit {
			passes = (uint64(e.cost)-uint64(h.deficit)-1)/uint64(t.quantum) + 1
		}
		switch { // only the head is in its turn
		case h.inTurn && h.deficit >= e.cost:
			return e
		case h.inTurn:
			passes++ // its next one is after those of all the others
		}
		if passes < first {
			next, first = e, passes
		}
	}
	return next
}

// skipTurns is skip for the lines of a tenant, which no other tenant has to wait for.
func (q *Queue[K, T]) skipTurns(t *Tenant[K, T], x *flows[K, T]) {
	fewest, quantum := uint64(math.MaxUint64), uint64(t.quantum)
	for _, h := range x.open {
		e, _ := q.frontOfLine(t, &h.line)
		if e.cost <= h.deficit {
			return // it was given something back
		}
		fewest = min(fewest, (uint64(e.cost)-uint64(h.deficit)-1)/quantum+1)
	}
	turns := fewest - 1
	if turns == 0 {
		return
	}
	for _, h := range x.open {
		h.deficit += int64(turns * quantum)
	}
	// The count of rounds could come round to where a debtor left, if many were passed
	// many times.
	if x.round, x.served = x.round+turns, false; turns >= 1<<32 {
		x.forgiveAll(t.quantum)
	}
}

// delivers notes that the chosen task is delivered; e is nil if it is in a slot.
func (q *Queue[K, T]) delivers(s *seat[K, T], cost int64, e *entry[K, T]) {
	level := normalLevel
	if e != nil {
		level = int(e.priority) - 1
	}
	if s.split&(1<<level) != 0 {
		x := s.tenant.more.flows[level]
		x.served = true
		x.lines.head.pay(cost)
	}
}

// pay moves the deficit of a line, or of a debtor, by -cost.
func (f *flow[K, T]) pay(cost int64) {
	if f.deficit < 0 { // Charge has come in between: the sum may not overflow
		cost = min(cost, maxDebt)
	}
	f.deficit = max(f.deficit-cost, -maxDebt)
}

// price returns the cost of the task that is likely to be the front of a seat which has
// one. It chooses nothing, for more may be on its way.
func (q *Queue[K, T]) price(s *seat[K, T]) int64 {
	if s.split == 0 {
		h, _ := q.front(s, 0)
		return h.cost
	}
	t, level := s.tenant, int(s.level)
	if !q.cfg.Across {
		level = bits.Len8(t.mask&anyLevel) - 1
	}
	l := t.level(level)
	if s.split&(1<<level) != 0 {
		f := t.more.flows[level].lines.head
		if f.held == 0 {
			f = f.next
		}
		l = &f.line
	}
	h, _ := q.frontOfLine(t, l)
	return h.cost
}
