package drr

import "fmt"

// compareFlows compares what takes turns within a seat.
func (w *twin) compareFlows(s *seat[int, int], mt *modelTenant) error {
	for level := range levels {
		if w.q.cfg.Across && level != int(s.level) {
			continue
		}
		mx := mt.flows[level]
		if (s.split&(1<<level) != 0) != (mx != nil) {
			return fmt.Errorf("level %d: split: %v", level, mx == nil)
		}
		if mx == nil {
			continue
		}
		x := s.tenant.more.flows[level]
		if len(x.open) != len(mx.open) || int(x.owing) != len(mx.debtors) || x.chosen != mx.chosen || x.served != mx.served {
			return fmt.Errorf("level %d: %d queues, %d debtors, chosen %v, served %v, want %d, %d, %v, %v", level,
				len(x.open), x.owing, x.chosen, x.served, len(mx.open), len(mx.debtors), mx.chosen, mx.served)
		}
		h := x.lines.head
		for i, mh := range mx.queues {
			if h.id != mh.opener || h.deficit != mh.deficit || h.inTurn != mh.inTurn || h.shared != mh.shared || int(h.held) != len(mh.payloads) {
				return fmt.Errorf("level %d: queue %d is %+v, want %+v", level, i, h, mh)
			}
			h = h.next
		}
		f := x.debtors.head
		for i, d := range mx.debtors {
			g := *f
			x.forgive(&g, mt.quantum, 0)
			if debt := max(0, d.debt-d.away*mt.quantum); g.id != d.id || g.deficit != -debt {
				return fmt.Errorf("level %d: debtor %d is %d with %d, want %d with %d", level, i, g.id, g.deficit, d.id, -debt)
			}
			f = f.next
		}
	}
	return nil
}
