package schedtest_test

import (
	"math"
	"slices"
	"time"

	"github.com/firq-go/firq"
)

// This is the reference's order of service.

func (r *reference[K, T]) blocked(t *refTenant[K, T]) bool {
	return t.says.inFlight > 0 && t.flights >= t.says.inFlight
}

func (r *reference[K, T]) quantum(t *refTenant[K, T]) int64 {
	if q := r.overrides[t.key]; q > 0 {
		return q
	}
	return max(t.says.quantum, 1)
}

func (r *reference[K, T]) join(f *refFlow[K, T], fresh bool) {
	l := &r.lists[f.level]
	turn := uint64(0)
	if !fresh && len(l.active) == 0 {
		if turn = 1; l.served {
			l.round, l.served = l.round+1, false
		}
	}
	r.forgive(f, turn)
	f.listed, f.inTurn, f.fresh = true, false, fresh
	f.deficit = min(f.deficit, 0)
	if fresh {
		l.fresh = append(l.fresh, f)
		return
	}
	l.activate(f)
}

func (l *refList[K, T]) activate(f *refFlow[K, T]) {
	l.active = append(l.active, f)
	if len(l.active) == 1 {
		if l.due == nil {
			l.due = map[*refFlow[K, T]]bool{}
		}
		clear(l.due)
		l.due[f] = true
	}
}

// visited ends the round if the flow was the last one that it had to visit.
func (l *refList[K, T]) visited(f *refFlow[K, T]) {
	if !l.due[f] {
		return
	}
	if delete(l.due, f); len(l.due) == 0 && len(l.active) > 0 {
		l.round, l.served = l.round+1, false
		for _, g := range l.active {
			l.due[g] = true
		}
	}
}

// forgive takes a quantum off the debt of a flow that is in no list for each round
// that has begun meanwhile.
func (r *reference[K, T]) forgive(f *refFlow[K, T], but uint64) {
	if f.listed {
		return
	}
	round := r.lists[f.level].round
	if f.deficit < 0 {
		f.deficit = int64(min(float64(f.deficit)+float64(max(round-f.since, but)-but)*float64(r.quantum(f.t)), 0))
	}
	f.since = round
}

func (r *reference[K, T]) leave(f *refFlow[K, T]) {
	if !f.listed {
		return
	}
	list := &r.lists[f.level].active
	if f.fresh {
		list = &r.lists[f.level].fresh
	}
	if i := slices.Index(*list, f); i == 0 && len(*list) > 1000 {
		*list = (*list)[1:] // a flood of tenants leaves from the head
	} else {
		*list = slices.Delete(*list, i, i+1)
	}
	f.listed, f.inTurn, f.fresh = false, false, false
	f.since = r.lists[f.level].round
	r.lists[f.level].visited(f)
}

// toTail moves the flow at the head to the ordinary list's tail.
func (r *reference[K, T]) toTail(f *refFlow[K, T]) {
	l := &r.lists[f.level]
	if f.fresh {
		copy(l.fresh, l.fresh[1:])
		l.fresh = l.fresh[:len(l.fresh)-1]
		l.activate(f)
	} else {
		copy(l.active, l.active[1:])
		l.active[len(l.active)-1] = f
		l.visited(f)
	}
	f.inTurn, f.fresh = false, false
}

// aged is a task's level after ageing.
func (r *reference[K, T]) aged(tk *refTask[K, T], now time.Time) int64 {
	level := int64(tk.Priority)
	if r.cfg.PriorityAging > 0 {
		level += int64(now.Sub(tk.at) / r.cfg.PriorityAging)
	}
	return level
}

// end returns the index in t.tasks[p] that the order takes from.
func (r *reference[K, T]) end(t *refTenant[K, T], p int) int {
	if t.lines[p] != nil {
		return r.chosen(t, p)
	}
	if r.cfg.Order == firq.LIFO || r.cfg.Order == firq.AdaptiveLIFO && t.newest {
		return len(t.tasks[p]) - 1
	}
	return 0
}

// front returns the task that the flow would deliver next, or nil.
func (r *reference[K, T]) front(f *refFlow[K, T], now time.Time) *refTask[K, T] {
	var best *refTask[K, T]
	for p := 6; p > 0; p-- {
		if len(f.t.tasks[p]) == 0 || r.flow(f.t, firq.Priority(p)) != f {
			continue
		}
		tk := &f.t.tasks[p][r.end(f.t, p)]
		if best == nil || r.outranks(tk, best, now) {
			best = tk
		}
	}
	return best
}

func (r *reference[K, T]) outranks(a, b *refTask[K, T], now time.Time) bool {
	x, y := r.aged(a, now), r.aged(b, now)
	return x > y || x == y && r.cfg.PriorityAging > 0 && a.at.Before(b.at)
}

// head returns the flow whose turn it is, or nil.
func (r *reference[K, T]) head(now time.Time) *refFlow[K, T] {
	var best *refFlow[K, T]
	for level := 6; level >= 0; level-- {
		l := &r.lists[level]
		list := l.fresh
		if len(list) == 0 {
			list = l.active
		}
		if len(list) == 0 {
			continue
		}
		f := list[0]
		tk := r.front(f, now)
		if tk == nil || best == nil && r.cfg.PriorityAging == 0 {
			return f // no task below can be before it
		}
		if best == nil || r.outranks(tk, r.front(best, now), now) {
			best = f
		}
	}
	return best
}

// next pays for the task to deliver, the front of the flow that it returns, or
// nil.
func (r *reference[K, T]) next(now time.Time, drops *[]refDrop[K, T]) *refFlow[K, T] {
	for emptyVisits := 0; ; {
		f := r.head(now)
		if f == nil {
			return nil
		}
		tk := r.front(f, now)
		if tk == nil {
			f.deficit = min(f.deficit, 0)
			if f.fresh {
				r.toTail(f)
			} else {
				r.leave(f)
			}
			continue
		}
		if p := int(tk.Priority); r.expire(f.t, p, r.end(f.t, p), now, drops) {
			continue
		}
		if !f.inTurn {
			f.inTurn = true
			if q := r.quantum(f.t); f.deficit > math.MaxInt64-q {
				f.deficit = math.MaxInt64
			} else {
				f.deficit += q
			}
		}
		if f.deficit >= tk.Cost {
			if r.late(f.t, int(tk.Priority), now, drops) {
				continue
			}
			f.deficit -= tk.Cost
			r.lists[f.level].served = true
			return f
		}
		r.toTail(f)
		if emptyVisits++; emptyVisits > len(r.lists[f.level].active)+1 {
			r.skip(f.level, now)
			emptyVisits = 0
		}
	}
}

// skip gives everybody as many refills as it takes until somebody can pay, less
// the one that comes with the next turn.
func (r *reference[K, T]) skip(level int, now time.Time) {
	fewest := uint64(math.MaxUint64)
	for _, f := range r.lists[level].active {
		tk := r.front(f, now)
		if tk == nil || tk.Cost <= f.deficit {
			return
		}
		need := uint64(tk.Cost) - uint64(f.deficit)
		fewest = min(fewest, (need-1)/uint64(r.quantum(f.t)))
	}
	for _, f := range r.lists[level].active {
		f.deficit += int64(fewest * uint64(r.quantum(f.t)))
	}
	if fewest > 0 {
		r.lists[level].round, r.lists[level].served = r.lists[level].round+fewest, false
	}
}

// expire drops a task whose deadline has passed.
func (r *reference[K, T]) expire(t *refTenant[K, T], p, i int, now time.Time, drops *[]refDrop[K, T]) bool {
	tk := &t.tasks[p][i]
	if tk.due.IsZero() || !now.After(tk.due) {
		return false
	}
	*drops = append(*drops, refDrop[K, T]{t.key, tk.Payload, firq.DropExpired})
	r.remove(t, p, i)
	r.stats.Expired++
	return true
}

// remove takes a task out and ends its ticket.
func (r *reference[K, T]) remove(t *refTenant[K, T], p, i int) {
	if tk := t.tasks[p][i].Ticket; tk != nil {
		tk.Release()
	}
	t.tasks[p][i].line.count(t.tasks[p][i].Flow, -1)
	if i == 0 {
		t.tasks[p][0] = refTask[K, T]{}
		t.tasks[p] = t.tasks[p][1:]
	} else {
		t.tasks[p] = slices.Delete(t.tasks[p], i, i+1)
	}
	t.n--
	r.queued--
	r.touch(t)
	r.watermark(t)
}

func (r *reference[K, T]) watermark(t *refTenant[K, T]) {
	if t.n > r.cfg.HighWater {
		t.newest = true
	} else if t.n < r.cfg.LowWater {
		t.newest = false
	}
}
