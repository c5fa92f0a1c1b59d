// Package drr is deficit round robin with everything that a tenant may ask of
// it: weights, costs, priorities, orders, deadlines, cancellation, in-flight
// limits. It is pure and single-threaded: no goroutine, no clock, no atomics,
// no lock. Who uses it from several goroutines brings the lock, and the time.
//
// # Order of service
//
// A Queue serves as Shreedhar and Varghese published it ("Efficient Fair
// Queueing using Deficit Round Robin", SIGCOMM 1995). Take the tenant at the head
// of the active list. At the start of its turn its deficit grows by its
// quantum, once. While the deficit covers the cost of its front task: pay,
// deliver, stay at the head. Otherwise the turn is over: to the tail, the
// deficit is kept. A tenant found empty leaves the list and forfeits what was
// left. Whether a turn goes on is decided at the next call, not ahead of it.
//
// Two things differ from the paper. When a whole turn of the list finds nobody
// who can pay, the empty turns are skipped in one step, with the result that
// taking them one by one would have had. And Charge may push a deficit below
// zero; such a debt, unlike credit, is kept when the tenant leaves. Each round that
// begins while it is in no list takes a quantum off it.
//
// What takes turns is called a seat in the code: a tenant; with Config.Across a
// tenant at one priority, and there is one list per priority, highest first.
//
// NewFirst is the sparse-flow rule of fq_codel (RFC 8290, section 4.2): a tenant
// that becomes active waits in a list of its own, which goes first, for one
// turn; then it goes through the ordinary list before it may do so again.
//
// # Flows
//
// With Config.MaxFlows the tasks of a tenant at one priority are not one line: those
// of each Task.Flow are, and these lines take turns in the same manner, with the
// tenant's quantum for each. When it is the tenant's turn, theirs says which task is
// next. At most MaxFlows flows have lines of their own; a further one shares a line,
// chosen by a seeded hash, until it has no task left there.
//
// # Rounds
//
// Round counts the turns of the active list: a round is over when every tenant
// that was active at its start was visited. It is the virtual time by which
// several queues are kept fair to each other (package shardsel): NextWithin serves
// up to a given round only, Tag says in which round the next delivery can be, and
// CatchUp takes the empty turns that time has passed over. Rounds are numbers modulo
// 1<<63, to be compared with Apart: a task takes as many of them as its cost divided
// by the quantum, and a queue may live long.
//
// # Bounded work
//
// Next gives up after a bounded number of visits and drops with Again, so that
// a lock need not be held while a million expired tasks are worked off. Skipping
// empty turns is the exception: it looks at each active tenant once, at most once
// per turn of the list, and so among the flows of a tenant; a quantum as large as the
// common cost avoids it.
package drr
