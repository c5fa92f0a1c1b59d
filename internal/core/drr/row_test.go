package drr

import (
	"fmt"
	"math"
	"math/rand/v2"
	"slices"
	"testing"

	"github.com/firq-go/firq"
	"github.com/firq-go/firq/internal/proof/race"
)

// rowInvariants returns what is wrong with a row that holds n slots, and with what is free.
func rowInvariants(l *row[int, int], p *pool[int, int], n int) error {
	if (l.first == nil) != (n == 0) || (l.last == nil) != (n == 0) || l.empty() != (n == 0) || int(l.in-l.out) != n {
		return fmt.Errorf("first %p, last %p, %d in, %d out; %d slots", l.first, l.last, l.in, l.out, n)
	}
	held := 0
	var prev *segment[int]
	for s := l.first; s != nil; prev, s = s, s.next {
		if s.lent {
			if s.prev != prev || s != l.last || s.from >= s.to || s.rest > 0 && s.to != len(s.slots) || s.rest > s.from {
				return fmt.Errorf("lent %d to %d and %d of %d, a wrong link: %t", s.from, s.to, s.rest, len(s.slots), s.prev != prev)
			}
			held += s.rest
		} else if s.prev != prev || s != l.first && s.from != 0 || s.to != len(s.slots) && s != l.last && !s.next.lent {
			return fmt.Errorf("segment %d to %d of %d, a wrong link: %t", s.from, s.to, len(s.slots), s.prev != prev)
		}
		if s.from == s.to && s != l.last {
			return fmt.Errorf("an empty segment in front of others")
		}
		held += s.to - s.from
	}
	if prev != l.last || held != n {
		return fmt.Errorf("%d slots in segments, want %d; or a wrong end", held, n)
	}
	for _, s := range append(p.segments[:], p.rings) {
		for ; s != nil; s = s.next {
			if s.from != 0 || s.to != 0 || s.rest != 0 || s.prev != nil || s.lent && s.slots != nil {
				return fmt.Errorf("a free segment is in use from %d to %d", s.from, s.to)
			}
		}
	}
	return nil
}

// A lender is a ring whose slots a queue is lent.
type lender[T any] struct {
	slots []Slot[T]
	head  int // tasks that were ever put in
}

// put writes as many of the tasks into slots as are free, while lent others are still lent. It
// returns the first slot, and how many tasks it has written.
func (l *lender[T]) put(lent int, tasks ...Task[T]) (from, n int) {
	if l.slots == nil {
		l.slots = make([]Slot[T], 8)
	}
	from = l.head % len(l.slots)
	for n = 0; n < len(tasks) && n < len(l.slots)-lent; n++ {
		s := &l.slots[l.head%len(l.slots)]
		s.Payload, s.Cost, s.Enqueued = tasks[n].Payload, uint32(tasks[n].Cost), tasks[n].Enqueued
		l.head++
	}
	return from, n
}

// lend pushes the first of the tasks, which are plain, by Lend, and returns how many.
func (l *lender[T]) lend(q *Queue[int, T], t *Tenant[int, T], tasks ...Task[T]) (n int) {
	from, n := l.put(t.Lent(), tasks...)
	if n > 0 {
		q.Lend(t, l.slots, from, n)
	}
	return n
}

// TestRow: a row is a queue with two ends, and its segments are linked and counted right
// after every step. Now and then some of it is lent.
func TestRow(t *testing.T) {
	for seed := range uint64(300) {
		r := rand.New(rand.NewPCG(seed, 2))
		var p pool[int, int]
		var l row[int, int]
		var ring lender[int]
		oldest, next := 0, 0
		for i := range 600 {
			if seed%2 == 1 && r.IntN(4) == 0 {
				tasks := make([]Task[int], 1+r.IntN(8))
				for j := range tasks {
					tasks[j] = plainTask(next+j, 1)
				}
				if from, n := ring.put(l.lent(), tasks...); n > 0 {
					before := l.lent()
					l.lend(&p, ring.slots, from, n)
					if next += n; l.lent() != before+n {
						t.Fatalf("seed %d: %d lent, and %d more: %d", seed, before, n, l.lent())
					}
				}
				if err := rowInvariants(&l, &p, next-oldest); err != nil {
					t.Fatalf("seed %d, step %d, lent: %v", seed, i, err)
				}
			}
			pushes := []int{1, 3, 6}[(i/100+int(seed))%3] // of eight: it shrinks, stays, grows
			switch n := r.IntN(8); {
			case n < pushes || oldest == next && n < 7:
				n := 1
				if r.IntN(10) == 0 {
					n = 1 + r.IntN(20)
				}
				slots := l.pushSome(n, &p)
				for i := range slots {
					slots[i].Payload = next
					next++
				}
			case oldest == next:
			case n%2 == 0:
				if s := l.front(); s.Payload != oldest {
					t.Fatalf("seed %d: the oldest is %d, want %d", seed, s.Payload, oldest)
				}
				l.popFront(l.first, &p)
				oldest++
			default:
				next--
				if l.spill(&p); l.lent() != 0 {
					t.Fatalf("seed %d: %d are lent after spilling", seed, l.lent())
				}
				if s := l.back(); s.Payload != next {
					t.Fatalf("seed %d: the newest is %d, want %d", seed, s.Payload, next)
				}
				l.popBack(&p)
			}
			if err := rowInvariants(&l, &p, next-oldest); err != nil {
				t.Fatalf("seed %d, step %d: %v", seed, i, err)
			}
		}
	}
}

// TestLineWraps: the order of slots and entries does not depend on how many there have been.
func TestLineWraps(t *testing.T) {
	for before := range uint32(6) {
		q, tenants := makeTenants(Config{}, 1, 1)
		l := &tenants[0].line.row
		l.in = math.MaxUint32 - before
		l.out = l.in
		for n := range 12 {
			task := plainTask(n, 1)
			if n%3 == 1 {
				task.Due = 1 << 40
			}
			push(q, tenants[0], task)
		}
		for n := range 12 {
			if _, task := mustNext(t, q, 0); task.Payload != n {
				t.Fatalf("%d before the wrap: served %d, want %d", before, task.Payload, n)
			}
		}
	}
}

// TestPlainZeroesPayload is TestRowZeroesPayload for the fast path.
func TestPlainZeroesPayload(t *testing.T) {
	q := New[int, *int](Config{}, quiet[int, *int]{})
	var a Tenant[int, *int]
	a.Init(1, 1)
	for range 20 {
		payload := new(int)
		q.PushPlain(&a, &payload, 1, 0)
	}
	var payload *int
	for range 20 {
		payload = nil
		var h Head
		if got, _ := q.NextWithin(0, math.MaxUint64, &payload, &h); got != &a || payload == nil {
			t.Fatal("not delivered")
		}
	}
	for _, s := range q.pool.segments {
		for ; s != nil; s = s.next {
			for _, slot := range s.slots {
				if slot.Payload != nil {
					t.Fatal("a free slot holds a payload")
				}
			}
		}
	}
}

// pantry is a queue and its tenants, with rings that it is lent.
type pantry struct {
	q       *Queue[int, int]
	tenants []*Tenant[int, int]
	rings   [3]lender[int]
}

// newPantry returns a queue with a tenant for each quantum.
func newPantry(cfg Config, quanta ...int64) *pantry {
	p := &pantry{q: New[int, int](cfg, idleHost{})}
	for key, quantum := range quanta {
		p.tenants = append(p.tenants, new(Tenant[int, int]))
		p.tenants[key].Init(key, quantum)
	}
	return p
}

// state is what a queue knows that a step can change.
func (p *pantry) state() string {
	q, l := p.q, &p.q.lists[0]
	say := fmt.Sprint(q.queued, q.ready, q.nEmpty, "; ", l.round, l.skipped, l.reached, l.used, l.left, l.emptyVisits, l.wait,
		l.audit, "; ", l.active.n, l.fresh.n)
	for _, t := range p.tenants {
		s := &t.seat
		say += fmt.Sprint("; ", t.queued, t.mask, t.blocked, s.deficit, s.visit, s.where, s.inTurn, t.line.row.in, t.line.row.out)
	}
	return say
}

// TestPlainIsNext: the first branch of NextWithin adds nothing to NextOfAll but speed. Two queues get the same
// calls, one of them only by NextOfAll.
func TestPlainIsNext(t *testing.T) {
	race.OneGoroutine(t)
	for seed := range uint64(400) {
		var ps [2]*pantry
		r := rand.New(rand.NewPCG(seed, 3))
		cfg := Config{NewFirst: r.IntN(4) == 0}
		for i := range ps {
			ps[i] = newPantry(cfg, 1, 2, 3)
		}
		fails := func(step int, what string, a, b any) {
			t.Fatalf("seed %d, step %d: %s\n%v, by the long way\n%v", seed, step, what, a, b)
		}
		for step := range 200 {
			key, op := r.IntN(3), r.IntN(14)
			task := plainTask(step, 1+r.Int64N(4))
			if r.IntN(10) == 0 {
				task.Cost = 1 + r.Int64N(40)
			}
			switch limit := uint64(math.MaxUint64); op {
			case 0, 1, 2: // comes in
				if r.IntN(12) == 0 {
					task.Priority = firq.PriorityHigh
				}
				if r.IntN(12) == 0 {
					task.Due = 1 << 40
				}
				for i := range ps {
					push(ps[i].q, ps[i].tenants[key], task)
				}
			case 13: // several come in
				several := make([]Task[int], r.IntN(10))
				for i := range several {
					several[i] = plainTask(1000*step+i, 1+r.Int64N(4))
					several[i].Enqueued = int64(step)
				}
				n := len(several)
				if r.IntN(2) == 0 {
					n = ps[0].rings[key].lend(ps[0].q, ps[0].tenants[key], several...)
				} else {
					tasks := make([]firq.Task[int], n)
					for i := range tasks {
						tasks[i].Payload, tasks[i].Cost = several[i].Payload, several[i].Cost
					}
					ps[0].q.PushAll(ps[0].tenants[key], tasks, int64(step))
				}
				for i := range several[:n] {
					push(ps[1].q, ps[1].tenants[key], several[i])
				}
			case 3:
				for i := range ps {
					if x := ps[i].tenants[key]; !x.Blocked() && step%4 == 0 {
						ps[i].q.Block(x)
					}
				}
			case 4:
				delta := r.Int64N(20) - 10
				for i := range ps {
					ps[i].q.Charge(ps[i].tenants[key], firq.PriorityNormal, delta)
				}
			case 6:
				for i := range ps {
					if ps[i].tenants[key].Blocked() {
						ps[i].q.Unblock(ps[i].tenants[key])
					}
				}
			case 5: // other queues are in a later round
				further := r.Uint64N(3)
				for i := range ps {
					ps[i].q.AdvanceRound(ps[i].q.Round() + further)
				}
			default:
				if r.IntN(2) == 0 {
					limit = (ps[0].q.Round() + uint64(r.IntN(3)) - 1) & lastRound
				}
				var got, want int
				var gh, wh Head
				gt, gv := ps[0].q.NextWithin(0, limit, &got, &gh)
				wt, wv := ps[1].q.NextOfAll(0, limit, &want, &wh)
				if got != want || gh != wh || gv != wv || (gt == nil) != (wt == nil) || gt != nil && gt.Key != wt.Key {
					fails(step, "what is next", fmt.Sprint(got, gh, gv), fmt.Sprint(want, wh, wv))
				}
			}
			if a, b := ps[0].state(), ps[1].state(); a != b {
				fails(step, "state", a, b)
			}
			if err := invariants(ps[0].q, ps[0].tenants); err != nil {
				t.Fatalf("seed %d, step %d: %v", seed, step, err)
			}
		}
	}
}

// Several tasks that are lent are in the same place as if they were pushed, one after the other.
func TestLend(t *testing.T) {
	for _, cfg := range []Config{{}, {MaxFlows: 4}, {NewFirst: true}, {Target: 10, Interval: 100}} {
		var served [2][]int
		for way := range served {
			q := New[int, int](cfg, new(dropHost))
			var tenants [2]Tenant[int, int]
			var rings [2]lender[int]
			for i := range tenants {
				tenants[i].Init(i, 2)
			}
			next := 0
			several := func(to *Tenant[int, int], n int) {
				tasks := make([]Task[int], n)
				for i := range tasks {
					tasks[i] = plainTask(next, 1+int64(next%3))
					tasks[i].Enqueued = int64(next)
					next++
				}
				if way == 0 && q.Lends(to) {
					tasks = tasks[rings[to.Key].lend(q, to, tasks...):]
				}
				for i := range tasks {
					push(q, to, tasks[i])
				}
			}
			several(&tenants[0], 5)
			several(&tenants[1], 1)
			several(&tenants[1], 9)
			push(q, &tenants[0], flowTask(-1, 1, 1))
			several(&tenants[0], 7)
			for q.Len() > 0 {
				if _, task, v := q.Next(100); v == Delivered {
					served[way] = append(served[way], task.Payload)
				}
			}
		}
		if !slices.Equal(served[0], served[1]) || len(served[0]) != 23 {
			t.Errorf("%+v: %v, one by one %v", cfg, served[0], served[1])
		}
	}
}

// A plain task with a cost that a slot has no room for costs what it costs.
func TestPlainCosts(t *testing.T) {
	q, tenants := makeTenants(Config{}, 1, 1<<40)
	for i, cost := range []int64{1, MostPlain, MostPlain + 1, 1 << 50} {
		q.PushPlain(tenants[0], &i, cost, 7)
		if _, task := mustNext(t, q, 0); task.Cost != cost || task.Payload != i || task.Enqueued != 7 {
			t.Errorf("%+v, want a cost of %d", task, cost)
		}
	}
}

// What held the slots of tenants that were lent some goes back to the collector, as segments do.
func TestPoolLetsRingsGo(t *testing.T) {
	q := New[int, int](Config{}, idleHost{})
	many := newTenants(20_000, func(int) int64 { return 1 })
	ring := []Slot[int]{{Cost: 1}}
	for _, x := range many {
		q.Lend(x, ring, 0, 1)
	}
	for range many {
		mustNext(t, q, 0)
	}
	for range 4 * poolWindow {
		q.Lend(many[0], ring, 0, 1)
		mustNext(t, q, 0)
	}
	n := 0
	for s := q.pool.rings; s != nil; s = s.next {
		n++
	}
	if n > 2*keepFree {
		t.Errorf("%d are kept", n)
	}
}

// Spilling leaves no payload in the ring, wherever its slots are.
func TestSpillForgets(t *testing.T) {
	for from := range 8 {
		q := New[int, *int](Config{}, quiet[int, *int]{})
		var x Tenant[int, *int]
		x.Init(1, 1)
		ring := make([]Slot[*int], 8)
		for i := range 6 {
			ring[(from+i)%8] = Slot[*int]{Cost: 1, Payload: &i}
		}
		q.Lend(&x, ring, from, 6)
		q.Spill(&x)
		for i := range ring {
			if ring[i].Payload != nil {
				t.Errorf("from %d: slot %d keeps its payload", from, i)
			}
		}
		for want := range 6 {
			if _, task, v := q.Next(0); v != Delivered || *task.Payload != want {
				t.Fatalf("from %d: %v, want %d", from, task, want)
			}
		}
	}
}

// What a burst has left of segments does not crowd out what rings need: a steady state
// allocates nothing.
func TestRingsAreKept(t *testing.T) {
	q, tenants := makeTenants(Config{}, 1, 1)
	for range 3 * keepFree {
		push(q, tenants[0], plainTask(1, 1))
	}
	for range 3 * keepFree {
		mustNext(t, q, 0)
	}
	ring := []Slot[int]{{Cost: 1}}
	step := func() {
		task := plainTask(1, 1)
		task.Due = 1 << 40 // an entry
		push(q, tenants[0], task)
		q.Lend(tenants[0], ring, 0, 1)
		mustNext(t, q, 0)
		mustNext(t, q, 0)
	}
	for range 3 * poolWindow {
		step()
	}
	if n := testing.AllocsPerRun(1000, step); n != 0 {
		t.Errorf("%v allocations", n)
	}
}
