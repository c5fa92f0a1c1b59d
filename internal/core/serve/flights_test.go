package serve

import (
	"math/rand/v2"
	"testing"

	"github.com/firq-go/firq"
	"github.com/firq-go/firq/internal/core/drr"
)

// Each delivery ends once, and a token of an earlier delivery in the same slot
// does not end the present one.
func TestFlightGenerations(t *testing.T) {
	var f flights
	first := f.start()
	if !f.end(first) || f.end(first) {
		t.Fatal("a delivery ends once")
	}
	second := f.start()
	if uint32(first) != uint32(second) {
		t.Fatalf("the slot was not used again: %x, %x", first, second)
	}
	if f.end(first) || f.n != 1 {
		t.Error("the first delivery's token ended the second one")
	}
	if !f.end(second) || f.n != 0 {
		t.Error("the second one does not end")
	}
	if f.end(first) || f.end(second) || f.end(1<<40) || f.end(7) || f.n != 0 {
		t.Error("an unknown token ended something")
	}
}

// The generation's 27 bits wrap without touching the priority's.
func TestFlightGenerationWraps(t *testing.T) {
	var f flights
	f.end(f.start())
	f.slots[0] = tokenGenerations - 1
	for range 4 {
		token := f.start()
		if token>>tokenPriority != 0 {
			t.Fatalf("token %x reaches into the priority", token)
		}
		if marked := token | uint64(firq.PriorityCritical)<<tokenPriority; !f.end(marked) {
			t.Fatalf("token %x with a priority does not end", marked)
		}
	}
}

// Against a set of what is in flight.
func TestFlightsRandom(t *testing.T) {
	rng := rand.New(rand.NewPCG(1, 2))
	var f flights
	var all []uint64
	in := map[uint64]bool{}
	most := 0
	for range 20_000 {
		if len(all) == 0 || rng.IntN(5) < 2 && len(in) < 8 {
			token := f.start()
			if in[token] {
				t.Fatalf("token %x twice", token)
			}
			in[token] = true
			all = append(all, token)
		} else {
			token := all[rng.IntN(len(all))]
			if got := f.end(token); got != in[token] {
				t.Fatalf("end = %t, want %t", got, in[token])
			}
			delete(in, token)
		}
		if most = max(most, len(in)); f.n != len(in) || len(f.slots) > most {
			t.Fatalf("n = %d with %d in flight, %d slots for at most %d", f.n, len(in), len(f.slots), most)
		}
	}
}

// settler hands Done back to the shard, as the cores' tenants do.
type settler struct {
	s    *shard
	x    *tenant
	done []bool
}

func (c *settler) SettleDone(token uint64) { c.done = append(c.done, c.s.Done(c.x, token, minute)) }

func (c *settler) SettleCharge(token uint64, delta int64) { c.s.Charge(c.x, token, 0, delta) }

// At its limit a tenant is blocked; Done lets it serve again, once per delivery,
// whichever copy of the item is used.
func TestDone(t *testing.T) {
	s := newShard(t, config{MaxInFlightPerTenant: 1})
	x := new(tenant)
	x.Init("a", 1)
	c := &settler{s: s, x: x}
	s.Add(x, 0)
	for i := range 3 {
		s.Push(x, &drr.Task[int]{Payload: i, Cost: 1, Priority: firq.PriorityNormal, Due: drr.NoDeadline})
	}
	var items []firq.Item[string, int]
	for i := range 3 {
		it, token := deliver(t, s, minute)
		it.Bind(c, token)
		if it.Payload != i || !x.Blocked() || s.inFlight != 1 {
			t.Fatalf("payload %d, blocked = %t, %d in flight", it.Payload, x.Blocked(), s.inFlight)
		}
		if _, _, verdict := s.Queue.Next(minute); verdict == drr.Delivered {
			t.Fatal("a second delivery at a limit of one")
		}
		for _, old := range items { // copies of those before
			if old.Done(); x.Blocked() != true || s.inFlight != 1 {
				t.Fatal("Done on an earlier delivery in this slot ended this one")
			}
		}
		items = append(items, it)
		if it.Done(); x.Blocked() || s.inFlight != 0 {
			t.Fatal("Done did not end it")
		}
		it.Done()
	}
	ended := 0
	for _, ok := range c.done {
		if ok {
			ended++
		}
	}
	if ended != 3 {
		t.Errorf("%d deliveries ended, want 3", ended)
	}
}

// Without a limit nothing is counted and Done ends nothing.
func TestDoneWithoutLimit(t *testing.T) {
	s := newShard(t, config{})
	x := add(s, "a", 0)
	serveOne(t, s, x, minute)
	if s.inFlight != 0 || x.inFlight() != 0 || s.Done(x, 0, minute) {
		t.Error("deliveries are counted without a limit")
	}
}

// The token of an item that was delivered without a limit names no delivery, also where
// the generations of a slot have come round to 0.
func TestFlightOfNoLimit(t *testing.T) {
	f := flights{limit: 1}
	f.end(f.start())
	f.slots[0] = tokenGenerations + 1 // 0, as far as a token can say
	if f.end(0) || f.n != 0 || len(f.free) != 1 {
		t.Errorf("an item that was not counted is done: %d in flight, %d free", f.n, len(f.free))
	}
}
