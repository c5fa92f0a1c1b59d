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
	r.settle(f, turn, 0)
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
		l.visitAll()
	}
}

// visitAll begins a round.
func (l *refList[K, T]) visitAll() {
	if l.served {
		l.round, l.served = l.round+1, false
	}
	if l.due == nil {
		l.due = map[*refFlow[K, T]]bool{}
	}
	for _, g := range l.active {
		l.due[g] = true
	}
}

// lastFreed begins a round if only those are in the list that went first and came to the tail.
func (l *refList[K, T]) lastFreed() {
	if len(l.freed) == 0 && len(l.due) == 0 && len(l.active) > 0 {
		l.served = true
		l.visitAll()
	}
}

// settle gives a flow what the rounds bring that it took no turns in, but for so many: a
// quantum for each, up to most; without a task most is 0.
func (r *reference[K, T]) settle(f *refFlow[K, T], but uint64, most int64) {
	if f.listed && !f.freed {
		return
	}
	round := r.lists[f.level].round
	if rounds := max(round-f.since, but) - but; rounds > 0 {
		f.deficit = int64(min(float64(f.deficit)+float64(rounds)*float64(r.quantum(f.t)), float64(most)))
	}
	f.since = round
}

// look is settle before something changes.
func (r *reference[K, T]) look(f *refFlow[K, T]) {
	if tk := r.front(f, time.Now()); tk != nil && (f.freed || f.parked) {
		r.settle(f, 0, max(f.deficit, r.keeps(f, tk.Cost)))
	} else if !f.listed {
		r.settle(f, 0, 0)
	}
}

// keeps is how much a blocked flow keeps.
func (r *reference[K, T]) keeps(f *refFlow[K, T], cost int64) int64 {
	quantum := r.quantum(f.t)
	return quantum + max(quantum, cost)
}

// block is called when a tenant has reached its limit.
func (r *reference[K, T]) block(t *refTenant[K, T]) {
	for i := range t.flows {
		if f := &t.flows[i]; f.freed {
			r.leave(f)
			f.parked = !r.none(f)
		}
	}
}

// halt parks a flow whose turn it is, and whose tenant is at its limit. A turn that had not
// begun it has had all the same.
func (r *reference[K, T]) halt(f *refFlow[K, T]) {
	l := &r.lists[f.level]
	hadTurn := f.inTurn || f.fresh
	l.served = l.served || !f.fresh
	if r.leave(f); !hadTurn {
		f.since--
	}
	f.parked = true
}

// none reports whether the flow has no task.
func (r *reference[K, T]) none(f *refFlow[K, T]) bool {
	for p := range f.t.tasks {
		if len(f.t.tasks[p]) > 0 && r.flow(f.t, firq.Priority(p)) == f {
			return false
		}
	}
	return true
}

// ready reports whether some tenant that has tasks is below its limit.
func (r *reference[K, T]) ready() bool {
	for _, t := range r.tenants {
		if t.n > 0 && !r.blocked(t) {
			return true
		}
	}
	return false
}

func (r *reference[K, T]) leave(f *refFlow[K, T]) {
	if !f.listed {
		return
	}
	list := &r.lists[f.level].active
	switch {
	case f.fresh:
		list = &r.lists[f.level].fresh
	case f.freed:
		list = &r.lists[f.level].freed
	}
	if i := slices.Index(*list, f); i == 0 && len(*list) > 1000 {
		*list = (*list)[1:] // a flood of tenants leaves from the head
	} else {
		*list = slices.Delete(*list, i, i+1)
	}
	if !f.freed {
		f.since = r.lists[f.level].round
	}
	f.listed, f.inTurn, f.fresh, f.freed = false, false, false, false
	r.lists[f.level].visited(f)
	r.lists[f.level].lastFreed()
}

// toTail moves the flow at the head to the ordinary list's tail.
func (r *reference[K, T]) toTail(f *refFlow[K, T]) {
	l := &r.lists[f.level]
	switch {
	case f.fresh:
		copy(l.fresh, l.fresh[1:])
		l.fresh = l.fresh[:len(l.fresh)-1]
		l.activate(f)
	case f.freed:
		copy(l.freed, l.freed[1:])
		l.freed = l.freed[:len(l.freed)-1]
		l.active, l.served = append(l.active, f), true
		l.lastFreed()
	default:
		copy(l.active, l.active[1:])
		l.active[len(l.active)-1], l.served = f, true
		l.visited(f)
	}
	f.inTurn, f.fresh, f.freed = false, false, false
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
	ready := r.ready()
	for level := 6; level >= 0; level-- {
		l := &r.lists[level]
		list := l.fresh
		if len(list) == 0 {
			list = l.freed
		}
		if len(list) == 0 {
			list = l.active
		}
		if len(list) == 0 {
			continue
		}
		f := list[0]
		tk := r.front(f, now)
		if !ready {
			if tk == nil {
				return f // it has to be seen off
			}
			continue
		}
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
			if f.fresh || f.freed && r.cfg.NewTenantsFirst {
				r.toTail(f)
			} else {
				r.leave(f)
			}
			continue
		}
		if p := int(tk.Priority); r.expire(f.t, p, r.end(f.t, p), now, drops) {
			continue
		}
		if r.blocked(f.t) {
			r.halt(f)
			continue
		}
		if f.freed {
			most := r.keeps(f, tk.Cost)
			r.settle(f, 0, max(f.deficit, most))
			if f.deficit = min(f.deficit, most); f.deficit < tk.Cost {
				r.toTail(f)
				continue
			}
		} else if !f.inTurn {
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
			r.lists[f.level].served = r.lists[f.level].served || !f.freed
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
