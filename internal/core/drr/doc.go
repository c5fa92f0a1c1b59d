// Package drr is a queue of many tenants, served by deficit round robin with weights, costs,
// priorities, orders, deadlines, cancellation and in-flight limits. The caller pushes tasks, and
// asks for the next one:
//
//	q := drr.New[string, Job](drr.Config{}, host) // host is called for expired tasks
//	q.Push(tenant, &drr.Task[Job]{Payload: job, Cost: 1, Due: drr.NoDeadline, Priority: firq.PriorityNormal})
//	tenant, task, verdict := q.Next(now)
//
// Package drr at the top of this module is made with it, for programs; the cores are, by package
// serve. It is pure and single-threaded: no goroutine, no clock, no atomics, no lock. The
// caller provides the time, and the lock if several goroutines use a Queue.
//
// # Order of service
//
// A Queue serves tasks by the algorithm of Shreedhar and Varghese ("Efficient Fair
// Queueing using Deficit Round Robin", SIGCOMM 1995). The tenant at the head of the
// active list has its turn. At the start of the turn its deficit grows by its quantum,
// once. While the deficit covers the cost of its front task, the tenant pays, the task
// is delivered, and the tenant stays at the head. Otherwise its turn is over: it goes
// to the tail and keeps the deficit. A tenant found empty leaves the list and forfeits
// its deficit. Whether a turn goes on is decided at the next call, not before.
//
// Two things differ from the paper. When no tenant can pay in a whole turn of the list,
// the empty turns are skipped in one step, with the same result as taking them one by
// one. And Charge may push a deficit below zero; such a debt, unlike credit, is kept
// when the tenant leaves. Each round that begins while the tenant is in no list takes a
// quantum off the debt.
//
// When the turn comes to a tenant that is at its in-flight limit (Block), or would go on, it
// is parked: it takes no turns, but each round that begins brings it its quantum, as its turn
// would. It keeps what it cannot spend, up to two quanta,
// or a quantum more than its next task costs, if that is more. When it may go on (Unblock) it
// goes before the tenant whose turn it is, which keeps that turn, as long as it has the
// deficit for its next task and is not blocked again; several such tenants go in the order
// in which they were unblocked. A tenant without the deficit goes to the tail, with a turn
// in the next round. Without a task it forfeits what it has when the next round begins, or
// when it may go on. While all tenants with tasks are blocked no round begins.
//
// The code calls the unit that takes turns a seat: a tenant or, with Config.Across, a
// tenant at one priority. In that case there is one list per priority, highest first.
//
// NewFirst is the sparse-flow rule of fq_codel (RFC 8290, section 4.2): a tenant that
// becomes active waits in a list of new tenants, which goes first, for one turn. Then
// it goes through the ordinary list before it may do so again.
//
// # Flows
//
// With Config.MaxFlows the tasks of a tenant at one priority are not one line. Each
// Task.Flow has a line, and these lines take turns in the same manner, with the
// tenant's quantum for each. When it is the tenant's turn, the turn of its lines
// decides which task is next. At most MaxFlows flows have their own lines; a further
// one shares a line, chosen by a seeded hash, until it has no task left there.
//
// # Rounds
//
// Round counts the turns of the active list: a round is over when every tenant that was
// active at its start was visited. It is the virtual time by which several queues are
// kept fair to each other (package shardsel): NextWithin serves up to a given round
// only, Tag says in which round the next delivery can be, and CatchUp takes the empty
// turns that time has passed over. Rounds are numbers modulo 1<<63, to be compared with
// Apart: a task takes as many rounds as its cost divided by the quantum, and a queue
// may live long.
//
// # Bounded work
//
// Next gives up with Again after a bounded number of visits and drops, so a lock need
// not be held while a million expired tasks are dropped. Skipping empty turns is the
// exception: it looks at each active tenant once, at most once per turn of the list,
// and likewise at the flows of a tenant. A quantum as large as the common cost avoids
// it.
package drr
