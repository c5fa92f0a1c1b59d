package drr

import "fmt"

// flows is census for the round robin of a level that is split.
func (c *census[K, T]) flows(q *Queue[K, T], t *Tenant[K, T], level int) (queued int, err error) {
	x := t.more.flows[level]
	if l := t.level(level); !l.empty() || l.row.first != nil {
		return 0, fmt.Errorf("level %d: split, and has its own line", level)
	}
	guests := map[uint64]int32{}
	queues, marked := 0, x.mark == nil
	var prev *flow[K, T]
	for h := x.lines.head; h != nil; h = h.next {
		marked = marked || h == x.mark
		n, err := c.line(t, level, &h.line, func(e *entry[K, T]) error {
			f := x.find(q.hash(e.flow), e.flow)
			if f == nil || f.home != h {
				return fmt.Errorf("level %d: task %v of flow %d is in the queue of %d", level, e.payload, e.flow, h.id)
			}
			if f != h {
				guests[e.flow]++
			}
			return nil
		})
		switch {
		case err != nil:
			return 0, err
		case h.prev != prev, h.home != h, int(h.held) != n, x.open[h.at] != h, h.inTurn && prev != nil,
			n == 0 && (prev != nil || !h.inTurn), h.queued != 0:
			return 0, fmt.Errorf("level %d: the queue of flow %d with %d tasks is wrong: %+v", level, h.id, n, h)
		}
		prev, queues, queued = h, queues+1, queued+n
	}
	owing := 0
	for f := x.debtors.head; f != nil; f = f.next {
		if owing++; f.home != nil || f.deficit > 0 || !f.line.empty() || f.queued != 0 {
			return 0, fmt.Errorf("level %d: debtor %d is wrong: %+v", level, f.id, f)
		}
	}
	n := 0
	for _, f := range x.table {
		for ; f != nil; f = f.chain {
			if n++; f.queued != guests[f.id] || f.home != nil && f.home != f && f.queued == 0 {
				return 0, fmt.Errorf("level %d: guest %d has %d tasks, counted %d", level, f.id, f.queued, guests[f.id])
			}
		}
	}
	got := [...]int{len(x.open), int(x.n), int(x.tasks), int(x.owing)}
	want := [...]int{queues, queues + len(guests) + owing, queued, owing}
	if got != want || n != want[1] || x.lines.tail != prev || !marked || queues > q.cfg.MaxFlows || owing > q.cfg.MaxFlows {
		return 0, fmt.Errorf("level %d: open, n, tasks, owing: %v, counted %v, %d in the table, marked: %v", level, got, want, n, marked)
	}
	if (x.mark == nil) != (queues == 0) || queued == 0 && (queues > 0 || owing == 0) {
		return 0, fmt.Errorf("level %d: nothing needs this round robin: %+v", level, x)
	}
	return queued, nil
}
