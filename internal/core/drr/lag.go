package drr

import "math"

// Lag returns by how many rounds the tenant is behind the turn in which its front task
// was to be served; 0 if it has none, is blocked, or is not behind.
//
// The seat has a turn in each round from due on, and its deficit says in how many of them
// it can pay: so it is to be served in a certain round, and that is over once a tenant
// was served in a later one. What is late is what the round of the list has passed it by,
// or the round that others have come to with whom the queue shares time: current, plus
// ahead; current is not looked at if the queue shares time with no other. On top comes what
// its list has served in this round beyond what the round holds; see Excess. In a Queue
// that serves in turn all that is 0, whatever tasks cost.
func (q *Queue[K, T]) Lag(t *Tenant[K, T], now int64, current uint64, ahead float64) (rounds float64) {
	if t.queued == 0 || t.blocked {
		return 0
	}
	q.eachSeat(t, func(s *seat[K, T]) {
		if s.where == freed {
			return // it is next, or has its turn when it comes back
		}
		if h := q.look(s, now); !h.none() {
			rounds = max(rounds, q.lag(s, h.cost, current, ahead))
		}
	})
	return rounds
}

// lag is Lag of a seat whose front task has the given cost.
func (q *Queue[K, T]) lag(s *seat[K, T], cost int64, current uint64, ahead float64) float64 {
	l := &q.lists[s.level]
	passed, extra := Apart(l.round, s.visit), l.excess()
	if s.where == active && s == l.active.head && s.inTurn {
		extra = 0 // its own
	}
	if q.peers != nil {
		if p := Apart(current, s.visit); float64(p)+ahead > float64(passed)+extra {
			passed, extra = p, ahead
		}
	}
	quantum := uint64(s.tenant.quantum)
	switch {
	case s.deficit < cost:
		turns := (uint64(cost) - uint64(s.deficit) - 1) / quantum // after the next one, which is in round due
		if s.inTurn {
			turns++ // that of round due is the present one
		}
		if turns >= 1<<62 {
			return 0
		}
		passed -= int64(turns)
	case !s.inTurn: // it could have paid before
		extra += float64((uint64(s.deficit) - uint64(cost)) / quantum)
	}
	return max(0, float64(passed)+extra)
}

// Excess returns by how many rounds the furthest seat is ahead of the round that is being
// served: what it has taken in its turn without having the deficit, and turns that were
// taken in this round beyond one for each seat. In a Queue that serves in turn it is 0.
func (q *Queue[K, T]) Excess() float64 {
	most := 0.0
	for i := range q.lists {
		most = max(most, q.lists[i].excess())
	}
	return most
}

// audit is what Excess is computed from: kept apart from the deficits, so that it does not err
// when they do.
type audit struct {
	spare int    // turns of active seats that this round has still to come, as far as is known
	allow int64  // what the seat whose turn it is may spend in it
	spent uint64 // what it has spent
}

// turn notes that an active seat begins a turn, in which it may spend so much.
func (a *audit) turn(allow int64) {
	a.spare--
	a.allow, a.spent = allow, 0
}

// refund notes that the seat whose turn it is may spend more.
func (a *audit) refund(units int64) { a.allow = addSaturated(a.allow, units) }

// round notes that a round begins in which n seats have a turn.
func (a *audit) round(seats int) { a.spare = seats }

func (l *list[K, T]) excess() float64 {
	extra := float64(max(0, -l.audit.spare))
	if s := l.active.head; s != nil && s.inTurn {
		extra += max(0, float64(l.audit.spent)-float64(max(0, l.audit.allow))) / float64(s.tenant.quantum)
	}
	return min(extra, math.MaxInt64)
}
