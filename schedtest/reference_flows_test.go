package schedtest_test

import (
	"math"
	"slices"

	"github.com/firq-go/firq"
)

// This is how the reference's flows share. A line that owes stays in the round robin
// without tasks until its turns have paid.

type refLine struct {
	flow    uint64 // whose it was at first
	deficit int64
	inTurn  bool
	tasks   int
	of      map[uint64]int // by flow
}

// count notes that a task has come or gone.
func (l *refLine) count(flow uint64, by int) {
	if l == nil {
		return
	}
	l.tasks += by
	if l.of[flow] += by; l.of[flow] == 0 {
		delete(l.of, flow)
	}
}

// line returns the line for one more task of the tenant.
func (r *reference[K, T]) line(t *refTenant[K, T], task *firq.Task[T]) *refLine {
	if r.cfg.MaxFlows == 1 || task.Flow == 0 && !t.flowed {
		return nil
	}
	p := task.Priority
	if !t.flowed {
		t.flowed = true
		for p := range t.tasks { // what is there is of flow 0
			for i := range t.tasks[p] {
				if i == 0 {
					t.lines[p] = []*refLine{{of: map[uint64]int{}}}
				}
				t.tasks[p][i].line = t.lines[p][0]
				t.lines[p][0].count(0, 1)
			}
		}
	}
	var busy []*refLine
	for _, l := range t.lines[p] {
		if l.of[task.Flow] > 0 {
			return l
		}
		if l.tasks > 0 {
			busy = append(busy, l)
		}
	}
	if len(busy) >= r.cfg.MaxFlows {
		return busy[task.Flow%uint64(len(busy))]
	}
	for _, l := range t.lines[p] {
		if l.flow == task.Flow {
			return l
		}
	}
	l := &refLine{flow: task.Flow, of: map[uint64]int{}}
	t.lines[p] = append(t.lines[p], l)
	return l
}

// chosen returns the index of the task in t.tasks[p] that is next.
func (r *reference[K, T]) chosen(t *refTenant[K, T], p int) int {
	for emptyVisits := 0; ; {
		l := t.lines[p][0]
		i := r.endOf(t, p, l)
		if !l.inTurn {
			l.inTurn = true
			l.deficit += min(r.quantum(t), math.MaxInt64-max(l.deficit, 0))
		}
		if i >= 0 && l.deficit >= t.tasks[p][i].Cost {
			return i
		}
		l.inTurn = false
		t.lines[p] = t.lines[p][1:]
		if i < 0 {
			l.deficit = min(l.deficit, 0)
		}
		if i >= 0 || l.deficit < 0 {
			t.lines[p] = append(t.lines[p], l)
		}
		if emptyVisits++; emptyVisits > len(t.lines[p]) {
			emptyVisits = 0
			r.skipLines(t, p)
		}
	}
}

func (r *reference[K, T]) skipLines(t *refTenant[K, T], p int) {
	fewest, quantum := uint64(math.MaxUint64), uint64(r.quantum(t))
	for _, l := range t.lines[p] {
		if i := r.endOf(t, p, l); i >= 0 {
			if t.tasks[p][i].Cost <= l.deficit {
				return
			}
			fewest = min(fewest, (uint64(t.tasks[p][i].Cost)-uint64(l.deficit)-1)/quantum)
		}
	}
	for _, l := range t.lines[p] {
		if r.endOf(t, p, l) < 0 && fewest > uint64(-l.deficit)/quantum {
			l.deficit = 0
		} else {
			l.deficit += int64(fewest * quantum)
		}
	}
}

// endOf returns the index of the task that the order takes from a line, -1 for none.
func (r *reference[K, T]) endOf(t *refTenant[K, T], p int, l *refLine) int {
	if l.tasks == 0 {
		return -1
	}
	is := func(tk refTask[K, T]) bool { return tk.line == l }
	if r.cfg.Order == firq.LIFO || r.cfg.Order == firq.AdaptiveLIFO && t.newest {
		for i := len(t.tasks[p]) - 1; i >= 0; i-- {
			if is(t.tasks[p][i]) {
				return i
			}
		}
		return -1
	}
	return slices.IndexFunc(t.tasks[p], is)
}

// fullest returns the index of the task that a policy evicts.
func (t *refTenant[K, T]) fullest(p int, newest bool) int {
	n := map[*refLine]int{}
	var most *refLine
	for _, tk := range t.tasks[p] {
		if n[tk.line]++; n[tk.line] > n[most] {
			most = tk.line
		}
	}
	at := -1
	for i, tk := range t.tasks[p] {
		if tk.line == most && (at < 0 || newest) {
			at = i
		}
	}
	return at
}

func (t *refTenant[K, T]) chargeLine(p, flow uint64, delta int64) {
	if !t.flowed {
		return
	}
	var l *refLine
	if i := slices.IndexFunc(t.lines[p], func(l *refLine) bool { return l.of[flow] > 0 }); i >= 0 {
		l = t.lines[p][i]
	}
	if i := slices.IndexFunc(t.lines[p], func(l *refLine) bool { return l.flow == flow }); l == nil && i >= 0 {
		l = t.lines[p][i]
	}
	if l == nil {
		if delta < 0 {
			return
		}
		l = &refLine{flow: flow, of: map[uint64]int{}}
		t.lines[p] = append(t.lines[p], l)
	}
	const most = 1 << 60
	l.deficit = max(min(l.deficit-min(max(delta, -most), most), most), -most)
}
