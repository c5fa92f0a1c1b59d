package drr

import (
	"fmt"
	"math"
	"math/rand/v2"
	"testing"

	"github.com/firq-go/firq"
)

func costing(cost int64) Task[int] {
	return Task[int]{Cost: cost, Due: NoDeadline, Priority: firq.PriorityNormal}
}

func newTenants(n int, quantum func(int) int64) []*Tenant[int, int] {
	ts := make([]*Tenant[int, int], n)
	for i := range ts {
		ts[i] = new(Tenant[int, int])
		ts[i].Init(i, quantum(i))
	}
	return ts
}

// Whatever tasks and quanta are, whichever tenants come, go, are blocked or charged: none is
// behind in a queue that serves in turn.
func TestNoTenantLags(t *testing.T) {
	for seed := range uint64(400) {
		r := rand.New(rand.NewPCG(seed, 1))
		cfg := Config{NewFirst: seed%3 == 1, Across: seed%5 == 4}
		q := New[int, int](cfg, idleHost{})
		ts := newTenants(1+r.IntN(6), func(int) int64 { return 1 + r.Int64N(1+r.Int64N(20)) })
		most := []int64{1, 30, 1_000_000, math.MaxInt64 / 4}[r.IntN(4)]
		blocked := make([]bool, len(ts))
		for step := range 400 {
			x := ts[r.IntN(len(ts))]
			switch r.IntN(8) {
			case 0, 1, 2:
				task := costing(1 + r.Int64N(most))
				if cfg.Across {
					task.Priority = firq.Priority(1 + r.IntN(6))
				}
				push(q, x, task)
			case 3:
				if blocked[x.Key] {
					q.Unblock(x)
				} else {
					q.Block(x)
				}
				blocked[x.Key] = !blocked[x.Key]
			case 4:
				q.Charge(x, firq.PriorityNormal, r.Int64N(most)) // a debt; a refund is a lag
			default:
				for _, _, v := q.Next(0); v == Again; _, _, v = q.Next(0) {
				}
			}
			if x := q.Excess(); x != 0 {
				t.Fatalf("seed %d, step %d: an excess of %v", seed, step, x)
			}
			for _, x := range ts {
				// A newcomer that goes first may see a round begin for each other one.
				if lag := q.Lag(x, 0, 0, 0); lag != 0 && !(cfg.NewFirst && x.seat.where != active && lag <= float64(len(ts))) {
					t.Fatalf("seed %d, step %d: %d is behind by %v", seed, step, x.Key, lag)
				}
			}
		}
	}
}

// A faulty queue: what is done to it before each delivery, so that the victim is not at
// the head when the turn of the tenant there ends.
var lagFaults = map[string]func(q *Queue[int, int], victim *Tenant[int, int]){
	"never visited": func(q *Queue[int, int], victim *Tenant[int, int]) { // others go before it
		q.lists[0].active.remove(&victim.seat)
		q.lists[0].active.push(&victim.seat)
	},
	"lost": func(q *Queue[int, int], victim *Tenant[int, int]) {
		if victim.seat.where == active {
			q.detach(&victim.seat)
		}
	},
	"its turns are over immediately": func(q *Queue[int, int], victim *Tenant[int, int]) {
		l, s := &q.lists[0], &victim.seat
		if l.active.head.next != s {
			return
		}
		l.active.remove(s)
		l.active.push(s)
		s.deficit += victim.quantum
		due := s.visit
		s.visit = l.round + 1
		l.visited(due)
	},
	"another one's turn does not end": func(q *Queue[int, int], _ *Tenant[int, int]) {
		if s := q.lists[0].active.head; s.inTurn {
			s.deficit = 1 << 20
		}
	},
	"another one stays at the head": func(q *Queue[int, int], _ *Tenant[int, int]) {
		if s := q.lists[0].active.head; s.inTurn && s.deficit == 0 {
			due := s.visit
			s.inTurn, s.visit = false, q.lists[0].round+1
			q.lists[0].visited(due)
		}
	},
}

// A tenant that is passed over falls behind, for whatever reason, by as much as others
// are served in that time; the others do not.
func TestLagOfFaults(t *testing.T) {
	for name, fault := range lagFaults {
		t.Run(name, func(t *testing.T) {
			q := New[int, int](Config{}, idleHost{})
			ts := newTenants(3, func(int) int64 { return 2 })
			for range 1000 {
				for _, x := range ts {
					push(q, x, costing(1))
				}
			}
			victim := ts[2]
			for q.lists[0].active.head.tenant.Key != 0 || victim.Len() > 990 {
				q.Next(0)
			}
			had := victim.Len()
			for range 900 {
				fault(q, victim)
				q.Next(0)
			}
			if had-victim.Len() > 2 {
				t.Fatalf("the fault does not starve: %d served", had-victim.Len())
			}
			lag := q.Lag(victim, 0, 0, 0)
			if lag < 200 || lag > 460 {
				t.Errorf("a lag of %v; 900 tasks were served to 2 others, 2 per round", lag)
			}
			served := ts[0]
			if ts[1].Len() < served.Len() {
				served = ts[1]
			}
			if other := q.Lag(served, 0, 0, 0); other > 1 && other >= lag {
				t.Errorf("the tenant that was served most is behind by %v, the victim by %v", other, lag)
			}
		})
	}
}

// What the deficit explains is no lag: a task that takes many rounds, and what is left
// of it when others have come that far.
func TestLagOfCostlyTasks(t *testing.T) {
	q := New[int, int](Config{}, idleHost{})
	q.Share(lonePeers{})
	ts := newTenants(2, func(int) int64 { return 3 })
	push(q, ts[0], costing(30))   // to be served in the 10th round from now
	push(q, ts[1], costing(3000)) // in the 1,000th
	first := q.Round()
	for _, c := range []struct {
		rounds uint64
		want   [2]float64
	}{{0, [2]float64{0, 0}}, {9, [2]float64{0, 0}}, {10, [2]float64{1, 0}}, {109, [2]float64{100, 0}}, {1010, [2]float64{1001, 10}}} {
		for i, x := range ts {
			// The second one joined behind the first: its turns begin one round later.
			if got := q.Lag(x, 0, first+c.rounds, 0); got != c.want[i] {
				t.Errorf("%d rounds on: tenant %d is behind by %v, want %v", c.rounds, i, got, c.want[i])
			}
		}
	}
	if got := q.Lag(ts[0], 0, first, 20.5); got != 11.5 {
		t.Errorf("behind one that is ahead by 20.5: %v, want 11.5", got)
	}
	q.Block(ts[0])
	if got := q.Lag(ts[0], 0, first+1000, 0); got != 0 {
		t.Errorf("blocked, and behind by %v", got)
	}
}

// A refund is a claim: it is a lag until it is used.
func TestLagOfRefund(t *testing.T) {
	q := New[int, int](Config{}, idleHost{})
	ts := newTenants(2, func(int) int64 { return 1 })
	for _, x := range ts {
		for range 40 {
			push(q, x, costing(1))
		}
	}
	q.Next(0)
	q.Next(0)
	q.Charge(ts[0], firq.PriorityNormal, -10)
	got := fmt.Sprint(q.Lag(ts[0], 0, 0, 0), q.Lag(ts[1], 0, 0, 0))
	for range 13 {
		q.Next(0)
	}
	if after := fmt.Sprint(q.Lag(ts[0], 0, 0, 0), q.Lag(ts[1], 0, 0, 0)); got != "9 0" && got != "10 0" || after != "0 0" {
		t.Errorf("lags %s, then %s", got, after)
	}
}

// In its turn, with nothing left to spend, a tenant has its next turn in the next round;
// rounds that are set anew have a turn for every seat; and a tenant that is refunded in its turn may
// spend more in it.
func TestLagInTurn(t *testing.T) {
	q := New[int, int](Config{}, idleHost{})
	q.Share(lonePeers{})
	ts := newTenants(3, func(int) int64 { return 1 })
	for _, x := range ts {
		for range 40 {
			push(q, x, costing(1))
		}
	}
	q.Next(0)
	if got := q.Lag(ts[0], 0, q.Round()+1, 0); got != 0 {
		t.Errorf("served in this round, and behind by %v in the next", got)
	}
	q.Next(0)
	for range 5 {
		q.SetRound(q.Round() + 7)
		for range 2 {
			if q.Next(0); q.Excess() != 0 {
				t.Fatalf("an excess of %v after SetRound", q.Excess())
			}
		}
	}
	x, _, _ := q.Next(0)
	q.Charge(x, firq.PriorityNormal, -5)
	for range 5 {
		if y, _, _ := q.Next(0); y != x || q.Excess() != 0 {
			t.Fatalf("%d is served, with an excess of %v; %d was refunded in its turn", y.Key, q.Excess(), x.Key)
		}
	}
}

// lonePeers lets the queue do as it likes, in counted rounds.
type lonePeers struct{}

func (lonePeers) Pass(uint64) Passage { return PassCounted }
func (lonePeers) Back()               {}
