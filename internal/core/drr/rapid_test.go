package drr

import (
	"fmt"
	"testing"

	"pgregory.net/rapid"

	"github.com/firq-go/firq"
	"github.com/firq-go/firq/internal/proof/race"
)

// TestMachine is TestAgainstModel with operations that can be shrunk: a failure
// prints the shortest script that rapid found, one line for each choice.
func TestMachine(t *testing.T) {
	race.OneGoroutine(t)
	for shape := range configs / 2 {
		t.Run(fmt.Sprintf("config=%d", shape), rapid.MakeCheck(func(t *rapid.T) {
			machine(t, shape+configs/2*rapid.IntRange(0, 1).Draw(t, "flows"))
		}))
	}
}

func machine(t *rapid.T, shape int) {
	draw := func(what string, n int) int { return rapid.IntRange(0, n-1).Draw(t, what) }
	w := &twin{draw: draw}
	w.init(shape, 1+draw("tenants-1", 5))
	must := func(err error) {
		if err != nil {
			t.Fatal(err)
		}
	}
	actions := map[string]func(*rapid.T){"": func(*rapid.T) { must(w.compare()) }}
	for _, op := range operations {
		times := 1
		if op.weight > 10 {
			times = 6 // actions are equally likely: what is common comes in rows
		}
		actions[op.name] = func(*rapid.T) {
			for range 1 + draw("times-1", times) {
				must(op.do(w))
				must(w.compare())
			}
		}
	}
	t.Repeat(actions)
	must(w.drain())
	must(w.compare())
}

// rounder uses a Queue as several shards do: it asks for tasks up to a round
// only, and does everything else while some wait for a later round. What the
// Queue must say is foretold in closed form (foretell). No deadlines, so that
// costs may be as large as they like: nothing changes with time.
type rounder struct {
	q       *Queue[int, int]
	tenants []*Tenant[int, int]
	tickets []*firq.Ticket
	pushed  int
}

func (w *rounder) tenant(t *rapid.T) *Tenant[int, int] {
	return rapid.SampledFrom(w.tenants).Draw(t, "tenant")
}

var someCost = rapid.OneOf(rapid.Int64Range(1, 9), rapid.Int64Range(1, 300), rapid.Int64Range(1, 1<<40), rapid.Int64Range(1, 1<<62))

func (w *rounder) Push(t *rapid.T) {
	tk := newTicket()
	w.pushed++
	push(w.q, w.tenant(t), Task[int]{
		Payload: w.pushed, Cost: someCost.Draw(t, "cost"), Due: NoDeadline, Ticket: tk,
		Priority: firq.Priority(rapid.IntRange(1, levels).Draw(t, "priority")),
	})
	w.tickets = append(w.tickets, tk)
}

func (w *rounder) Remove(t *rapid.T) {
	if len(w.tickets) > 0 {
		if p := rapid.SampledFrom(w.tickets).Draw(t, "ticket").Place(&testOwner); p != nil {
			w.q.Remove(p)
		}
	}
}

func (w *rounder) Evict(t *rapid.T) {
	w.q.Evict(w.tenant(t), firq.PriorityCritical, rapid.Bool().Draw(t, "newest"))
}

func (w *rounder) Charge(t *rapid.T) {
	delta := someCost.Draw(t, "delta")
	if rapid.Bool().Draw(t, "credit") {
		delta = -delta
	}
	w.q.Charge(w.tenant(t), firq.PriorityNormal, delta)
}

func (w *rounder) SetQuantum(t *rapid.T) {
	w.q.SetQuantum(w.tenant(t), rapid.Int64Range(0, 20).Draw(t, "quantum"))
}

func (w *rounder) BlockOrNot(t *rapid.T) {
	if tn := w.tenant(t); tn.Blocked() {
		w.q.Unblock(tn)
	} else {
		w.q.Block(tn)
	}
}

func (w *rounder) AdvanceRound(t *rapid.T) {
	w.q.AdvanceRound(w.q.Round() + rapid.Uint64Range(0, 3).Draw(t, "by"))
}

func (w *rounder) CatchUp(t *rapid.T) {
	before := w.rounds()
	w.q.CatchUp(w.limit(t))
	w.sameRounds(t, before)
}

// limit is one that may be before, at or after the next delivery.
func (w *rounder) limit(t *rapid.T) uint64 {
	base := rapid.SampledFrom([]uint64{w.q.Round(), w.q.Tag()}).Draw(t, "base")
	return (base + rapid.Uint64Range(0, 4).Draw(t, "beyond") - 1) & lastRound
}

func (w *rounder) Next(t *rapid.T) {
	limit := w.limit(t)
	if rapid.Bool().Draw(t, "without limit") {
		limit = noLimit
	}
	want := foretell(w.q, limit)
	before, clock := w.rounds(), w.q.lists[0].clock()
	tn, task, verdict := within(w.q, 0, limit)
	for verdict == Again {
		tn, task, verdict = within(w.q, 0, limit)
	}
	if verdict != want.verdict {
		t.Fatalf("verdict %d up to round %d, want %d: tenant %d in round %d", verdict, limit, want.verdict, want.key, want.round)
	}
	switch verdict {
	case Delivered:
		if tn.Key != want.key || task.Cost != want.cost || tn.seat.deficit != want.deficit {
			t.Fatalf("tenant %d pays %d, keeps %d; want tenant %d, %d, %d",
				tn.Key, task.Cost, tn.seat.deficit, want.key, want.cost, want.deficit)
		}
		if passed := (w.q.lists[0].clock() - clock) & lastRound; !want.anyRound && passed != want.round {
			t.Fatalf("%d rounds later, want %d", passed, want.round)
		}
		if !want.freed && w.q.Reached() != w.q.Round() {
			t.Fatalf("served in round %d, and reached %d", w.q.Round(), w.q.Reached())
		}
	case Ahead:
		w.sameRounds(t, before)
		if tag := w.q.Tag(); Apart(tag, limit) <= 0 || w.q.Fresh() {
			t.Fatalf("ahead of round %d with tag %d, fresh: %v", limit, tag, w.q.Fresh())
		}
	}
}

func (w *rounder) Check(t *rapid.T) {
	if err := invariants(w.q, w.tenants); err != nil {
		t.Fatal(err)
	}
	// The tag may be too early, or others would be let ahead of what is ready.
	if want := foretell(w.q, 0); want.key >= 0 && !want.anyRound && uint64(Apart(w.q.Tag(), w.q.Round())) > want.round {
		t.Fatalf("tag %d in round %d, but tenant %d can be served in %d rounds", w.q.Tag(), w.q.Round(), want.key, want.round)
	}
}

// rounds returns in which round each tenant that is in the active list can pay.
func (w *rounder) rounds() map[int]uint64 {
	rounds := map[int]uint64{}
	list := visits(w.q)
	_, goes, used := freedVisits(w.q, nil)
	stays(used && goes == nil || w.q.lists[0].used, list)
	for _, v := range list {
		if v.cost > 0 {
			rounds[v.key] = (w.q.Round() + v.payRound()) & lastRound
		}
	}
	return rounds
}

// sameRounds: taking turns in which no tenant can pay makes none wait longer, or
// shorter.
func (w *rounder) sameRounds(t *rapid.T, before map[int]uint64) {
	after := w.rounds()
	for key, round := range before {
		if after[key] != round {
			t.Fatalf("tenant %d could pay in round %d, now in %d", key, round, after[key])
		}
	}
}

// TestRounds: a queue that may be asked up to a round at a time says Ahead
// exactly when no tenant can pay before, and serves the tenant that the plain turns would have
// served, whatever happens while it waits.
func TestRounds(t *testing.T) {
	for _, cfg := range []Config{{}, {Order: firq.LIFO}, {NewFirst: true}, {NewFirst: true, Order: firq.LIFO}} {
		t.Run(fmt.Sprintf("order=%d/new first=%v", cfg.Order, cfg.NewFirst), rapid.MakeCheck(func(t *rapid.T) {
			for range 4 {
				rounds(t, cfg)
			}
		}))
	}
}

// FuzzRounds is TestRounds, with the fuzzer's bytes for rapid's.
func FuzzRounds(f *testing.F) {
	f.Fuzz(rapid.MakeFuzz(func(t *rapid.T) { rounds(t, Config{NewFirst: rapid.Bool().Draw(t, "new first")}) }))
}

func rounds(t *rapid.T, cfg Config) {
	w := &rounder{q: New[int, int](cfg, idleHost{})}
	// Near the largest round, sum of two rounds, and published round.
	w.q.SetRound(rapid.SampledFrom([]uint64{0, 1<<61 - 3, 1<<62 - 3, 1<<63 - 3, 1<<63 - 1<<61}).Draw(t, "round"))
	for key, quantum := range rapid.SliceOfN(rapid.Int64Range(1, 20), 1, 5).Draw(t, "quanta") {
		tn := new(Tenant[int, int])
		tn.Init(key, quantum)
		w.tenants = append(w.tenants, tn)
	}
	actions := rapid.StateMachineActions(w)
	actions["Next again"], actions["Push again"] = actions["Next"], actions["Push"]
	t.Repeat(actions)
}
