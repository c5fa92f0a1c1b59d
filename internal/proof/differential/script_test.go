package differential

import (
	"fmt"
	"math"
	"time"

	"pgregory.net/rapid"

	"github.com/firq-go/firq"
)

// tenant is the type of keys: floats, among which is NaN, which is not equal to itself.
type tenant = float64

var tenants = []tenant{1, 2, 3, 4, 5, 6, 0, math.NaN()}

// setup is a configuration, and what its callbacks answer.
type setup struct {
	firq.Config[tenant, int]
	asks         asks
	deadlines    bool // else no task has one, and the callbacks' answers may change: whether a tenant of expired tasks alone is asked of again is left open
	dropReenters bool // OnDrop enqueues a task in the place of one that was evicted
	dropPanics   bool // OnDrop panics for some payloads of tasks that have not expired
}

// asks says which callbacks there are.
type asks struct{ quantum, perTenant, inFlight, backpressure bool }

func (s setup) String() string {
	c := s.Config
	return fmt.Sprintf("%+v asks:%+v deadlines:%v reenters:%v panics:%v", c, s.asks, s.deadlines, s.dropReenters, s.dropPanics)
}

// op is a call, or what happens between two calls. The meaning of the numbers depends on kind.
type op struct {
	kind     kind
	tenant   tenant
	tasks    []task
	n        int
	d        time.Duration
	byHandle bool
}

func (o op) String() string {
	return fmt.Sprintf("%v{tenant %v, tasks %+v, n %d, d %v, handle %v}", o.kind, o.tenant, o.tasks, o.n, o.d, o.byHandle)
}

// flows is how many flows the tasks of a tenant have.
const flows = 4

type task struct {
	cost     int64
	priority firq.Priority
	deadline time.Duration // from now; 0: none
	ticket   int           // 0: none
	flow     uint64
}

type kind int

const (
	enqueue kind = iota
	enqueueBatch
	enqueueWait
	enqueueInBackground // a producer that waits while the script goes on
	tryDequeue
	dequeue
	dequeueBatch
	dequeueInBackground
	done
	charge
	cancel
	setQuantum
	resetQuantum
	setMaxGlobal
	setLimit
	stats
	sleep
	newAnswers // of the callbacks
	shutdown
	closing
)

var kinds = [...]string{"enqueue", "enqueueBatch", "enqueueWait", "enqueueInBackground", "tryDequeue", "dequeue", "dequeueBatch",
	"dequeueInBackground", "done", "charge", "cancel", "setQuantum", "resetQuantum", "setMaxGlobal", "setLimit", "stats", "sleep",
	"newAnswers", "shutdown", "closing"}

func (k kind) String() string { return kinds[k] }

// often has each kind as often as it shall be drawn.
var often = func() (all []kind) {
	for k, n := range map[kind]int{
		enqueue: 24, enqueueBatch: 6, enqueueWait: 3, enqueueInBackground: 2, tryDequeue: 14, dequeue: 3, dequeueBatch: 5,
		dequeueInBackground: 2, done: 12, charge: 4, cancel: 4, setQuantum: 2, resetQuantum: 1, setMaxGlobal: 1, setLimit: 2,
		stats: 6, sleep: 8, newAnswers: 1,
	} {
		for range n {
			all = append(all, k)
		}
	}
	return all
}()

func init() { // the order of a map is none, and a seed has to give the same script again
	for i := range often {
		for j := i; j > 0 && often[j] < often[j-1]; j-- {
			often[j], often[j-1] = often[j-1], often[j]
		}
	}
}

// maybe draws from some values, most often the first, which is the zero value of an option.
func maybe[V any](t *rapid.T, label string, zero V, some ...V) V {
	if n := rapid.IntRange(0, 3*len(some)).Draw(t, label); 0 < n && n <= len(some) {
		return some[n-1]
	}
	return zero
}

const (
	us = time.Microsecond
	ms = time.Millisecond
)

// No sum of the times below is another one, so that it is not left to chance which of two timers
// comes first.

func drawSetup(t *rapid.T) setup {
	var c firq.Config[tenant, int]
	c.Shards = 1
	c.MaxGlobal = maybe(t, "MaxGlobal", 0, 1, 2, 3, 7, 20, 300)
	c.MaxPerTenant = maybe(t, "MaxPerTenant", 0, 1, 2, 5, 40)
	c.MaxTenants = maybe(t, "MaxTenants", 0, 1, 2, 4)
	c.MaxInFlightPerTenant = maybe(t, "MaxInFlightPerTenant", 0, 1, 2, 5)
	c.DynamicThreshold = maybe(t, "DynamicThreshold", 0, 0.25, 1, 4)
	c.Quantum = maybe[int64](t, "Quantum", 0, 1, 3, 10, 1000)
	c.Backpressure = maybe(t, "Backpressure", firq.Backpressure{}, firq.Backpressure{Policy: firq.DropOldest},
		firq.Backpressure{Policy: firq.DropNewest}, firq.Backpressure{Policy: firq.Wait, Wait: 3700 * us})
	deadlines := rapid.Bool().Draw(t, "deadlines")
	if deadlines {
		c.MaxQueueAge = maybe(t, "MaxQueueAge", 0, 73*us, 5310*us, 50370*us)
	}
	c.TargetWait = maybe(t, "TargetWait", 0, ms, 10*ms)
	if c.TargetWait == 0 {
		c.Order = maybe(t, "Order", firq.FIFO, firq.LIFO, firq.AdaptiveLIFO)
	}
	c.Interval = maybe(t, "Interval", 0, ms, 20*ms)
	if c.Order == firq.AdaptiveLIFO {
		c.LowWater, c.HighWater = 2, 4
	}
	c.PriorityScope = maybe(t, "PriorityScope", firq.PriorityWithinTenant, firq.PriorityAcrossTenants)
	c.PriorityAging = maybe(t, "PriorityAging", 0, ms, 10*ms)
	c.MaxFlows = maybe(t, "MaxFlows", 0, 1, flows) // more flows than that share queues by a hash whose seed differs
	c.NewTenantsFirst = maybe(t, "NewTenantsFirst", false, true)
	c.FairnessSlack = maybe(t, "FairnessSlack", 0, 3)
	c.TopTenants = maybe(t, "TopTenants", 0, -1, 1, 2)
	c.TenantIdle = maybe(t, "TenantIdle", 0, ms, 20*ms)
	if deadlines { // a call that meets a limit drops what has expired; which of it depends on the core
		c.MaxGlobal, c.MaxPerTenant, c.MaxTenants, c.DynamicThreshold, c.TenantIdle = 0, 0, 0, 0, 0
	}
	s := setup{
		Config: c,
		asks: asks{maybe(t, "QuantumFor", false, true), !deadlines && maybe(t, "MaxPerTenantFor", false, true),
			maybe(t, "MaxInFlightFor", false, true), maybe(t, "BackpressureFor", false, true)},
		deadlines:    deadlines,
		dropReenters: maybe(t, "OnDrop enqueues", false, true),
	}
	// After a panic OnDrop is called in other goroutines, in any order.
	s.dropPanics = !s.dropReenters && maybe(t, "OnDrop panics", false, true)
	return s
}

func drawOps(t *rapid.T) []op {
	known := rapid.IntRange(1, len(tenants)).Draw(t, "tenants")
	plain := rapid.IntRange(0, 3).Draw(t, "plain") == 0 // a script of tasks that have a payload and a cost
	one := rapid.Custom(func(t *rapid.T) op { return drawOp(t, known, plain) })
	least := rapid.SampledFrom([]int{0, 20, 100, 300}).Draw(t, "least") // slices are short by themselves
	ops := rapid.SliceOfN(one, least, least+20).Draw(t, "calls")
	if end := rapid.IntRange(0, 2).Draw(t, "end"); end > 0 {
		at := rapid.IntRange(0, len(ops)).Draw(t, "at")
		ops = append(ops[:at:at], append([]op{{kind: shutdown + kind(end-1)}}, ops[at:]...)...)
	}
	return ops
}

func drawOp(t *rapid.T, known int, plain bool) op {
	o := op{kind: rapid.SampledFrom(often).Draw(t, "kind")}
	o.tenant = rapid.SampledFrom(tenants[:known]).Draw(t, "tenant")
	switch o.kind {
	case enqueue, enqueueWait, enqueueInBackground:
		o.tasks = []task{drawTask(t, plain)}
		o.byHandle = rapid.Bool().Draw(t, "by handle")
	case enqueueBatch:
		o.tasks = rapid.SliceOfN(rapid.Custom(func(t *rapid.T) task { return drawTask(t, plain) }), 0, 40).Draw(t, "tasks")
		o.byHandle = rapid.Bool().Draw(t, "by handle")
	case dequeueBatch:
		o.n = rapid.IntRange(0, 9).Draw(t, "n")
	case done, cancel:
		o.n = rapid.IntRange(0, 7).Draw(t, "n")
	case charge:
		o.n = rapid.IntRange(0, 7).Draw(t, "n")
		o.d = time.Duration(rapid.SampledFrom([]int64{1, -1, 5, -5, 40, -40, 1 << 40, math.MinInt64, math.MaxInt64}).Draw(t, "delta"))
	case setQuantum:
		o.n = rapid.SampledFrom([]int{1, 2, 7, 100, -3}).Draw(t, "quantum")
	case setMaxGlobal:
		o.n = rapid.SampledFrom([]int{1, 2, 3, 8, 50, 1000}).Draw(t, "limit")
	case setLimit:
		o.n = rapid.SampledFrom([]int{0, 1, 2, 5, 1000}).Draw(t, "limit")
	case sleep:
		o.d = rapid.SampledFrom([]time.Duration{1, ms / 2, ms, 3 * ms, 12 * ms, 30 * ms, 200 * ms}).Draw(t, "for")
	}
	return o
}

func drawTask(t *rapid.T, plain bool) task {
	k := task{cost: rapid.SampledFrom([]int64{0, 1, 1, 2, 5, 30, 1e12}).Draw(t, "cost")}
	if plain {
		return k
	}
	k.priority = maybe[firq.Priority](t, "priority", 0, 1, 2, 4, 6)
	k.deadline = maybe(t, "deadline", 0, -ms, 110*us, 1130*us, 4170*us, 15190*us)
	k.ticket = maybe(t, "ticket", 0, 1, 2, 3, 4)
	k.flow = rapid.Uint64Range(0, flows-1).Draw(t, "flow")
	if rapid.IntRange(0, 60).Draw(t, "invalid") == 60 {
		k.cost = -1
	}
	return k
}
