package drr

import (
	"math"
	"testing"

	"github.com/firq-go/firq"
)

// friend is a peer that says yes or no, and keeps what it was told.
type friend struct {
	q      *Queue[int, int]
	no     bool
	alone  bool
	passed []uint64
	backs  []uint64 // the round that is said, for which the tag goes back
	to     uint64   // where the others have gone to in between
}

func (p *friend) Pass(round uint64) Passage {
	if p.no {
		return PassWait
	}
	p.passed = append(p.passed, round)
	if p.alone {
		return PassUncounted
	}
	return PassCounted
}

func (p *friend) Back() {
	if !p.q.Waiting() {
		panic("Back of a queue that does not wait")
	}
	p.backs = append(p.backs, p.q.Round())
	p.q.CatchUp(p.to)
}

// Empty turns are passed when the peers let it pass them, and not before; the peers
// hear of what takes the tag back, before it does.
func TestPeers(t *testing.T) {
	for _, base := range []uint64{0, 1<<63 - 50} {
		q, tenants := makeTenants(Config{}, 2, 10)
		q.SetRound(base)
		p := &friend{q: q, no: true, to: base}
		q.Share(p)
		push(q, tenants[0], plainTask(1, 1000))
		for range 3 {
			if _, _, v := within(q, 0, (base+200)&lastRound); v != Ahead || !q.Waiting() || Apart(q.Round(), base) > 1 {
				t.Fatalf("base %d: verdict %d in round %d, waiting %t; want ahead, with the round as it was", base, v, q.Round(), q.Waiting())
			}
		}
		p.to = (base + 40) & lastRound
		push(q, tenants[1], plainTask(2, 10))
		if len(p.backs) != 1 || q.Round() != p.to || q.Waiting() {
			t.Fatalf("base %d: told of %v, in round %d, waiting %t; want once, and round %d", base, p.backs, q.Round(), q.Waiting(), p.to)
		}
		if _, task, v := within(q, 0, (base+200)&lastRound); v != Delivered || task.Payload != 2 || len(p.passed) > 0 {
			t.Fatalf("base %d: verdict %d, task %d, passed %v; want the newcomer's, for which nothing is passed", base, v, task.Payload, p.passed)
		}
		if _, _, v := within(q, 0, (base+200)&lastRound); v != Ahead {
			t.Fatalf("base %d: verdict %d, want ahead", base, v)
		}
		p.no = false
		if _, task, v := within(q, 0, (base+200)&lastRound); v != Delivered || task.Payload != 1 {
			t.Fatalf("base %d: verdict %d, task %d", base, v, task.Payload)
		}
		if want := (base + 99) & lastRound; len(p.passed) != 1 || p.passed[0] != want || q.Reached() != want {
			t.Fatalf("base %d: passed to %v, reached %d, want %d", base, p.passed, q.Reached(), want)
		}
	}
}

// Whatever may enable a tenant to pay earlier tells the peers.
func TestPeersHear(t *testing.T) {
	for name, change := range map[string]func(*Queue[int, int], []*Tenant[int, int]){
		"a newcomer":     func(q *Queue[int, int], ts []*Tenant[int, int]) { push(q, ts[1], plainTask(0, 1)) },
		"credit":         func(q *Queue[int, int], ts []*Tenant[int, int]) { q.Charge(ts[0], firq.PriorityNormal, -5) },
		"a quantum":      func(q *Queue[int, int], ts []*Tenant[int, int]) { q.SetQuantum(ts[0], 99) },
		"one task fewer": func(q *Queue[int, int], ts []*Tenant[int, int]) { q.Evict(ts[0], firq.PriorityCritical, false) },
		"unblocked":      func(q *Queue[int, int], ts []*Tenant[int, int]) { q.Unblock(ts[2]) },
	} {
		q, tenants := makeTenants(Config{}, 3, 1)
		p := &friend{q: q, no: true}
		q.Share(p)
		push(q, tenants[0], plainTask(0, 1000))
		push(q, tenants[0], plainTask(0, 1))
		push(q, tenants[2], plainTask(0, 1))
		q.Block(tenants[2])
		if _, _, v := within(q, 0, 5); v != Ahead {
			t.Fatalf("%s: verdict %d before", name, v)
		}
		if change(q, tenants); len(p.backs) != 1 || q.Waiting() {
			t.Errorf("%s: the peers heard %d times, waiting %t", name, len(p.backs), q.Waiting())
		}
	}
}

// The rounds that have passed while the queue waited count for the debt of a tenant that joins
// now: whether the queue has caught up before, or has to when the tenant joins.
func TestJoinCatchesUpFirst(t *testing.T) {
	for _, cfg := range []Config{{}, {NewFirst: true}} {
		var owed [2]int64
		for way := range owed {
			q, tenants := makeTenants(cfg, 2, 10)
			p := &friend{q: q, no: true}
			q.Share(p)
			push(q, tenants[1], plainTask(1, 10))
			mustNext(t, q, 0)
			q.Charge(tenants[1], firq.PriorityNormal, 1000)
			q.Retire(tenants[1])
			push(q, tenants[0], plainTask(2, 5000))
			if _, _, v := within(q, 0, 200); v != Ahead || !q.Waiting() {
				t.Fatalf("verdict %d, waiting %t", v, q.Waiting())
			}
			if p.to = 40; way == 1 {
				q.CatchUp(p.to)
			}
			push(q, tenants[1], plainTask(3, 10))
			owed[way] = -tenants[1].seat.deficit
		}
		if owed[0] != owed[1] || owed[0] > 1000-10*38 {
			t.Errorf("%+v: it owes %d, and %d if the queue has caught up before", cfg, owed[0], owed[1])
		}
	}
}

// While no peer has work no rounds are counted for empty turns.
func TestAloneCountsNothing(t *testing.T) {
	q, tenants := makeTenants(Config{}, 2, 1)
	q.Share(&friend{q: q, alone: true})
	for range 1000 {
		push(q, tenants[0], plainTask(0, math.MaxInt64))
		push(q, tenants[1], plainTask(0, math.MaxInt64))
		mustNext(t, q, 0)
		mustNext(t, q, 0)
	}
	if round := q.Round(); round > 50_000 {
		t.Errorf("2,000 tasks later it is in round %d", round)
	}
}

// A queue under a limit says of no round that is further away than rounds can be
// compared, and comes to where it can serve step by step.
func TestFarRoundInSteps(t *testing.T) {
	q, tenants := makeTenants(Config{}, 1, 1)
	push(q, tenants[0], plainTask(0, math.MaxInt64))
	limit, steps := uint64(1), 0
	for ; ; steps++ {
		_, _, v := within(q, 0, limit)
		if v == Delivered {
			break
		}
		if ahead := Apart(q.Tag(), q.Round()); v != Ahead || ahead <= 0 || ahead > mostAtOnce || steps > 20 {
			t.Fatalf("step %d: verdict %d in round %d, tag %d: %d rounds ahead", steps, v, q.Round(), q.Tag(), ahead)
		}
		limit = q.Tag()
	}
	if steps < 7 {
		t.Errorf("served after %d steps; 1<<63 rounds take 8", steps)
	}
}

// A tenant that is alone on its queue and pauses after each task has one turn per
// round, as if it had not; so have tenants that come one at a time. One that is
// served nothing does not take the round on.
func TestPausing(t *testing.T) {
	q, tenants := makeTenants(Config{}, 9, 1)
	for want := range uint64(9) {
		for _, who := range []*Tenant[int, int]{tenants[0], tenants[want]} {
			tk := newTicket()
			task := plainTask(0, 1)
			task.Ticket = tk
			push(q, who, task)
			q.Remove(tk.Place(&testOwner))
			if _, _, v := q.Next(0); v != Empty {
				t.Fatalf("verdict %d", v)
			}
		}
		who := tenants[0]
		if want%2 == 1 {
			who = tenants[want]
		}
		push(q, who, plainTask(0, 1))
		if mustNext(t, q, 0); q.Round() != want {
			t.Fatalf("turn %d is in round %d", want, q.Round())
		}
		if _, _, v := q.Next(0); v != Empty {
			t.Fatalf("verdict %d", v)
		}
	}
}

// A debtor that comes back to an empty list has its turn in this round, which then does
// not pay off its debt as well.
func TestDebtAndTurn(t *testing.T) {
	q, tenants := makeTenants(Config{}, 1, 10)
	a := tenants[0]
	push(q, a, plainTask(0, 1))
	mustNext(t, q, 0)
	q.Next(0) // it leaves
	q.Charge(a, firq.PriorityNormal, 100)
	q.SetRound(q.Round() + 4)
	push(q, a, plainTask(0, 1))
	if a.seat.deficit != -70 {
		t.Errorf("four rounds of 10 later it owes %d of 100, want 70: the fourth one's quantum is to come", -a.seat.deficit)
	}
}

// What rounds have paid off, they have paid at the quantum of that time; and empty turns
// that are passed because a quantum changes are given at the old one.
func TestSetQuantumPaysFirst(t *testing.T) {
	q, tenants := makeTenants(Config{}, 2, 1)
	a, b := tenants[0], tenants[1]
	q.Charge(a, firq.PriorityNormal, 1000)
	q.SetRound(q.Round() + 10)
	q.SetQuantum(a, 1e6)
	push(q, b, plainTask(0, 1))
	if push(q, a, plainTask(0, 1)); a.seat.deficit != -990 {
		t.Errorf("ten rounds of 1 later it owes %d of 1,000", -a.seat.deficit)
	}
	for _, cost := range []int64{1e6, 1e12, 1 << 60} {
		q, tenants := makeTenants(Config{}, 1, 1)
		a := tenants[0]
		p := &friend{q: q, no: true}
		q.Share(p)
		push(q, a, plainTask(0, cost))
		if _, _, v := within(q, 0, 1); v != Ahead {
			t.Fatalf("verdict %d", v)
		}
		p.to = q.Tag()
		if q.SetQuantum(a, 1<<30); a.seat.deficit < 0 || a.seat.deficit >= cost {
			t.Errorf("cost %d: the deficit is %d", cost, a.seat.deficit)
		}
	}
}

// A debt shrinks by a quantum for each round that passes while its tenant is away, be
// it idle or blocked, and not below nothing. Theorem 3 then holds with what is left.
func TestDebtExpires(t *testing.T) {
	for _, blocked := range []bool{false, true} {
		for _, x := range []struct{ debt, quantum, rounds, left int64 }{
			{100, 3, 0, 100}, {100, 3, 1, 97}, {100, 3, 33, 1}, {100, 3, 34, 0}, {100, 3, 1000, 0},
			{maxDebt, 1, 50, maxDebt - 50}, {maxDebt, 1 << 60, 2, 0}, {maxDebt, 1 << 60, 1, 1 << 60}, {7, math.MaxInt64, 1, 0},
		} {
			q, tenants := makeTenants(Config{}, 2, 1)
			a, b := tenants[0], tenants[1]
			a.SetQuantum(x.quantum)
			push(q, b, plainTask(0, 1))
			mustNext(t, q, 0) // b's turn goes on
			q.Charge(a, firq.PriorityNormal, x.debt)
			if blocked {
				q.Block(a)
				push(q, a, plainTask(1, 1))
			}
			for range x.rounds {
				push(q, b, plainTask(0, 1))
				mustNext(t, q, 0)
			}
			if blocked {
				q.Unblock(a)
			} else {
				push(q, a, plainTask(1, 1))
			}
			q.bring(&a.seat) // as the next look at it does
			if got := max(0, -a.seat.deficit); got != x.left {
				t.Errorf("blocked %t: of a debt of %d are %d left after %d rounds of %d, want %d", blocked, x.debt, got, x.rounds, x.quantum, x.left)
			}
		}
	}
}

// A debt that was looked at is not paid off twice for the same rounds.
func TestDebtExpiresOnce(t *testing.T) {
	q, tenants := makeTenants(Config{}, 2, 1)
	a, b := tenants[0], tenants[1]
	q.Charge(a, firq.PriorityNormal, 100)
	push(q, b, plainTask(0, 1))
	mustNext(t, q, 0)
	for i := range 30 {
		push(q, b, plainTask(0, 1))
		mustNext(t, q, 0)
		if i%10 == 9 {
			q.Charge(a, firq.PriorityNormal, 1)
		}
	}
	if push(q, a, plainTask(1, 1)); a.seat.deficit != -73 {
		t.Errorf("deficit %d after 30 rounds and three more units, want -73", a.seat.deficit)
	}
}

// A tenant that begins a turn has come to its round, even if it cannot pay: a tenant that joins the
// others joins there.
func TestReachedByEmptyTurn(t *testing.T) {
	for _, base := range []uint64{5, 1<<63 - 2} {
		q, tenants := makeTenants(Config{}, 1, 1)
		q.SetRound(base)
		for i, want := range []uint64{base, (base + 1) & lastRound, (base + 1) & lastRound} { // the limit is base+1
			task := plainTask(0, 1000)
			task.Ticket = newTicket()
			push(q, tenants[0], task)
			if _, _, v := within(q, 0, (base+1)&lastRound); v != Ahead || q.Reached() != want {
				t.Errorf("base %d: turn %d: verdict %d, reached %d, want %d", base, i, v, q.Reached(), want)
			}
			q.Remove(task.Ticket.Place(&testOwner))
			if tag := q.Tag(); tag != q.Round() || Apart(tag, base) > 2 {
				t.Errorf("base %d: turn %d: in round %d, tag %d", base, i, q.Round(), tag)
			}
		}
	}
}

// Rounds in which no tenant has had a turn do not pass: tenants that enqueue and cancel,
// one after the other, so that the list is never empty, do not take their queue beyond
// its limit. It does not matter which caller finds that they have no task: a caller that asks for the next
// one, or one that sees too many of them.
func TestCancellingCrowd(t *testing.T) {
	for _, group := range []int{1, 2, 100} {
		q, tenants := makeTenants(Config{}, 2*group, 1)
		places := [2][]Place{}
		come := func(half int) {
			places[half] = nil
			for i := range group {
				task := plainTask(0, 1)
				task.Ticket = newTicket()
				push(q, tenants[half*group+i], task)
				places[half] = append(places[half], task.Ticket.Place(&testOwner).(Place))
			}
		}
		q.SetRound(7)
		come(0)
		for i := range 100 {
			come((i + 1) % 2)
			for _, p := range places[i%2] {
				q.Remove(p)
			}
			if _, _, v := within(q, 0, 6); v != Ahead || q.Round() != 7 || q.Tag() != 7 {
				t.Fatalf("groups of %d, cycle %d: verdict %d in round %d, tag %d; want ahead of 6 in 7", group, i, v, q.Round(), q.Tag())
			}
			if err := invariants(q, tenants); err != nil {
				t.Fatal(err)
			}
		}
		if mustNext(t, q, 0); q.Round() != 7 {
			t.Errorf("groups of %d: served in round %d", group, q.Round())
		}
	}
}
