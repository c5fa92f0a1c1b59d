package schedtest

import (
	"math"
	"testing"
)

// Item.Charge corrects the cost afterwards.
var chargeChecks = []check{
	{name: "costlier than thought", run: chargeCostlier},
	{name: "cheaper than thought", run: chargeCheaper},
	{name: "each gets its share of actual cost", run: chargeShare},
	{name: "a debt survives an empty queue", run: chargeDebt},
	{name: "a credit does not", run: chargeCredit},
	{name: "each copy of an item may charge", run: chargeCopy},
	{name: "extreme charges do no harm", run: chargeExtreme},
	{name: "at each priority's own deficit across tenants", run: chargeAcross},
}

func chargeCostlier(t *testing.T, newSched maker) {
	s := open(t, newSched, config{Shards: 1})
	load(t, s, "a", 3)
	load(t, s, "b", 7)
	it := take(t, s)
	same(t, "first", show(it), "a1")
	it.Charge(3)
	// a has -3 and needs four refills.
	same(t, "after Charge(3)", drain(t, s), "b1 b2 b3 b4 a2 b5 a3 b6 b7")
}

func chargeCheaper(t *testing.T, newSched maker) {
	s := open(t, newSched, config{Shards: 1, Quantum: 5})
	loadCosts(t, s, "a", 5, 2, 2, 5)
	loadCosts(t, s, "b", 5, 5)
	it := take(t, s)
	same(t, "first", show(it), "a1")
	it.Charge(-4)
	same(t, "after Charge(-4)", drain(t, s), "a2 a3 b1 a4 b2")
}

func chargeShare(t *testing.T, newSched maker) {
	s := open(t, newSched, config{Shards: 1, Quantum: 10})
	load(t, s, "liar", 50)
	loadCosts(t, s, "over", 9, 9, 9, 9, 9, 9, 9, 9, 9, 9)
	loadCosts(t, s, "fair", 4, 4, 4, 4, 4, 4, 4, 4, 4, 4)
	actual := map[string]int64{"liar": 7, "over": 2, "fair": 4}
	work := map[string]int64{}
	for range 10_000 {
		it := take(t, s)
		work[it.Tenant] += actual[it.Tenant]
		it.Charge(actual[it.Tenant] - it.Cost)
		admit(t, s, it.Tenant, task{Payload: it.Payload, Cost: it.Cost})
	}
	within(t, work["liar"], work["fair"], 1, 0.03)
	within(t, work["over"], work["fair"], 1, 0.03)
}

func chargeDebt(t *testing.T, newSched maker) {
	s := open(t, newSched, config{Shards: 1})
	load(t, s, "a", 1)
	it := take(t, s)
	it.Charge(2)
	idle(t, s) // a leaves the list
	load(t, s, "a", 2)
	load(t, s, "b", 5)
	same(t, "a starts with -2", drain(t, s), "b1 b2 a1 b3 a2 b4 b5")

	load(t, s, "a", 1)
	it = take(t, s)
	idle(t, s)
	it.Charge(2) // a is idle already
	load(t, s, "a", 2)
	load(t, s, "b", 5)
	same(t, "charged while idle", drain(t, s), "b1 b2 a1 b3 a2 b4 b5")
}

func chargeCredit(t *testing.T, newSched maker) {
	const want = "a1 b1 a2 b2 a3 b3"
	s := open(t, newSched, config{Shards: 1})
	load(t, s, "a", 1)
	it := take(t, s)
	it.Charge(-5)
	idle(t, s)
	load(t, s, "a", 3)
	load(t, s, "b", 3)
	same(t, "credit from before the queue was empty", drain(t, s), want)

	load(t, s, "a", 1)
	it = take(t, s)
	idle(t, s)
	it.Charge(-5)
	load(t, s, "a", 3)
	load(t, s, "b", 3)
	same(t, "credit from while it was empty", drain(t, s), want)
}

func chargeCopy(t *testing.T, newSched maker) {
	s := open(t, newSched, config{Shards: 1})
	load(t, s, "a", 2)
	load(t, s, "b", 5)
	it := take(t, s)
	second := it
	it.Charge(1)
	second.Charge(1)
	it.Charge(0)
	same(t, "two charges of 1", drain(t, s), "b1 b2 b3 a2 b4 b5")
	var none item
	none.Charge(1) // an item that was not delivered
	none.Done()
}

func chargeExtreme(t *testing.T, newSched maker) {
	for _, deltas := range [][]int64{
		{math.MaxInt64, math.MaxInt64},
		{math.MinInt64, math.MinInt64},
		{math.MaxInt64, math.MinInt64},
	} {
		s := open(t, newSched, config{Shards: 1})
		load(t, s, "a", 4)
		load(t, s, "b", 4)
		it := take(t, s)
		for _, delta := range deltas {
			it.Charge(delta)
		}
		// A tenant that is alone is served however deep its debt.
		if n := len(drain(t, s)); n != len("a2 a3 a4 b1 b2 b3 b4") {
			t.Fatalf("after charges of %d not everything was delivered", deltas)
		}
	}
}

func chargeAcross(t *testing.T, newSched maker) {
	s := open(t, newSched, across(config{}))
	for i := range 3 {
		admit(t, s, "a", task{Payload: i + 1, Priority: 5})
		admit(t, s, "b", task{Payload: i + 1, Priority: 5})
		admit(t, s, "a", task{Payload: i + 11, Priority: 2})
		admit(t, s, "b", task{Payload: i + 11, Priority: 2})
	}
	it := take(t, s)
	it.Charge(1)
	same(t, "charged at priority 5", drain(t, s), "b1 b2 a2 b3 a3 a11 b11 a12 b12 a13 b13")
}
