package compute

import (
	"github.com/firq-go/firq"
	"github.com/firq-go/firq/gate"
)

// Stats is a snapshot of a Server. The counters only grow. While calls are in progress
// the fields need not be from the same instant.
//
// Each call of Do and DoInfo that returned is in exactly one of Hits, Stale, Coalesced,
// Executed, Refused, GaveUp and Closed, by its Source, or its error where that is None;
// but for calls that make no sense (firq.ErrInvalidArgument, ErrInvalidTask, ErrCycle),
// which are in none.
type Stats[T comparable] struct {
	Hits      uint64 // answered by what is kept, errors too
	Stale     uint64 // answered by what is past its TTL
	Coalesced uint64 // answered by another call's execution
	Executed  uint64 // answered by their own execution
	Refused   uint64 // ended with what matches firq.ErrRejected; the sum of the four below
	GaveUp    uint64 // whose context ended first
	Closed    uint64 // ended with firq.ErrClosed

	RefusedGlobal  uint64 // firq.ErrGlobalFull
	RefusedTenant  uint64 // firq.ErrTenantFull, ErrTenantThreshold, ErrTooManyTenants, gate.ErrEvicted, ErrOverload
	RefusedTimeout uint64 // firq.ErrTimeout
	RefusedWaiters uint64 // ErrTooManyWaiters

	Executions uint64 // begun, those behind included; at rest Executions = Succeeded + Failed
	Succeeded  uint64 // of these, ended without an error
	Failed     uint64 // of these, ended with an error, or a panic
	Panics     uint64 // of Failed: panicked, or called runtime.Goexit
	Abandoned  uint64 // cancelled because no call waited any more; not by ExecTimeout, nor by Close
	Behind     uint64 // of Executions: begun in the background, for RefreshAhead, Stale or StaleIfError
	Spilled    uint64 // of Executions: ran in another group than the home of their key

	Limit     int // how many executions may run concurrently, all groups together
	Executing int // executions in progress; at rest 0
	Waiting   int // calls that wait for a slot; at rest 0
	Flights   int // keys that are being made, or wait for a slot; at rest 0
	Entries   int // results and errors that are kept

	Weight   int64          // of all entries
	ExecTime firq.QueueTime // how long executions took
	Groups   []gate.Stats[T]
}
