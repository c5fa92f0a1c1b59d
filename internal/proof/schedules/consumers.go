//go:build firq_failpoints

package schedules

import (
	"context"
	"fmt"

	"github.com/firq-go/firq"
)

// sleeping: a consumer that sleeps is woken when there is an item for it.
var sleeping = map[string]program{
	"a task and a consumer": {3, func(st *stage) {
		st.build(config{})
		st.Go("producer", func() { st.enqueue("a", 1) })
		st.Go("consumer", func() { st.dequeue() })
		st.Run()
		st.awake("producer", "consumer")
	}},
	"two tasks and two consumers": {2, func(st *stage) {
		st.build(config{})
		st.Go("first", func() { st.dequeue() })
		st.Go("second", func() { st.dequeue() })
		st.Go("producer", func() { st.enqueue("a", 1, 2) })
		st.Run()
		st.awake("first", "second")
	}},
	"two producers and two consumers": {1, func(st *stage) {
		st.build(config{})
		st.Go("first", func() { st.dequeue() })
		st.Go("second", func() { st.dequeue() })
		st.Go("a", func() { st.enqueue("a", 1) })
		st.Go("b", func() { st.enqueue("b", 2) })
		st.Run()
		st.awake("first", "second")
	}},
	// A woken consumer whose context ends passes the wake-up on.
	"a cancelled consumer": {2, func(st *stage) {
		st.build(config{})
		ctx, cancel := context.WithCancel(context.Background())
		left := true
		st.Go("patient", func() { st.dequeue() })
		st.Go("cancelled", func() {
			if it, err := st.s.Dequeue(ctx); err == nil {
				st.ended(it.Payload, "delivered")
				left = false
			}
		})
		st.Go("cancel", cancel)
		st.Go("producer", func() { st.enqueue("a", 1) })
		st.Run()
		if left {
			st.awake("patient")
		}
		st.awake("cancelled", "producer")
	}},
	// Done lets the tenant's next task go, to a consumer that may be asleep.
	"done and a consumer": {3, func(st *stage) {
		st.build(config{MaxInFlightPerTenant: 1})
		st.queue("a", 1, 2)
		it := st.must()
		st.Go("done", it.Done)
		st.Go("consumer", func() { st.dequeue() })
		st.Run()
		st.awake("consumer")
	}},
	"done, a task and a consumer": {2, func(st *stage) {
		st.build(config{MaxInFlightPerTenant: 1})
		st.queue("a", 1)
		it := st.must()
		st.Go("done", it.Done)
		st.Go("producer", func() { st.enqueue("a", 2) })
		st.Go("consumer", func() { st.dequeue() })
		st.Run()
		st.awake("consumer")
	}},
	// More quantum can make a tenant ready whose task was too costly.
	"a quantum and a consumer": {2, func(st *stage) {
		st.build(config{})
		st.s.SetQuantum("a", 1)
		st.Go("quantum", func() { st.s.SetQuantum("a", 9); st.s.ResetQuantum("a") })
		st.Go("producer", func() { st.offer("a", task{Payload: 1, Cost: 5}) })
		st.Go("consumer", func() { st.dequeue() })
		st.Run()
		st.awake("consumer")
	}},
}

// polling: a tenant goes to and fro between idle and active, polled and unpolled,
// and no task is forgotten or overtaken.
var polling = map[string]program{
	"the last task leaves, the next comes": {3, func(st *stage) {
		st.build(config{})
		st.queue("a", 1)
		st.Go("consumer", func() { st.must() })
		st.Go("producer", func() { st.enqueue("a", 2) })
		st.Run()
		st.inOrder(st.rest(), []int{2})
	}},
	"a polled tenant is emptied": {2, func(st *stage) {
		st.polled(config{})
		st.Go("consumer", func() { st.must(); st.must() })
		st.Go("producer", func() { st.enqueue("a", 3, 4) })
		st.Run()
		st.inOrder(st.rest(), []int{3, 4})
	}},
	"a polled tenant and a sleeper": {2, func(st *stage) {
		st.polled(config{})
		st.Go("consumer", func() { st.dequeue(); st.dequeue(); st.dequeue() })
		st.Go("producer", func() { st.enqueue("a", 3) })
		st.Run()
		st.awake("consumer")
	}},
	"a polled tenant is cancelled": {2, func(st *stage) {
		var tk firq.Ticket
		st.build(config{})
		st.offer("a", task{Payload: 1, Ticket: &tk})
		st.queue("a", 2)
		st.s.Stats() // drains: the tenant is polled
		st.Go("consumer", func() { st.must() })
		st.Go("canceller", func() { tk.Cancel() })
		st.Go("producer", func() { st.enqueue("a", 3) })
		st.Run()
		st.rest()
	}},
	"two producers of one tenant": {2, func(st *stage) {
		st.build(config{})
		st.Go("first", func() { st.enqueue("a", 1, 2) })
		st.Go("second", func() { st.enqueue("a", 3) })
		st.Run()
		st.inOrder(st.rest(), []int{1, 2})
	}},
	// The tenant's inbox holds eight: the ninth takes the lease.
	"an inbox that is full": {2, func(st *stage) {
		st.build(config{})
		st.queue("a", 1, 2, 3, 4, 5, 6, 7)
		st.Go("first", func() { st.enqueue("a", 11, 12) })
		st.Go("second", func() { st.enqueue("a", 21, 22) })
		st.Go("consumer", func() { st.must() })
		st.Run()
		rest := st.rest()
		st.inOrder(rest, []int{2, 3, 4, 5, 6, 7, 11, 12})
		st.inOrder(rest, []int{2, 3, 4, 5, 6, 7, 21, 22})
	}},
	"priorities across tenants": {2, func(st *stage) {
		st.build(config{PriorityScope: firq.PriorityAcrossTenants})
		st.queue("a", 1, 2)
		st.Go("producer", func() { st.enqueue("a", 3) })
		st.Go("other", func() { st.offer("b", task{Payload: 4, Priority: firq.PriorityHigh}) })
		st.Go("consumer", func() { st.must() })
		st.Run()
		rest := st.rest()
		if st.ends[4] == "" || len(rest) != 3 || len(rest) == 3 && rest[1] == 4 {
			st.Errorf("order of the rest: %v", rest)
		}
	}},
}

// polled builds a scheduler in which tenant a has tasks 1 and 2, both drained, so that its
// next task need not be announced.
func (st *stage) polled(cfg config) {
	st.build(cfg)
	st.queue("a", 1, 2)
	st.s.Stats()
}

// inOrder fails unless the payloads of want are in got, in this order; those that were
// delivered before may be missing.
func (st *stage) inOrder(got, want []int) {
	at := 0
	for _, n := range want {
		if i := index(got[at:], n); i >= 0 {
			at += i + 1
		} else if index(got, n) >= 0 {
			st.Errorf("%v came in the order %v", want, got)
		} else if st.ends[n] == "" {
			st.Errorf("%d is not in %v", n, fmt.Sprint(got))
		}
	}
}

func index(list []int, n int) int {
	for i, m := range list {
		if m == n {
			return i
		}
	}
	return -1
}
