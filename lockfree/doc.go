// Package lockfree is the scheduler of package firq for many processors: producers and
// consumers share no lock.
//
//	s, err := lockfree.New(firq.Config[string, Job]{MaxPerTenant: 100})
//	err = s.Enqueue("tenant-a", firq.Task[Job]{Payload: job})
//	it, err := s.Dequeue(ctx)
//
// # How it works
//
// A shard is one lock and the engine under it, the deficit round robin of package drr,
// which baseline has too. While no two goroutines meet at the lock, producers take it. While
// they do, a producer sends its task by the shard's ring, which the next holder of the lock
// takes in; and a tenant with two queued tasks, all plain (a payload and a cost), gets a lane,
// in which its producers write tasks that the holder serves in place. All that producers of
// a tenant have to agree on is one word, so one CAS takes a place and a slot. The scheduler's
// capacity is a pool of credits in stripes, one per processor. docs/design/core.md has the
// invariants.
//
// # Concurrency properties
//
//	Enqueue         of a known tenant, below its limits: lock-free by lane or
//	                ring, and by the lock without waiting for it, while no
//	                consumer has to be woken. It takes the lock, and may wait
//	                for it: for a new tenant; where ring or lane are full; at a
//	                limit, unless the tenant's word or the credits say so; for a task that is
//	                not plain, if no two goroutines meet or its tenant has a lane; for
//	                an idle tenant, if the config has a function to ask; with DynamicThreshold
//	EnqueueBatch    by the lane, lock-free; else it takes the lock, for up to 128
//	                tasks at a time
//	EnqueueWait     as Enqueue; sleeps until there is capacity
//	TryDequeue      takes a lock: the first free one, else it waits for one
//	Dequeue(Batch)  as TryDequeue; sleeps until there is work
//	Len             lock-free
//	Item.Done       takes the lock, with in-flight limits; else nothing
//	Item.Charge, Ticket.Cancel, SetQuantum, ResetQuantum, SetLimit
//	                take the lock
//	SetMaxPerTenant, SetMaxInFlightPerTenant, Stats
//	                take each lock, and more than once
//	SetMaxGlobal    takes its own mutex; while more is queued than it
//	                says, so does an Enqueue that finds room again
//	Tenant          wait-free; a Handle's methods are as the scheduler's
//	Shutdown        sleeps until the backlog is gone
//	Close           takes each lock
//
// A lock is held for a bounded number of tasks and never while user code runs. Whether
// a key can be hashed and compared is checked beforehand: a key in the maps cannot
// panic (see firq.Producer). The holder waits for a producer that has drawn a slot and not
// written it yet. Such a producer cannot be preempted by Go, only by the operating system; then
// the shard waits as it would for a holder that is stopped.
//
// # Sources
//
// D. Vyukov's bounded queue for the slots; P. O'Neil, "The Escrow Transactional
// Method" (TODS 1986) for the credits; the Go scheduler (runtime/proc.go) for parking.
package lockfree
