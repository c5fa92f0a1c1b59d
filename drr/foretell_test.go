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
	earlier, placed int // its place among those of one round
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

// visits lists the active list. Nobody is visited in a round that is over, and
// a tenant in its turn gets its next quantum in the next round.
func visits(q *Queue[int, int]) (list []visit) {
	l := &q.lists[0]
	for f := l.active.head; f != nil; f = f.next {
		v := visitOf(q, f)
		v.due, v.placed = uint64(max(Apart(f.due, l.round), 0)), len(list)
		if f.inTurn {
			v.due = 1
		} else if v.due > 0 {
			v.earlier = 1
		}
		list = append(list, v)
	}
	return list
}

// stays moves everybody's turn to this round, if those that have to be visited in it will
// leave, and nobody has had a turn in it.
func stays(q *Queue[int, int], list []visit) {
	if q.lists[0].used || slices.ContainsFunc(list, func(v visit) bool { return v.cost > 0 && v.earlier == 0 }) {
		return
	}
	for i := range list {
		list[i].due, list[i].earlier = 0, 0
	}
}

func visitOf(q *Queue[int, int], s *seat[int, int]) visit {
	v := visit{key: s.tenant.Key, deficit: s.deficit, quantum: s.tenant.quantum, inTurn: s.inTurn}
	if h, _ := q.front(s, 0); !h.none() {
		v.cost = h.cost
	}
	return v
}

// foretold is what NextWithin has to answer: whom it serves, at what price, what
// deficit is left, and in which round, counted from this one; key is -1 if there is
// nobody.
type foretold struct {
	verdict  Verdict
	key      int
	cost     int64
	deficit  int64
	round    uint64
	anyRound bool // a newly active one, or a turn that goes on
}

// foretell works out the next delivery from the deficits alone. Turns that
// nobody can pay in are not taken but counted. The limit is a round, or none.
func foretell(q *Queue[int, int], limit uint64) foretold {
	list := visits(q)
	for f := q.lists[0].fresh.head; f != nil; f = f.next {
		v := visitOf(q, f)
		if !v.inTurn && v.cost > 0 {
			v.deficit += v.quantum
		}
		if v.cost > 0 && v.deficit >= v.cost {
			return foretold{Delivered, v.key, v.cost, v.deficit - v.cost, 0, true}
		}
		v.inTurn, v.placed = false, len(list)
		v.due, v.earlier = 1, 1
		if len(list) == 0 {
			v.due, v.earlier = 0, 0
		}
		list = append(list, v)
	}
	stays(q, list)
	var first *visit
	for i := range list {
		v := &list[i]
		if v.cost == 0 {
			continue
		}
		if v.refills() == 0 {
			return foretold{Delivered, v.key, v.cost, v.deficit - v.cost, 0, true}
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
	told := foretold{Delivered, first.key, first.cost, left, first.payRound(), false}
	if ahead := Apart(limit, q.Round()); limit != noLimit && (ahead < 0 || told.round > uint64(ahead)) {
		told.verdict = Ahead
	}
	return told
}

const noLimit = uint64(math.MaxUint64)
