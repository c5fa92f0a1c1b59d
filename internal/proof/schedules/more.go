//go:build firq_failpoints

package schedules

import (
	"context"
	"time"

	"github.com/firq-go/firq"
)

// inbox is how many slots the largest inbox of any core has.
const inbox = 16

// upTo returns the numbers from 1 to n.
func upTo(n int) (all []int) {
	for i := range n {
		all = append(all, i+1)
	}
	return all
}

// more are the programs that planted faults have shown to be missing (see
// scripts/mutate).
var more = map[string]program{
	"never empty, however it moves":    {1, neverEmptyHowever},
	"nothing, and served on the other": {1, seenOffOnPassed},
	// Between two words that say whether the shard is ready there would be a moment.
	"drained by an unsure sum":        {1, unsureSum},
	"closed before it was full":       {1, closedFirst},
	"a limit that is old":             {1, oldLimit},
	"full of a call that was refused": {1, func(st *stage) { fullOfNothing(st, "") }},
	"full of a call that is refused":  {1, func(st *stage) { fullOfNothing(st, "give back") }},
	"work is seen all the time": {2, func(st *stage) {
		st.build(config{})
		st.queue("a", 1)
		st.Go("drains", func() { st.s.Stats() })
		st.Go("consumer", func() { st.must() })
		st.Run()
	}},
	"a task that is just taken in": {1, func(st *stage) {
		st.known(config{}, "a")
		st.queue("a", 1)
		st.Go("holder", func() { st.s.SetQuantum("a", 2) })
		st.Go("consumer", func() { st.must() })
		st.Run()
	}},
	// The producer replaces the expired task, or finds room: it is never full of what could not be replaced.
	"an expired task goes while a producer is refused": {2, func(st *stage) {
		st.known(config{MaxGlobal: 1, MaxQueueAge: 1}, "a", "b")
		st.queue("a", 1)
		expire()
		st.Go("producer", func() { st.queue("b", 2) })
		st.Go("consumer", func() { st.try() })
		st.Run()
	}},
	"work is seen while it is drained": {2, func(st *stage) {
		st.build(config{})
		st.queue("a", 1, 2)
		st.Go("drains", func() { st.s.Stats() })
		st.Go("consumer", func() { st.must() })
		st.Run()
	}},
	"the last place, and two shards": {2, func(st *stage) {
		on := st.two(config{MaxGlobal: 1})
		st.Go("first", func() { st.refusedBy(st.enqueue(on[0], 1), firq.ErrGlobalFull) })
		st.Go("second", func() { st.refusedBy(st.enqueue(on[1], 2), firq.ErrGlobalFull) })
		st.Run()
		st.took(1)
	}},
	"a producer waits on another shard": {2, func(st *stage) {
		on := st.two(config{MaxGlobal: 1})
		st.queue(on[0], 1)
		st.Go("waits", func() { st.wait(context.Background(), on[1], 2) })
		st.Go("consumer", func() { st.must() })
		st.Run()
		st.awake("waits", "consumer")
	}},
	// An inbox holds sixteen: the next two take the lease, and there is a place for
	// one of them.
	"a full inbox, a full tenant": {1, func(st *stage) {
		st.build(config{MaxPerTenant: inbox + 1})
		st.queue("a", upTo(inbox)...)
		st.Go("first", func() { st.refusedBy(st.enqueue("a", 21), firq.ErrTenantFull) })
		st.Go("second", func() { st.refusedBy(st.enqueue("a", 22), firq.ErrTenantFull) })
		st.Run()
		st.took(inbox + 1)
	}},
	// The lease holder moves the deadline from the inbox to the shard; a call that finds
	// no place sees it all the time.
	"expired while it is drained": {2, func(st *stage) {
		st.build(config{MaxPerTenant: 1, MaxQueueAge: 1})
		st.queue("a", 1)
		expire()
		st.Go("drains", func() { st.s.SetQuantum("a", 2) })
		st.Go("producer", func() { st.queue("a", 2) })
		st.Run()
	}},
	"shutdown and a waiting producer": {2, func(st *stage) {
		st.build(config{MaxGlobal: 1})
		st.queue("a", 1)
		st.Go("waits", func() { st.refusedBy(st.wait(context.Background(), "b", 2), firq.ErrClosed) })
		st.Go("shutdown", st.shutdown)
		st.Run()
		st.awake("waits")
		st.Go("consumer", st.consume)
		st.Run()
		st.awake("shutdown", "consumer")
	}},
	// The shard's lease holder drains the tenant between the producer's note of the
	// deadline and its task.
	"a deadline while it is drained": {2, func(st *stage) {
		st.polled(config{MaxGlobal: 3})
		st.Go("producer", func() { st.offer("a", task{Payload: 3, Deadline: time.Now().Add(1)}) })
		st.Go("drains", func() { st.s.Stats() })
		st.Run()
		expire()
		st.queue("b", 4)
	}},
	// The same with a tenant that is announced: a call that drains looks at the polled ones.
	"a deadline of an unpolled tenant while others are drained": {1, func(st *stage) {
		st.build(config{MaxGlobal: 1})
		st.Go("producer", func() { st.offer("a", task{Payload: 3, Deadline: time.Now().Add(1)}) })
		st.Go("drains", func() { st.s.Stats() })
		st.Run()
		expire()
		st.queue("b", 4)
	}},
	// One of two new tenants is refused. It does not count for ever.
	"a refused tenant is forgotten": {2, func(st *stage) {
		on := st.two(config{MaxGlobal: 1, MaxTenants: 2, TenantIdle: time.Millisecond})
		st.Go("first", func() { st.enqueue(on[0], 1) })
		st.Go("second", func() { st.enqueue(on[1], 2) })
		st.Run()
		st.rest()
		expire()
		st.s.Stats()
		for i, name := range []string{"one", "two"} {
			st.queue(name, 3+i)
			st.must()
		}
	}},
	"a polled tenant's inbox is full": {1, func(st *stage) {
		st.polled(config{})
		st.queue("a", upTo(inbox + 3)[2:]...)
		st.inOrder(st.rest(), upTo(inbox+3))
	}},
	// A batch that is not filled has asked the tenant for more: it is seen off.
	"a polled tenant, emptied by a batch": {2, func(st *stage) {
		st.polled(config{})
		st.Go("consumer", func() {
			for n := 0; n < 3; {
				var dst [4]firq.Item[string, int]
				m, err := st.s.DequeueBatch(context.Background(), dst[:])
				if err != nil {
					return
				}
				for _, it := range dst[:m] {
					st.ended(it.Payload, "delivered")
				}
				n += m
			}
		})
		st.Go("producer", func() { st.queue("a", 3) })
		st.Run()
		st.awake("consumer")
	}},
	"a polled tenant, all cancelled": {2, func(st *stage) {
		st.build(config{})
		tickets := []*firq.Ticket{st.cancellable("a", 0), st.cancellable("a", 1)}
		st.s.Stats() // drains: the tenant is polled
		for i := range tickets {
			tickets[i].Cancel()
		}
		st.Go("consumer", func() { st.dequeue() })
		st.Go("producer", func() { st.queue("a", 3) })
		st.Run()
		st.awake("consumer")
	}},
	"a polled tenant, cancelled while a task comes": {2, func(st *stage) {
		st.build(config{})
		tickets := []*firq.Ticket{st.cancellable("a", 0), st.cancellable("a", 1)}
		st.s.Stats() // drains: the tenant is polled
		tickets[0].Cancel()
		st.Go("canceller", func() { tickets[1].Cancel() })
		st.Go("producer", func() { st.queue("a", 3) })
		st.Run()
		st.Go("consumer", func() { st.dequeue() })
		st.Run()
		st.awake("consumer")
	}},
	// The same at an in-flight limit: no consumer has to see the tenant off, so none looks at
	// its inbox unless a producer has announced a task.
	"a blocked tenant, cancelled while a task comes": {2, func(st *stage) {
		st.build(config{MaxInFlightPerTenant: 1})
		st.queue("a", 10)
		tickets := []*firq.Ticket{st.cancellable("a", 0), st.cancellable("a", 1)}
		st.s.Stats() // drains: the tenant is polled
		it := st.must()
		tickets[0].Cancel()
		st.Go("canceller", func() { tickets[1].Cancel() })
		st.Go("producer", func() { st.queue("a", 3) })
		st.Run()
		it.Done()
		st.Go("consumer", func() { st.dequeue() })
		st.Run()
		st.awake("consumer")
	}},
	"shutdown without consumers, and close": {2, func(st *stage) {
		st.build(config{})
		st.queue("a", 1)
		st.Go("shutdown", func() { st.refusedBy(st.s.Shutdown(context.Background()), firq.ErrClosed) })
		st.Go("closer", func() { st.s.Close() })
		st.Run()
		st.awake("shutdown", "closer")
		st.everything()
	}},
}
