package lincheck

import (
	"context"
	"testing"

	"github.com/firq-go/firq"
)

// written is a history by hand: what was done, and whether the contract allows it.
type written struct {
	name  string
	cfg   Config
	free  Relaxation
	tasks []Task // from number 1; a missing one is of tenant a, cost 1
	calls []Call
	lost  []int // DropClosed
	gone  []int // DropEvicted
	want  Verdict
}

// reserved: a batch holds all of its places before any of its tasks can be seen.
var reserved = []Call{
	over(1, 99, put(a, 1, 2)), over(2, 3, refuse(3, firq.ErrGlobalFull)), over(4, 5, nothing()), over(100, 101, get(1, 2))}

// between: the limit of tenant a is set between the two places of task 3. It gets the
// first one while there is no room for it, and the second one when there is.
var between = []Call{
	over(0, 50, put(a, 3)), over(1, 2, put(b, 2)), over(3, 4, put(a, 1)), over(5, 6, limitTo(1)), over(7, 8, get(2)), over(60, 61, get(1, 3))}

// The calls, one after another unless over says otherwise.
func put(tenant int, ids ...int) Call {
	return Call{Kind: EnqueueBatch, Tenant: tenant, Tasks: ids, N: len(ids)}
}

func refuse(id int, why error) Call { return Call{Kind: Enqueue, Tasks: []int{id}, Err: why} }

func get(ids ...int) Call { return Call{Kind: DequeueBatch, Got: ids, Most: len(ids)} }

func nothing() Call { return Call{Kind: TryDequeue} }

func simple(k Kind) Call { return Call{Kind: k} }

func cancel(id int, ok bool) Call { return Call{Kind: Cancel, Tasks: []int{id}, OK: ok} }

func most(n int) Call { return Call{Kind: SetMaxGlobal, Most: n} }

func limitTo(n int) Call { return Call{Kind: SetLimit, Most: n} }

func failed(k Kind, err error) Call { return Call{Kind: k, Err: err} }

// over gives the call a place in time; others have the time of their place in the
// list: the i-th, counted from 1, lasts from 10i to 10i+5.
func over(start, end int64, c Call) Call {
	c.Start, c.End = start, end
	return c
}

const a, b = 0, 1

var (
	one   = Config{Shards: 1, MaxGlobal: 1, MaxPerTenant: 1, Quantum: 1}
	two   = Config{Shards: 1, MaxGlobal: 2, MaxPerTenant: 1, Quantum: 1}
	pair  = Config{Shards: 1, MaxGlobal: 2, MaxPerTenant: 2, Quantum: 1}
	four  = Config{Shards: 1, MaxGlobal: 4, MaxPerTenant: 4, Quantum: 1}
	parts = Config{Shards: 2, MaxGlobal: 4, MaxPerTenant: 4, Quantum: 1}
	limit = Config{Shards: 1, MaxGlobal: 4, MaxPerTenant: 4, Quantum: 1, MaxInFlightPerTenant: 1}
	drop  = Config{Shards: 1, MaxGlobal: 2, MaxPerTenant: 2, Quantum: 1, Backpressure: firq.Backpressure{Policy: firq.DropOldest}}
)

// Of tenants a and b: odd tasks are a's.
var mixed = []Task{{Tenant: a}, {Tenant: b}, {Tenant: a}, {Tenant: b}}

func (w *written) history() *History {
	h := &History{Config: w.cfg, Relaxation: w.free, Tasks: make([]Task, 9), Closed: w.lost, Evicted: w.gone}
	copy(h.Tasks[1:], w.tasks)
	for id := range h.Tasks {
		h.Tasks[id].Cost = max(h.Tasks[id].Cost, 1)
		h.Tasks[id].Priority = max(h.Tasks[id].Priority, firq.PriorityNormal)
	}
	for i, c := range w.calls {
		if c.End == 0 {
			c.Start, c.End = int64(10*(i+1)), int64(10*(i+1)+5)
		}
		c.Client = i
		h.Calls = append(h.Calls, c)
	}
	return h
}

func runWritten(t *testing.T, list []written) {
	for _, w := range list {
		t.Run(w.name, func(t *testing.T) {
			h := w.history()
			got, err := Check(h)
			if got != w.want || (err != nil) != (got == Wrong) {
				t.Errorf("verdict %d, %v; want %d\n%s", got, err, w.want, Explain(h))
			}
		})
	}
}

// What the contract forbids, in histories that differ from right ones in as
// little as possible.
func TestWrong(t *testing.T) {
	urgent := []Task{{}, {Priority: firq.PriorityHigh}}
	runWritten(t, []written{
		{name: "refused with room", cfg: four, calls: []Call{put(a, 1), refuse(2, firq.ErrGlobalFull)}},
		{name: "the tenant refused with room", cfg: four, calls: []Call{put(a, 1), refuse(2, firq.ErrTenantFull)}},
		{name: "full of another tenant", cfg: two, tasks: mixed, calls: []Call{put(a, 1), refuse(2, firq.ErrTenantFull)}},
		{name: "both full, and the tenant named", cfg: one, calls: []Call{put(a, 1), refuse(2, firq.ErrTenantFull), get(1)}},
		{name: "refused after it came free", cfg: one, calls: []Call{put(a, 1), get(1), refuse(2, firq.ErrGlobalFull)}},
		{name: "refused after a cancel", cfg: one, calls: []Call{put(a, 1), cancel(1, true), refuse(2, firq.ErrGlobalFull)}},
		{name: "closed while open", cfg: four, calls: []Call{put(a, 1), refuse(2, firq.ErrClosed)}},
		{name: "too many", cfg: one, calls: []Call{put(a, 1), put(a, 2), get(1), get(2)}},
		{name: "too many of a tenant", cfg: two, calls: []Call{put(a, 1), put(a, 2), get(1, 2)}},
		{name: "too many at once", cfg: one, calls: []Call{over(1, 9, put(a, 1)), over(2, 8, put(a, 2)), get(1, 2)}},
		{name: "above a lower limit", cfg: four, calls: []Call{put(a, 1), most(1), put(a, 2)}},
		{name: "above a lower limit of the tenant", cfg: four, calls: []Call{put(a, 1), limitTo(1), put(a, 2)}},
		{name: "above a limit that was lowered below", cfg: four, calls: []Call{put(a, 1, 2, 3), most(1), get(1), put(a, 4)}},
		{name: "above the tenant's limit that was lowered below", cfg: four, calls: []Call{put(a, 1, 2, 3), limitTo(1), get(1), put(a, 4)}},
		{name: "refused after the limit rose", cfg: one, calls: []Call{put(a, 1), limitTo(5), most(2), refuse(2, firq.ErrGlobalFull)}},
		{name: "refused after the tenant's limit rose", cfg: pair, calls: []Call{limitTo(1), put(a, 1), limitTo(0), refuse(2, firq.ErrTenantFull)}},
		{name: "a place from before the limit, of a core that takes both at a time", cfg: pair, tasks: mixed, calls: between},
		{name: "empty", cfg: four, calls: []Call{put(a, 1), nothing(), get(1)}},
		{name: "empty beside another", cfg: four, calls: []Call{put(a, 1, 2), over(30, 40, get(1)), over(31, 39, nothing()), over(50, 55, get(2))}},
		{name: "gave up with work", cfg: four, calls: []Call{put(a, 1), failed(Dequeue, context.Canceled)}},
		{name: "a short batch", cfg: four, calls: []Call{put(a, 1, 2), {Kind: DequeueBatch, Got: []int{1}, Most: 2}, get(2)}},
		{name: "not in order", cfg: four, calls: []Call{put(a, 1, 2), get(2, 1)}},
		{name: "not in order on two shards", cfg: parts, calls: []Call{put(a, 1, 2), get(2, 1)}},
		{name: "two batches in the wrong order", cfg: parts, calls: []Call{over(1, 9, put(a, 1, 2)), over(2, 8, put(a, 3, 4)), get(4, 3)}},
		{name: "priority", cfg: four, tasks: urgent, calls: []Call{put(a, 1, 2), get(1, 2)}},
		{name: "rotation", cfg: four, tasks: mixed, calls: []Call{put(a, 1, 3), put(b, 2), get(1, 3, 2)}},
		{name: "who was first", cfg: four, tasks: mixed, calls: []Call{put(a, 1), put(b, 2), get(2, 1)}},
		{name: "a costly task", cfg: four, tasks: []Task{{Cost: 2}, {Tenant: b}}, calls: []Call{put(a, 1), put(b, 2), get(1, 2)}},
		{name: "a quantum", cfg: four, tasks: mixed, calls: []Call{
			{Kind: SetQuantum, Tenant: a, Most: 2}, put(a, 1, 3), put(b, 2), get(1, 2, 3)}},
		{name: "a quantum that was reset", cfg: four, tasks: mixed, calls: []Call{
			{Kind: SetQuantum, Tenant: a, Most: 2}, {Kind: ResetQuantum, Tenant: a}, put(a, 1, 3), put(b, 2), get(1, 3, 2)}},
		{name: "twice", cfg: four, calls: []Call{put(a, 1), get(1), get(1)}},
		{name: "never put", cfg: four, calls: []Call{put(a, 1), get(2)}},
		{name: "before it was put", cfg: four, calls: []Call{get(1), put(a, 1)}},
		{name: "cancelled and delivered", cfg: four, calls: []Call{put(a, 1), cancel(1, true), get(1)}},
		{name: "delivered and cancelled", cfg: four, calls: []Call{put(a, 1), over(20, 30, get(1)), over(21, 29, cancel(1, true))}},
		{name: "cancelled twice", cfg: four, calls: []Call{put(a, 1), cancel(1, true), cancel(1, true)}},
		{name: "not cancelled", cfg: four, calls: []Call{put(a, 1), cancel(1, false), get(1)}},
		{name: "above the in-flight limit", cfg: limit, calls: []Call{put(a, 1, 2), get(1, 2)}},
		{name: "empty after Done", cfg: limit, calls: []Call{put(a, 1, 2), get(1), {Kind: Done, Tasks: []int{1}}, nothing(), get(2)}},
		{name: "delivered after Close", cfg: four, calls: []Call{put(a, 1), simple(Close), get(1)}},
		{name: "accepted after Close", cfg: four, calls: []Call{simple(Close), put(a, 1)}, lost: []int{1}},
		{name: "Close forgets", cfg: four, calls: []Call{put(a, 1), simple(Close), failed(Dequeue, firq.ErrClosed)}},
		{name: "closed and delivered", cfg: four, calls: []Call{put(a, 1), over(20, 30, get(1)), over(21, 29, simple(Close))}, lost: []int{1}},
		{name: "accepted after Shutdown", cfg: four, calls: []Call{failed(Shutdown, context.Canceled), put(a, 1)}},
		{name: "drained with a backlog", cfg: four, calls: []Call{put(a, 1), simple(Shutdown), get(1)}},
		{name: "over with a backlog", cfg: four, calls: []Call{
			put(a, 1), failed(Shutdown, context.Canceled), failed(Dequeue, firq.ErrClosed), get(1)}},
		{name: "drained and closed first", cfg: four, calls: []Call{
			simple(Shutdown), simple(Close), failed(Shutdown, firq.ErrClosed)}},
		{name: "evicted with room", cfg: drop, calls: []Call{put(a, 1), put(a, 2), get(2)}, gone: []int{1}},
		{name: "the newest is evicted", cfg: drop, calls: []Call{put(a, 1, 2, 3), get(1, 3)}, gone: []int{2}},
		{name: "Len", cfg: four, calls: []Call{put(a, 1), simple(Len), get(1)}},
		{name: "Len above the limit", cfg: one, calls: []Call{put(a, 1), {Kind: Len, N: 2}, get(1)}},
		{name: "forgotten", cfg: four, calls: []Call{
			over(1, 9, put(a, 1)), over(2, 8, simple(Close)), {Kind: Stats, Alone: true, Counters: Counters{Enqueued: 1}}}},
		{name: "Stats", cfg: four, calls: []Call{put(a, 1), {Kind: Stats, Counters: Counters{Enqueued: 1, Dequeued: 1}}, get(1)}},
		{name: "a task of a later tenant", cfg: four, free: Relaxation{Turns: true}, tasks: mixed,
			calls: []Call{put(a, 1), put(b, 2), get(2), get(1)}},
		{name: "a batch ahead of a tenant that became active during it", cfg: four, free: Relaxation{Turns: true}, tasks: mixed, calls: []Call{
			over(1, 2, put(a, 1)), over(3, 99, get(1, 3)), over(10, 11, put(b, 2)), over(12, 13, put(a, 3)), over(100, 101, get(2))}},
		{name: "a batch that reserves ahead", cfg: pair, calls: reserved},
		{name: "stopped, then not", cfg: parts, tasks: mixed, lost: []int{3},
			calls: []Call{over(1, 99, simple(Close)), refuse(1, firq.ErrClosed), put(a, 3)}},
	})
}

// What the contract allows.
func TestRight(t *testing.T) {
	runWritten(t, []written{
		{name: "one after another", cfg: one, want: Atomic, calls: []Call{
			put(a, 1), refuse(2, firq.ErrGlobalFull), try(1), nothing(), put(a, 3), cancel(3, true), put(a, 4), get(4)}},
		{name: "rotation", cfg: four, tasks: mixed, want: Atomic, calls: []Call{put(a, 1, 3), put(b, 2), get(1, 2, 3), nothing()}},
		{name: "the turn goes on", cfg: Config{Shards: 1, MaxGlobal: 4, MaxPerTenant: 4, Quantum: 2}, tasks: mixed, want: Atomic,
			calls: []Call{put(a, 1), get(1), put(b, 2), put(a, 3), get(3, 2)}},
		{name: "the turn is over", cfg: Config{Shards: 1, MaxGlobal: 4, MaxPerTenant: 4, Quantum: 2}, tasks: mixed, want: Atomic,
			calls: []Call{put(a, 1), get(1), nothing(), put(b, 2), put(a, 3), get(2, 3)}},
		{name: "either first", cfg: four, tasks: mixed, want: Atomic, calls: []Call{over(1, 9, put(a, 1)), over(2, 8, put(b, 2)), get(2, 1)}},
		{name: "shards in any order", cfg: parts, tasks: mixed, want: Atomic, calls: []Call{put(a, 1), put(b, 2), get(2, 1)}},
		{name: "a batch in pieces", cfg: one, want: Atomic, calls: []Call{
			over(1, 100, Call{Kind: EnqueueBatch, Tasks: []int{1, 2, 3}, N: 2, Err: firq.ErrGlobalFull}), over(2, 3, get(1)), over(101, 102, get(2))}},
		{name: "in flight", cfg: limit, want: Atomic, calls: []Call{
			put(a, 1, 2), get(1), nothing(), {Kind: Done, Tasks: []int{1}}, get(2)}},
		{name: "evicted", cfg: drop, want: Atomic, gone: []int{1}, calls: []Call{put(a, 1, 2, 3), get(2, 3)}},
		{name: "closed", cfg: four, want: Atomic, lost: []int{2}, calls: []Call{
			put(a, 1, 2), get(1), simple(Close), refuse(3, firq.ErrClosed), failed(Dequeue, firq.ErrClosed), failed(Shutdown, firq.ErrClosed), nothing()}},
		{name: "drained", cfg: four, want: Atomic, calls: []Call{
			put(a, 1), over(20, 90, simple(Shutdown)), over(30, 31, refuse(2, firq.ErrClosed)), over(40, 41, get(1)), over(91, 92, simple(Close)), over(93, 94, simple(Shutdown))}},
		// A place is taken before the task can be seen, and given back after it has
		// left.
		{name: "what is above a limit stays", cfg: four, want: Atomic, calls: []Call{
			put(a, 1, 2, 3), most(1), limitTo(2), refuse(4, firq.ErrGlobalFull), get(1, 2), refuse(4, firq.ErrGlobalFull), get(3), put(a, 4),
			most(4), put(a, 5), refuse(6, firq.ErrTenantFull), limitTo(0), put(a, 6), get(4, 5, 6)}},
		{name: "by the old limit, or by the new one", cfg: four, want: Atomic, calls: []Call{
			put(a, 1), over(20, 29, put(a, 2)), over(21, 28, most(1)), over(31, 39, most(2)), over(32, 38, refuse(3, firq.ErrGlobalFull)), get(1, 2)}},
		{name: "a place from before the limit", cfg: pair, tasks: mixed, free: Relaxation{Limits: true}, want: Right, calls: between},
		{name: "full and empty", cfg: one, want: Right, calls: []Call{
			over(1, 99, put(a, 1)), refuse(2, firq.ErrGlobalFull), nothing(), over(100, 101, get(1))}},
		{name: "a batch may reserve ahead", cfg: pair, free: Relaxation{Batches: true}, want: Right, calls: reserved},
		{name: "empty and full", cfg: one, want: Right, calls: []Call{
			put(a, 1), over(20, 99, get(1)), over(30, 31, nothing()), over(40, 41, refuse(2, firq.ErrGlobalFull))}},
		{name: "a place for a refused task", cfg: one, want: Right, calls: []Call{
			over(1, 99, refuse(1, firq.ErrClosed)), over(2, 3, refuse(2, firq.ErrGlobalFull)), over(4, 5, simple(Close))}},
		{name: "sees off, and is closed", cfg: four, tasks: mixed, want: Right, calls: []Call{
			over(1, 99, failed(Dequeue, firq.ErrClosed)), over(2, 3, put(a, 1)), over(4, 5, cancel(1, true)), over(10, 11, put(b, 2)),
			over(12, 13, put(a, 3)), over(14, 15, get(2, 3)), over(16, 17, simple(Close))}},
	})
}

// try is a TryDequeue that found a task.
func try(id int) Call { return Call{Kind: TryDequeue, OK: true, Got: []int{id}, Most: 1} }
