package lincheck

import (
	"errors"
	"fmt"
	"slices"
	"strings"

	"github.com/firq-go/firq"
)

// Config is of the instantiation that is checked. A payload is the number of its
// task.
type Config = firq.Config[string, int]

// Scheduler is what is checked.
type Scheduler = firq.Scheduler[string, int]

// Item is what a consumer gets of it.
type Item = firq.Item[string, int]

// Kind of a call.
type Kind uint8

// The calls that are recorded.
const (
	Enqueue Kind = iota
	EnqueueBatch
	TryDequeue
	Dequeue
	DequeueBatch
	Cancel
	Done
	SetQuantum
	ResetQuantum
	SetMaxGlobal
	SetLimit
	Len
	Stats
	Close
	Shutdown
	kinds
)

var kindNames = [kinds]string{
	"Enqueue", "EnqueueBatch", "TryDequeue", "Dequeue", "DequeueBatch", "Cancel", "Done",
	"SetQuantum", "ResetQuantum", "SetMaxGlobal", "SetLimit", "Len", "Stats", "Close", "Shutdown",
}

// Task is what was handed in under a number, its index in History.Tasks.
type Task struct {
	Tenant   int
	Cost     int
	Priority firq.Priority
}

// Counters are those fields of Stats that are counted under the lock of a shard.
type Counters struct {
	Enqueued, Dequeued, Cancelled, Evicted, Closed, InFlight uint8
}

// Call is one call and what came of it. Start and End are its place in the total
// order of all starts and ends.
type Call struct {
	Client     int
	Kind       Kind
	Tenant     int   // of Enqueue, EnqueueBatch, SetQuantum, ResetQuantum, SetLimit
	Tasks      []int // Enqueue, EnqueueBatch: handed in; Cancel, Done: of which task
	Most       int   // DequeueBatch: len(dst); SetQuantum: the quantum; SetMaxGlobal, SetLimit: the limit
	Start, End int64

	OK       bool  // TryDequeue, Cancel
	N        int   // EnqueueBatch: accepted; Len
	Got      []int // what was delivered, in order
	Err      error
	Counters Counters // Stats
	// Alone says that every other call and every task has ended: then Stats is exact
	// over all shards, and no place is taken.
	Alone bool
}

// History is what happened to one scheduler.
type History struct {
	Config     Config // the limits, Shards, Quantum and Backpressure matter
	Tasks      []Task // by number; number 0 is unused
	Calls      []Call
	Closed     []int // the tasks that OnDrop was called for, in any order
	Evicted    []int
	Relaxation Relaxation
}

// Relaxation is what the contract leaves open and a core uses.
type Relaxation struct {
	// Turns: the turns of a dequeue that give nothing are at their own instants;
	// a tenant may become active between two of them.
	Turns bool
	// Tickets: of Enqueues of one tenant that overlap, the one that is shown later
	// may be served first.
	Tickets bool
	// Batches: the places of several tasks of an EnqueueBatch may be taken before
	// the first of them can be seen.
	Batches bool
	// Limits: an Enqueue takes its tenant's place and its place of all at two instants;
	// limits may change in between.
	Limits bool
}

func tenantName(tenant int) string { return string(rune('a' + tenant)) }

// String writes the call and its outcome as a line of a failed test.
func (c *Call) String() string {
	var b strings.Builder
	b.WriteString(kindNames[c.Kind])
	switch c.Kind {
	case Enqueue, EnqueueBatch:
		fmt.Fprintf(&b, "(%s, %v) = ", tenantName(c.Tenant), c.Tasks)
		if c.Kind == EnqueueBatch {
			fmt.Fprintf(&b, "%d, ", c.N)
		}
		b.WriteString(c.outcome())
	case TryDequeue:
		if b.WriteString("() = "); c.OK {
			fmt.Fprint(&b, c.Got[0])
		} else {
			b.WriteString("nothing")
		}
	case Dequeue, DequeueBatch:
		fmt.Fprintf(&b, "(%d) = %v, %s", c.Most, c.Got, c.outcome())
	case Cancel:
		fmt.Fprintf(&b, "(%v) = %t", c.Tasks, c.OK)
	case Done:
		fmt.Fprintf(&b, "(%v)", c.Tasks)
	case SetMaxGlobal:
		fmt.Fprintf(&b, "(%d)", c.Most)
	case SetQuantum, SetLimit:
		fmt.Fprintf(&b, "(%s, %d)", tenantName(c.Tenant), c.Most)
	case ResetQuantum:
		fmt.Fprintf(&b, "(%s)", tenantName(c.Tenant))
	case Len:
		fmt.Fprintf(&b, "() = %d", c.N)
	case Stats:
		fmt.Fprintf(&b, "() = %+v", c.Counters)
	default:
		fmt.Fprintf(&b, "() = %s", c.outcome())
	}
	return b.String()
}

func (c *Call) outcome() string {
	if c.Err == nil {
		return "ok"
	}
	return strings.TrimPrefix(c.Err.Error(), "firq: ")
}

// String lists the calls in the order of their starts.
func (h *History) String() string {
	var b strings.Builder
	cfg := &h.Config
	fmt.Fprintf(&b, "Shards %d, MaxGlobal %d, MaxPerTenant %d, MaxInFlightPerTenant %d, Quantum %d, policy %d\n",
		cfg.Shards, cfg.MaxGlobal, cfg.MaxPerTenant, cfg.MaxInFlightPerTenant, cfg.Quantum, cfg.Backpressure.Policy)
	for id, x := range h.Tasks {
		if id > 0 && (x.Cost > 1 || x.Priority != firq.PriorityNormal) {
			fmt.Fprintf(&b, "task %d: cost %d, %v\n", id, x.Cost, x.Priority)
		}
	}
	fmt.Fprintf(&b, "closed %v, evicted %v\n", h.Closed, h.Evicted)
	order := make([]*Call, len(h.Calls))
	for i := range h.Calls {
		order[i] = &h.Calls[i]
	}
	slices.SortFunc(order, func(x, y *Call) int { return int(x.Start - y.Start) })
	for _, c := range order {
		fmt.Fprintf(&b, "%4d to %4d  %s%d: %v\n", c.Start, c.End, strings.Repeat("    ", c.Client), c.Client, c)
	}
	return b.String()
}

// refused reports whether err is an answer to Enqueue that the model knows.
func refused(err error) bool {
	return errors.Is(err, firq.ErrClosed) || errors.Is(err, firq.ErrGlobalFull) || errors.Is(err, firq.ErrTenantFull)
}
