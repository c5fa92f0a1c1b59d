package schedtest

import (
	"fmt"
	"math/rand/v2"

	"github.com/firq-go/firq"
)

// kind of a call in a comparison with the model.
type kind uint8

const (
	opEnqueue kind = iota
	opEnqueueBatch
	opTryDequeue
	opDequeueBatch
	opCancel
	opSetQuantum
	opResetQuantum
	opPlan // what QuantumFor answers from now on
	opDone
	opCharge // the item that TryDequeue has just delivered
	kinds
)

// op is one call. It can be replayed alone: what it refers to by number may be
// missing, then it does nothing.
type op struct {
	kind     kind
	tenant   string
	id       int
	cost     int64
	priority firq.Priority
	dead     bool  // with a deadline that has long passed
	far      bool  // with a deadline far ahead
	ticket   int   // -1: none
	n        int   // how many tasks, or which item
	amount   int64 // quantum or delta
}

func (o op) String() string {
	switch o.kind {
	case opEnqueue:
		text := fmt.Sprintf("Enqueue(%q, payload %d, cost %d, priority %d", o.tenant, o.id, o.cost, o.priority)
		switch {
		case o.dead:
			text += ", expired"
		case o.far:
			text += ", with a deadline"
		}
		if o.ticket >= 0 {
			text += fmt.Sprintf(", ticket %d", o.ticket)
		}
		return text + ")"
	case opEnqueueBatch:
		return fmt.Sprintf("EnqueueBatch(%q, %d payloads from %d, cost %d, priority %d)", o.tenant, o.n, o.id, o.cost, o.priority)
	case opTryDequeue:
		return "TryDequeue()"
	case opDequeueBatch:
		return fmt.Sprintf("DequeueBatch(%d)", o.n)
	case opCancel:
		return fmt.Sprintf("ticket %d.Cancel()", o.ticket)
	case opSetQuantum:
		return fmt.Sprintf("SetQuantum(%q, %d)", o.tenant, o.amount)
	case opResetQuantum:
		return fmt.Sprintf("ResetQuantum(%q)", o.tenant)
	case opPlan:
		return fmt.Sprintf("QuantumFor(%q) = %d", o.tenant, o.amount)
	case opDone:
		return fmt.Sprintf("Done() of delivery %d", o.n)
	}
	return fmt.Sprintf("Charge(%d) of the last delivery", o.amount)
}

// scenario is one kind of comparison: a config and how often each call comes.
type scenario struct {
	name    string
	cfg     config
	weights [kinds]int
	tenants int
	cost    int64 // costs are 1 to this
	dead    int   // percent of tasks that have expired already
	tickets int   // percent of tasks with a ticket
}

// basic is a mix that fills and drains; scenarios add to it.
var basic = [kinds]int{opEnqueue: 40, opEnqueueBatch: 4, opTryDequeue: 40, opDequeueBatch: 6}

func with(extra map[kind]int) [kinds]int {
	w := basic
	for k, n := range extra {
		w[k] = n
	}
	return w
}

var quanta = map[kind]int{opSetQuantum: 4, opResetQuantum: 2, opPlan: 4}

func policy(p firq.Policy) firq.Backpressure { return firq.Backpressure{Policy: p} }

// scenarios avoid what the contract leaves open: a shared limit together with tasks
// that expire, a change of length that a busy core may never see.
var scenarios = []scenario{
	{name: "plain", tenants: 5, cost: 1, weights: basic},
	{name: "costs and quanta", tenants: 6, cost: 40, weights: with(quanta), cfg: config{Quantum: 7}},
	{name: "charges", tenants: 4, cost: 9, weights: with(map[kind]int{opCharge: 12, opSetQuantum: 3}), cfg: config{Quantum: 5}},
	{name: "expiry and cancel", tenants: 4, cost: 12, dead: 25, tickets: 40,
		weights: with(map[kind]int{opCancel: 10, opSetQuantum: 2}), cfg: config{Quantum: 4}},
	{name: "priorities within", tenants: 4, cost: 6, dead: 15, tickets: 20,
		weights: with(map[kind]int{opCancel: 6}), cfg: config{Quantum: 3}},
	{name: "priorities across", tenants: 4, cost: 6, dead: 10, tickets: 20,
		weights: with(map[kind]int{opCancel: 6, opCharge: 4, opSetQuantum: 3}),
		cfg:     config{Quantum: 3, PriorityScope: firq.PriorityAcrossTenants}},
	{name: "LIFO", tenants: 4, cost: 6, dead: 15, tickets: 20,
		weights: with(map[kind]int{opCancel: 6}), cfg: config{Quantum: 3, Order: firq.LIFO}},
	{name: "LIFO across", tenants: 4, cost: 6, tickets: 20, weights: with(map[kind]int{opCancel: 6}),
		cfg: config{Quantum: 3, Order: firq.LIFO, PriorityScope: firq.PriorityAcrossTenants}},
	{name: "AdaptiveLIFO", tenants: 3, cost: 4, weights: basic,
		cfg: config{Quantum: 3, Order: firq.AdaptiveLIFO, LowWater: 3, HighWater: 6}},
	{name: "AdaptiveLIFO across", tenants: 3, cost: 4, weights: basic,
		cfg: config{Quantum: 3, Order: firq.AdaptiveLIFO, LowWater: 3, HighWater: 6, PriorityScope: firq.PriorityAcrossTenants}},
	{name: "new tenants first", tenants: 8, cost: 6, dead: 10, tickets: 20,
		weights: with(map[kind]int{opCancel: 6, opSetQuantum: 3}), cfg: config{Quantum: 3, NewTenantsFirst: true}},
	{name: "limits", tenants: 5, cost: 5, tickets: 30, weights: with(map[kind]int{opCancel: 8}),
		cfg: config{Quantum: 3, MaxGlobal: 13, MaxPerTenant: 5}},
	{name: "tenant limit and expiry", tenants: 4, cost: 5, dead: 35, tickets: 20, weights: with(map[kind]int{opCancel: 4}),
		cfg: config{Quantum: 3, MaxPerTenant: 5}},
	{name: "tenant count", tenants: 7, cost: 5, weights: with(map[kind]int{opCharge: 8, opSetQuantum: 3}),
		cfg: config{Quantum: 3, MaxTenants: 4}},
	{name: "tenant count, one in flight", tenants: 6, cost: 1, weights: with(map[kind]int{opDone: 30}),
		cfg: config{MaxInFlightPerTenant: 1, MaxTenants: 3}},
	{name: "threshold", tenants: 5, cost: 5, weights: basic, cfg: config{Quantum: 3, MaxGlobal: 30, DynamicThreshold: 0.7}},
	{name: "DropOldest", tenants: 4, cost: 5, tickets: 30, weights: with(map[kind]int{opCancel: 4}),
		cfg: config{Quantum: 3, MaxGlobal: 14, MaxPerTenant: 5, Backpressure: policy(firq.DropOldest)}},
	{name: "DropNewest", tenants: 4, cost: 5, tickets: 30, weights: with(map[kind]int{opCancel: 4}),
		cfg: config{Quantum: 3, MaxGlobal: 14, MaxPerTenant: 5, Backpressure: policy(firq.DropNewest)}},
	{name: "DropOldest and expiry, LIFO", tenants: 4, cost: 5, dead: 20, tickets: 20, weights: with(map[kind]int{opCancel: 4}),
		cfg: config{Quantum: 3, MaxPerTenant: 5, Order: firq.LIFO, Backpressure: policy(firq.DropOldest)}},
	{name: "DropNewest across", tenants: 4, cost: 5, tickets: 20, weights: with(map[kind]int{opCancel: 4}),
		cfg: config{Quantum: 3, MaxPerTenant: 7, PriorityScope: firq.PriorityAcrossTenants, Backpressure: policy(firq.DropNewest)}},
	{name: "one in flight", tenants: 4, cost: 1, tickets: 20, weights: with(map[kind]int{opDone: 30, opCancel: 4}),
		cfg: config{MaxInFlightPerTenant: 1}},
	{name: "three in flight, limits", tenants: 4, cost: 1, weights: with(map[kind]int{opDone: 25}),
		cfg: config{MaxInFlightPerTenant: 3, MaxGlobal: 14, MaxPerTenant: 6}},
	{name: "two in flight, costs and quanta", tenants: 5, cost: 30, weights: with(map[kind]int{opDone: 35, opCharge: 4, opSetQuantum: 3}),
		cfg: config{Quantum: 9, MaxInFlightPerTenant: 2}},
	{name: "two in flight, priorities across", tenants: 4, cost: 9, weights: with(map[kind]int{opDone: 35, opCharge: 3, opSetQuantum: 2}),
		cfg: config{Quantum: 6, MaxInFlightPerTenant: 2, PriorityScope: firq.PriorityAcrossTenants}},
	{name: "two in flight, LIFO", tenants: 4, cost: 20, tickets: 20, weights: with(map[kind]int{opDone: 35, opCancel: 4, opSetQuantum: 3}),
		cfg: config{Quantum: 6, MaxInFlightPerTenant: 2, Order: firq.LIFO}},
}

// generate makes n random calls.
func (sc *scenario) generate(random *rand.Rand, n int) []op {
	total := 0
	for _, w := range sc.weights {
		total += w
	}
	ops := make([]op, n)
	bias := 0 // the load swings, so that the queue fills up and runs dry
	for i := range ops {
		if i%40 == 0 {
			bias = random.IntN(3) - 1
		}
		o := op{
			id: 1 + 10*i, cost: 1 + random.Int64N(sc.cost), ticket: -1, n: 1 + random.IntN(6),
			tenant:   string(rune('a' + random.IntN(sc.tenants))),
			priority: firq.Priority(random.IntN(7)),
			dead:     random.IntN(100) < sc.dead,
			far:      random.IntN(4) == 0,
			amount:   random.Int64N(4 * sc.cost),
		}
		pick := random.IntN(total)
		for pick >= sc.weights[o.kind] {
			pick -= sc.weights[o.kind]
			o.kind++
		}
		switch {
		case bias > 0 && o.kind == opTryDequeue && i%3 > 0:
			o.kind = opEnqueue
		case bias < 0 && o.kind == opEnqueue && i%3 > 0:
			o.kind = opTryDequeue
		}
		switch {
		case o.kind == opCharge:
			o.amount -= 2 * sc.cost
		case o.kind == opCancel || !o.dead && random.IntN(100) < sc.tickets:
			o.ticket = random.IntN(16)
		}
		ops[i] = o
	}
	return ops
}
