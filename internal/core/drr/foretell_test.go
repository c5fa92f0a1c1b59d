package drr

import (
	"math"
	"slices"
)

// visit is a seat of the active list as the round robin will come to it.
type visit struct {
	key             int
	deficit         int64
	quantum, cost   int64  // cost 0: it has no task
	due             uint64 // in how many rounds it gets its next quantum
	inTurn          bool
	halts           bool // it has a task, but is blocked
	earlier, placed int  // its place among those of one round
}

// refills is how many quanta it needs, at least the one that begins a turn.
func (v *visit) refills() uint64 {
	if v.inTurn && v.deficit >= v.cost {
		return 0
	}
	if v.cost <= v.deficit {
		return 1
	}
	need := uint64(v.cost) - uint64(v.deficit)
	return (need-1)/uint64(v.quantum) + 1
}

// payRound is the round in which it can pay, counted from this one.
func (v *visit) payRound() uint64 { return v.due + v.refills() - 1 }

// before says which of two tenants that can pay in the same round is visited first.
func (v *visit) before(w *visit) bool {
	if v.payRound() == 0 || v.earlier == w.earlier {
		return v.placed < w.placed // this round goes on from the head
	}
	return v.earlier > w.earlier // those of the next round are at the tail until this one is over
}

// visits lists the active list. No seat is visited in a round that is over, and
// a tenant in its turn gets its next quantum in the next round.
func visits(q *Queue[int, int]) (list []visit) {
	l := &q.lists[0]
	for f := range l.active.all {
		v := visitOf(q, f)
		v.due, v.placed = uint64(max(Apart(f.visit, l.round), 0)), len(list)
		if f.inTurn {
			v.due = 1
		} else if v.due > 0 {
			v.earlier = 1
		}
		list = append(list, v)
	}
	return list
}

// stays moves the turns of all seats to this round, if those that have to be visited in it will
// leave, and none has had a turn in it.
func stays(used bool, list []visit) {
	if used || slices.ContainsFunc(list, func(v visit) bool { return (v.cost > 0 || v.halts) && v.earlier == 0 }) {
		return
	}
	for i := range list {
		list[i].due, list[i].earlier = 0, 0
	}
}

// freedVisits appends those that were blocked and cannot pay, and returns the first that can.
func freedVisits(q *Queue[int, int], list []visit) (all []visit, goes *visit, used bool) {
	used = q.lists[0].used
	for f := range q.lists[0].freed.all {
		v := visitOf(q, f)
		if v.cost == 0 {
			continue
		}
		most := math.Min(float64(v.quantum)+math.Max(float64(v.quantum), float64(v.cost)), math.MaxInt64)
		rounds := (q.lists[0].clock() - f.visit) & lastRound
		if float64(v.deficit)+float64(rounds)*float64(v.quantum) < most {
			v.deficit += int64(rounds) * v.quantum
		} else {
			v.deficit = keeps(v.quantum, v.cost)
		}
		if v.deficit >= v.cost {
			return list, &v, used
		}
		v.placed, v.due, v.earlier, used = len(list), 1, 1, true
		list = append(list, v)
	}
	return list, nil, used
}

func visitOf(q *Queue[int, int], s *seat[int, int]) visit {
	v := visit{key: s.tenant.Key, deficit: s.deficit, quantum: s.tenant.quantum, inTurn: s.inTurn}
	if h, _ := q.front(s, 0); s.tenant.blocked {
		v.halts = !h.none()
	} else if !h.none() {
		v.cost = h.cost
	}
	return v
}

// foretold is what NextWithin has to answer: whom it serves, at what price, what
// deficit is left, and in which round, counted from this one; key is -1 if there is
// none.
type foretold struct {
	verdict  Verdict
	key      int
	cost     int64
	deficit  int64
	round    uint64
	anyRound bool // a newly active one, one that was blocked, or a turn that goes on
	freed    bool // one that was blocked
}

// foretell works out the next delivery from the deficits alone. Turns that
// no seat can pay in are not taken but counted. The limit is a round, or none.
func foretell(q *Queue[int, int], limit uint64) foretold {
	if q.ready == 0 {
		return foretold{verdict: Empty, key: -1}
	}
	list := visits(q)
	for f := range q.lists[0].fresh.all {
		v := visitOf(q, f)
		if v.halts {
			continue
		}
		if !v.inTurn && v.cost > 0 {
			v.deficit += v.quantum
		}
		if v.cost > 0 && v.deficit >= v.cost {
			return foretold{Delivered, v.key, v.cost, v.deficit - v.cost, 0, true, false}
		}
		v.inTurn, v.placed = false, len(list)
		v.due, v.earlier = 1, 1
		if len(list) == 0 {
			v.due, v.earlier = 0, 0
		}
		list = append(list, v)
	}
	list, goes, used := freedVisits(q, list)
	if goes != nil {
		return foretold{Delivered, goes.key, goes.cost, goes.deficit - goes.cost, 0, true, true}
	}
	stays(used, list)
	var first *visit
	for i := range list {
		v := &list[i]
		if v.cost == 0 {
			continue
		}
		if v.refills() == 0 {
			return foretold{Delivered, v.key, v.cost, v.deficit - v.cost, 0, true, false}
		}
		if first == nil || v.payRound() < first.payRound() ||
			v.payRound() == first.payRound() && v.before(first) {
			first = v
		}
	}
	if first == nil {
		return foretold{verdict: Empty, key: -1}
	}
	left := first.deficit + int64(first.refills()*uint64(first.quantum)) - first.cost
	told := foretold{Delivered, first.key, first.cost, left, first.payRound(), false, false}
	if ahead := Apart(limit, q.Round()); limit != noLimit && (ahead < 0 || told.round > uint64(ahead)) {
		told.verdict = Ahead
	}
	return told
}

const noLimit = uint64(math.MaxUint64)
