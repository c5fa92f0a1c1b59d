package schedtest

import (
	"context"
	"strconv"
	"strings"
	"testing"
)

// Deficit round robin is exact with one shard, so these are golden sequences.
var orderChecks = []check{
	{name: "equal quanta take turns", run: golden(config{}, "a*3 b*3 c*3 | a1 b1 c1 a2 b2 c2 a3 b3 c3")},
	{name: "a turn is one quantum", run: golden(config{Quantum: 2}, "a*3 b*5 c*2 | a1 a2 b1 b2 c1 c2 a3 b3 b4 b5")},
	// Figures 2 and 3 of Shreedhar and Varghese, played to the end.
	// Round 1: a 500-200=300 b 500-500=0 c 500-100=400 d 500-180=320.
	// Round 2: a 800-750-20=30 b 500-500=0 c 900-600-200=100 d 820-700-50=70.
	{name: "the example of the paper", run: golden(config{Quantum: 500},
		"a:200,750,20 b:500,500 c:100,600,200 d:180,700,50 | a1 b1 c1 d1 a2 a3 b2 c2 c3 d2 d3")},
	// Refills: b can pay at 2 and 4, a at 3 and 6, c at 5.
	{name: "costs above the quantum save up", run: golden(config{},
		"a:3,3 b:2,2 c:5 | b1 a1 b2 c1 a2 - a:1000000 b:999999 c:999998,1 | c1 b1 c2 a1")},
	{name: "a huge cost is delivered by the first call", run: golden(config{},
		"a:1000000000000,1000000000000 | a1 a2 - a:1000000000000 b:2000000000000,1 c:1000000000001 | a1 c1 b1 b2")},
	{name: "extreme costs and quanta", run: orderExtreme},
	// a is empty but still at the head with 2 left: whether its turn goes on is
	// decided at the next dequeue.
	{name: "a turn goes on with what arrives before the next dequeue", run: golden(config{Quantum: 3},
		"a*1 b*4 | a1 a+2 | a2 a+3 | a3 a+4 | b1 b2 b3 a4 b4")},
	{name: "a new tenant joins at the tail with nothing", run: golden(config{Quantum: 2},
		"a*4 b*4 | a1 c*4 | a2 b1 b2 c1 c2 a3 a4 b3 b4 c3 c4")},
	// With what it left behind, a's next turn would have nine tasks.
	{name: "a deficit does not survive an empty queue", run: golden(config{Quantum: 5},
		"a*1 b*12 | a1 b1 a*12 | b2 b3 b4 b5 a1 a2 a3 a4 a5 b6 b7 b8 b9 b10 ...")},
	{name: "batches deliver in the same order", run: orderBatch},
	{name: "EnqueueBatch queues in order", run: orderEnqueueBatch},
	{name: "a thousand tenants take turns", run: orderMany},
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
