package lincheck

import (
	"math/rand/v2"

	"github.com/firq-go/firq"
)

// Case is one kind of history: which limits, which calls, how many.
type Case struct {
	Name    string
	Config  Config // MaxGlobal and MaxPerTenant are drawn where they are 0
	Weights [kinds]int
	Tenants int // at most 4
	Clients int
	Calls   int // of each client
	Cost    int // costs are 1 to this
	Quantum int // quanta are 1 to this
	Levels  int // priorities are Normal and this many above it
	Batch   int // tasks of a batch, at most
	// Bare: no task has a ticket, so that a batch can go in as one.
	Bare bool
}

// basic is a mix that fills and drains; cases add to it.
var basic = [kinds]int{Enqueue: 10, TryDequeue: 7, Dequeue: 1, Cancel: 3, Len: 1}

func with(extra map[Kind]int) [kinds]int {
	w := basic
	for k, n := range extra {
		w[k] = n
	}
	return w
}

var (
	batches = map[Kind]int{EnqueueBatch: 4, DequeueBatch: 4, Stats: 1}
	quanta  = map[Kind]int{SetQuantum: 2, ResetQuantum: 1, DequeueBatch: 2}
	ends    = map[Kind]int{Close: 1, Shutdown: 1, EnqueueBatch: 1, DequeueBatch: 1}
	limits  = map[Kind]int{SetMaxGlobal: 2, SetLimit: 2, EnqueueBatch: 2, DequeueBatch: 2}
	flights = map[Kind]int{Done: 6, Dequeue: 2, DequeueBatch: 1}
)

// Cases are the small configurations that are checked, on one shard and on
// several.
func Cases() []Case {
	return []Case{
		{Name: "one place", Config: Config{Shards: 1, MaxGlobal: 1}, Weights: basic, Tenants: 2},
		{Name: "plain", Config: Config{Shards: 1}, Weights: with(batches), Tenants: 3},
		{Name: "order", Config: Config{Shards: 1, MaxGlobal: 6, MaxPerTenant: 4}, Weights: with(batches), Tenants: 3, Batch: 3},
		{Name: "costs and quanta", Config: Config{Shards: 1, MaxGlobal: 4, MaxPerTenant: 4}, Weights: with(quanta), Tenants: 3, Cost: 3, Quantum: 3},
		{Name: "priorities", Config: Config{Shards: 1}, Weights: with(batches), Tenants: 2, Levels: 2},
		{Name: "in flight", Config: Config{Shards: 1, MaxInFlightPerTenant: 1}, Weights: with(flights), Tenants: 2},
		{Name: "two in flight", Config: Config{Shards: 1, MaxInFlightPerTenant: 2}, Weights: with(flights), Tenants: 2},
		{Name: "two in flight, costs and quanta", Config: Config{Shards: 1, MaxInFlightPerTenant: 2}, Weights: with(flights), Tenants: 2, Cost: 3, Quantum: 2},
		{Name: "close", Config: Config{Shards: 1}, Weights: with(ends), Tenants: 3},
		{Name: "evict", Config: Config{Shards: 1, Backpressure: firq.Backpressure{Policy: firq.DropOldest}}, Weights: basic, Tenants: 2},
		{Name: "deep", Config: Config{Shards: 1, MaxGlobal: 14, MaxPerTenant: 12}, Weights: with(batches), Tenants: 2, Batch: 6},
		// There is a backlog when a task of high priority comes.
		{Name: "late priorities", Config: Config{Shards: 1, MaxGlobal: 10, MaxPerTenant: 8}, Weights: with(batches), Tenants: 2, Levels: 2, Batch: 5, Bare: true},
		{Name: "batches nearly full", Config: Config{Shards: 1, MaxGlobal: 5, MaxPerTenant: 4}, Weights: with(map[Kind]int{EnqueueBatch: 10, DequeueBatch: 4}), Tenants: 2, Batch: 4, Bare: true},
		{Name: "batches of all places", Config: Config{Shards: 1, MaxGlobal: 3, MaxPerTenant: 3}, Weights: with(map[Kind]int{EnqueueBatch: 10, DequeueBatch: 4}), Tenants: 2, Batch: 4, Bare: true},
		{Name: "new limits", Config: Config{Shards: 1}, Weights: with(limits), Tenants: 2},
		{Name: "new limits of all", Config: Config{Shards: 1, MaxPerTenant: 9}, Weights: [kinds]int{Enqueue: 10, TryDequeue: 5, SetMaxGlobal: 3, Len: 2}, Tenants: 2},
		{Name: "new limits of a tenant", Config: Config{Shards: 1, MaxGlobal: 9}, Weights: [kinds]int{Enqueue: 10, TryDequeue: 5, SetLimit: 3, Cancel: 2}, Tenants: 1},
		{Name: "shards", Config: Config{Shards: 2}, Weights: with(batches), Tenants: 4},
		{Name: "shards nearly empty", Config: Config{Shards: 2, MaxGlobal: 3, MaxPerTenant: 2}, Weights: [kinds]int{Enqueue: 5, TryDequeue: 6}, Tenants: 4, Clients: 4, Calls: 6},
		{Name: "shards in flight", Config: Config{Shards: 2, MaxInFlightPerTenant: 1}, Weights: with(flights), Tenants: 3},
		{Name: "shards, new limits", Config: Config{Shards: 2}, Weights: with(limits), Tenants: 3},
		{Name: "shards close", Config: Config{Shards: 4}, Weights: with(ends), Tenants: 4},
	}
}

// plan is what the clients of one history will do.
type plan struct {
	config  Config
	tasks   []Task
	tickets []*firq.Ticket // by task; nil: none
	clients [][]planned
	last    bool // in the end Close comes; else contexts are cancelled
	// yielding: QuantumFor and OnDrop yield.
	yielding bool
}

// planned is a call that was drawn, and how often the client yields before it.
type planned struct {
	Call
	yields int
}

// draw makes a plan. The same random numbers make the same plan, but the goroutines may
// run in another order.
func (cs Case) draw(random *rand.Rand) *plan {
	cfg := cs.Config
	if cfg.MaxGlobal == 0 {
		cfg.MaxGlobal = 1 + random.IntN(4)
	}
	if cfg.MaxPerTenant == 0 {
		cfg.MaxPerTenant = 1 + random.IntN(cfg.MaxGlobal)
	}
	cfg.Quantum = 1 + random.Int64N(int64(max(cs.Quantum, 1)))
	p := &plan{config: cfg, tasks: make([]Task, 1), tickets: make([]*firq.Ticket, 1), last: random.IntN(4) == 0, yielding: random.IntN(2) == 0}
	clients, calls := cs.Clients, cs.Calls
	if clients == 0 {
		clients = 3 + random.IntN(2)
	}
	if calls == 0 {
		calls = 3 + random.IntN(4)
	}
	for range clients {
		list := make([]planned, calls)
		for i := range list {
			list[i] = planned{Call: cs.drawCall(random, p), yields: max(random.IntN(6)-2, 0)}
		}
		p.clients = append(p.clients, list)
	}
	for _, list := range p.clients { // now that all tasks are known
		own := 1
		for i := range list {
			switch x := &list[i]; x.Kind {
			case Enqueue, EnqueueBatch:
				own = x.Tasks[0]
			case Cancel: // more often than not what may well be queued
				x.Tasks = []int{own}
				if random.IntN(3) == 0 {
					x.Tasks[0] = 1 + random.IntN(max(len(p.tasks)-1, 1))
				}
			}
		}
	}
	return p
}

func (cs Case) drawCall(random *rand.Rand, p *plan) Call {
	total := 0
	for _, w := range cs.Weights {
		total += w
	}
	c := Call{Tenant: random.IntN(cs.Tenants)}
	for pick := random.IntN(total); pick >= cs.Weights[c.Kind]; c.Kind++ {
		pick -= cs.Weights[c.Kind]
	}
	batch := 1 + random.IntN(max(cs.Batch, 2))
	switch c.Kind {
	case Enqueue:
		c.Tasks = []int{cs.drawTask(random, p, c.Tenant)}
	case EnqueueBatch:
		for range batch {
			c.Tasks = append(c.Tasks, cs.drawTask(random, p, c.Tenant))
		}
	case Dequeue:
		c.Most = 1
	case DequeueBatch:
		c.Most = 1 + batch
	case SetMaxGlobal:
		c.Most = 1 + random.IntN(5)
	case SetLimit:
		c.Most = random.IntN(4)
	case SetQuantum:
		c.Most = 1 + random.IntN(max(cs.Quantum, 1))
	}
	return c
}

func (cs Case) drawTask(random *rand.Rand, p *plan, tenant int) int {
	p.tasks = append(p.tasks, Task{
		Tenant:   tenant,
		Cost:     1 + random.IntN(max(cs.Cost, 1)),
		Priority: firq.PriorityNormal + firq.Priority(random.IntN(cs.Levels+1)),
	})
	var tk *firq.Ticket
	if random.IntN(4) > 0 && !cs.Bare {
		tk = new(firq.Ticket)
	}
	p.tickets = append(p.tickets, tk)
	return len(p.tasks) - 1
}

func (p *plan) task(id int) firq.Task[int] {
	x := p.tasks[id]
	return firq.Task[int]{Payload: id, Cost: int64(x.Cost), Priority: x.Priority, Ticket: p.tickets[id]}
}
