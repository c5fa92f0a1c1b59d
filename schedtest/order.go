package schedtest

import (
	"context"
	"strconv"
	"strings"
	"testing"
)

// Deficit round robin is exact with one shard, so these are golden sequences.
var orderChecks = []check{
	{name: "equal quanta take turns", run: orderEqual},
	{name: "a turn is one quantum", run: orderQuantum},
	{name: "the example of the paper", run: orderPaper},
	{name: "costs above the quantum save up", run: orderSaveUp},
	{name: "a huge cost is delivered by the first call", run: orderHuge},
	{name: "extreme costs and quanta", run: orderExtreme},
	{name: "a turn goes on with what arrives before the next dequeue", run: orderTurnGoesOn},
	{name: "a new tenant joins at the tail with nothing", run: orderJoin},
	{name: "a deficit does not survive an empty queue", run: orderForfeit},
	{name: "batches deliver in the same order", run: orderBatch},
	{name: "EnqueueBatch queues in order", run: orderEnqueueBatch},
	{name: "a thousand tenants take turns", run: orderMany},
}

func orderEqual(t *testing.T, newSched maker) {
	s := open(t, newSched, config{Shards: 1})
	load(t, s, "a", 3)
	load(t, s, "b", 3)
	load(t, s, "c", 3)
	same(t, "quantum 1, cost 1", drain(t, s), "a1 b1 c1 a2 b2 c2 a3 b3 c3")
}

func orderQuantum(t *testing.T, newSched maker) {
	s := open(t, newSched, config{Shards: 1, Quantum: 2})
	load(t, s, "a", 3)
	load(t, s, "b", 5)
	load(t, s, "c", 2)
	same(t, "quantum 2, cost 1", drain(t, s), "a1 a2 b1 b2 c1 c2 a3 b3 b4 b5")
}

// orderPaper is figures 2 and 3 of Shreedhar and Varghese, played to the end.
func orderPaper(t *testing.T, newSched maker) {
	s := open(t, newSched, config{Shards: 1, Quantum: 500})
	loadCosts(t, s, "a", 200, 750, 20)
	loadCosts(t, s, "b", 500, 500)
	loadCosts(t, s, "c", 100, 600, 200)
	loadCosts(t, s, "d", 180, 700, 50)
	// Round 1: a 500-200=300 b 500-500=0 c 500-100=400 d 500-180=320.
	// Round 2: a 800-750-20=30 b 500-500=0 c 900-600-200=100 d 820-700-50=70.
	same(t, "quantum 500", drain(t, s), "a1 b1 c1 d1 a2 a3 b2 c2 c3 d2 d3")
}

func orderSaveUp(t *testing.T, newSched maker) {
	s := open(t, newSched, config{Shards: 1})
	loadCosts(t, s, "a", 3, 3)
	loadCosts(t, s, "b", 2, 2)
	loadCosts(t, s, "c", 5)
	// Refills: b can pay at 2 and 4, a at 3 and 6, c at 5.
	same(t, "quantum 1, costs 3, 2, 5", drain(t, s), "b1 a1 b2 c1 a2")

	loadCosts(t, s, "a", 1_000_000)
	loadCosts(t, s, "b", 999_999)
	loadCosts(t, s, "c", 999_998, 1)
	same(t, "quantum 1, costs of a million", drain(t, s), "c1 b1 c2 a1")
}

func orderHuge(t *testing.T, newSched maker) {
	s := open(t, newSched, config{Shards: 1})
	loadCosts(t, s, "a", 1e12, 1e12)
	same(t, "alone", next(t, s, 2), "a1 a2")
	idle(t, s)

	loadCosts(t, s, "a", 1e12)
	loadCosts(t, s, "b", 2e12, 1)
	loadCosts(t, s, "c", 1e12+1)
	same(t, "three tenants", next(t, s, 4), "a1 c1 b1 b2")
	idle(t, s)
}

// orderExtreme has no room in an int64 for a sum of two.
func orderExtreme(t *testing.T, newSched maker) {
	const most = int64(1<<63 - 1)
	for _, quantum := range []int64{1, 1 << 40, most} {
		s := open(t, newSched, config{Shards: 1, Quantum: quantum})
		loadCosts(t, s, "a", most, most, 1, most)
		loadCosts(t, s, "b", most-1, most)
		loadCosts(t, s, "c", 1)
		if n := len(strings.Fields(drain(t, s))); n != 7 {
			t.Fatalf("quantum %d: %d tasks delivered of 7", quantum, n)
		}
	}
}

func orderTurnGoesOn(t *testing.T, newSched maker) {
	s := open(t, newSched, config{Shards: 1, Quantum: 3})
	load(t, s, "a", 1)
	load(t, s, "b", 4)
	same(t, "a's only task", next(t, s, 1), "a1")
	// a is empty but still at the head with 2 left: whether its turn goes on is
	// decided at the next dequeue.
	admit(t, s, "a", task{Payload: 2})
	same(t, "a's turn goes on", next(t, s, 1), "a2")
	admit(t, s, "a", task{Payload: 3})
	same(t, "a's quantum is used up", next(t, s, 1), "a3")
	admit(t, s, "a", task{Payload: 4})
	same(t, "b's turn", drain(t, s), "b1 b2 b3 a4 b4")
}

func orderJoin(t *testing.T, newSched maker) {
	s := open(t, newSched, config{Shards: 1, Quantum: 2})
	load(t, s, "a", 4)
	load(t, s, "b", 4)
	same(t, "before", next(t, s, 1), "a1")
	load(t, s, "c", 4)
	same(t, "c goes last, for one quantum", drain(t, s), "a2 b1 b2 c1 c2 a3 a4 b3 b4 c3 c4")
}

func orderForfeit(t *testing.T, newSched maker) {
	s := open(t, newSched, config{Shards: 1, Quantum: 5})
	load(t, s, "a", 1)
	load(t, s, "b", 12)
	same(t, "a leaves 4 of its 5", next(t, s, 2), "a1 b1")
	load(t, s, "a", 12)
	// With what it left behind, a's next turn would have nine tasks.
	same(t, "one quantum each", next(t, s, 14), "b2 b3 b4 b5 a1 a2 a3 a4 a5 b6 b7 b8 b9 b10")
}

func orderBatch(t *testing.T, newSched maker) {
	single := open(t, newSched, config{Shards: 1, Quantum: 7})
	batched := open(t, newSched, config{Shards: 1, Quantum: 7})
	for i := range 300 {
		tenant := "t" + strconv.Itoa(i*i%11) + "-"
		tk := task{Payload: i, Cost: int64(1 + i*7%23)}
		admit(t, single, tenant, tk)
		admit(t, batched, tenant, tk)
	}
	var names []string
	dst := make([]item, 64)
	for size := 1; batched.Len() > 0; size = size*3%64 + 1 {
		left := batched.Len()
		n, err := batched.DequeueBatch(patient(t), dst[:size])
		if err != nil || n != min(size, left) {
			t.Fatalf("DequeueBatch of %d with %d queued: %d, %v", size, left, n, err)
		}
		for _, it := range dst[:n] {
			names = append(names, show(it))
		}
	}
	same(t, "batches", strings.Join(names, " "), drain(t, single))
}

func orderEnqueueBatch(t *testing.T, newSched maker) {
	s := open(t, newSched, config{Shards: 1})
	batch := []task{{Payload: 1}, {Payload: 2}, {Payload: 3}}
	for _, tenant := range []string{"a", "b"} {
		admitBatch(t, s, tenant, batch, 3, nil)
	}
	same(t, "two batches", drain(t, s), "a1 b1 a2 b2 a3 b3")

	large := make([]task, 5000)
	for i := range large {
		large[i].Payload = i
	}
	admitBatch(t, s, "a", large, len(large), nil)
	for i := range large {
		if it := take(t, s); it.Payload != i {
			t.Fatalf("delivered %s, want a%d", show(it), i)
		}
	}

	admitBatch(t, s, "a", nil, 0, nil)
	it, err := s.Dequeue(canceled())
	if err == nil {
		t.Fatalf("Dequeue after a batch of nothing delivers %s", show(it))
	}
}

func orderMany(t *testing.T, newSched maker) {
	s := open(t, newSched, config{Shards: 1})
	names := tenants(1000)
	for range 3 {
		for i, name := range names {
			admit(t, s, name, task{Payload: i})
		}
	}
	for round := range 3 {
		for i, name := range names {
			if it := take(t, s); it.Tenant != name || it.Payload != i {
				t.Fatalf("round %d, place %d: %s, want %s", round, i, show(it), name)
			}
		}
	}
}

// canceled returns a context that is done.
func canceled() context.Context {
	ctx, cancel := context.WithCancel(context.Background())
	cancel()
	return ctx
}
