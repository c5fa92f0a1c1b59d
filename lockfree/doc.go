// Package lockfree is the scheduler of package firq for many processors: producers and
// consumers share no lock.
//
//	s, err := lockfree.New(firq.Config[string, Job]{MaxPerTenant: 100})
//	err = s.Enqueue("tenant-a", firq.Task[Job]{Payload: job})
//	it, err := s.Dequeue(ctx)
//
// # How it works
//
// Each tenant has an inbox, a small ring in which its producers publish tasks. The
// ticket for a slot also reserves the tenant's capacity: one CAS on a cache line that
// only this tenant's producers and its server write. As long as the tenant is not
// marked polled, each task also puts the tenant into its shard's activation ring, as an
// actor's mailbox is scheduled. A consumer takes a shard's lease, brings new tasks into
// the shard's deficit round robin (package drr), serves, and releases the lease. A task
// with a payload, a cost and nothing else stays in its slot until it is delivered. The
// scheduler's capacity is a pool of credits in stripes, one per processor.
// docs/design/core.md has the details.
//
// # Concurrency properties
//
//	Enqueue         lock-free for a known tenant whose inbox has room, while
//	                no consumer has to be woken. A new tenant takes a lock of the
//	                tenant map. It takes the lease when the inbox or the
//	                activation ring is full, to evict, and to drop expired tasks
//	                where a limit is reached; and without waiting for it, if it
//	                is free and no other call was met there for a millisecond,
//	                to push the task past the inbox
//	EnqueueBatch    as Enqueue, for up to 32 tasks at a time; one by one at a
//	                limit, or where the inbox is full
//	EnqueueWait     as Enqueue; sleeps until there is capacity
//	TryDequeue      takes a lease: the first free one, else it waits for one
//	Dequeue(Batch)  as TryDequeue; sleeps until there is work
//	Len             lock-free
//	Item.Done       takes the lease, with in-flight limits; else nothing
//	Item.Charge, Ticket.Cancel, SetQuantum, ResetQuantum, SetLimit, Stats
//	                take the lease
//	SetMaxGlobal    takes its own mutex; while more is queued than it
//	                says, so does an Enqueue that finds room again
//	Tenant          wait-free; a Handle's methods are as the scheduler's
//	Shutdown        sleeps until the backlog is gone
//	Close           takes each lease
//
// A lease is held for a bounded number of tasks and never while user code runs. Whether
// a key can be hashed and compared is checked beforehand: a key in the maps cannot
// panic (see firq.Producer). A producer that is stopped in the middle of Enqueue hides
// only its own task, though a call whose tenant is full waits for it. On a shard where
// no other call was at work such a producer may hold the lease, and then that shard
// waits.
//
// # Sources
//
// Actor mailboxes for inbox and activation; D. Vyukov's bounded queue for the
// slots; P. O'Neil, "The Escrow Transactional Method" (TODS 1986) for the
// credits; the Go scheduler (runtime/proc.go) for parking.
package lockfree
