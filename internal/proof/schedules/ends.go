//go:build firq_failpoints

package schedules

import (
	"context"
	"errors"

	"github.com/firq-go/firq"
)

// ending: Close and Shutdown against everything. What is accepted is delivered or
// dropped, and no consumer sleeps on.
var ending = map[string]program{
	"close and a task": {3, func(st *stage) {
		st.build(config{})
		st.Go("producer", func() { st.refusedBy(st.enqueue("a", 1), firq.ErrClosed) })
		st.Go("closer", func() { st.s.Close() })
		st.Run()
		st.everything()
	}},
	"close and a polled tenant": {2, func(st *stage) {
		st.polled(config{})
		st.Go("producer", func() { st.refusedBy(st.enqueue("a", 3), firq.ErrClosed) })
		st.Go("closer", func() { st.s.Close() })
		st.Go("consumer", func() { st.try() })
		st.Run()
		st.everything()
	}},
	"close and two consumers": {2, func(st *stage) {
		st.build(config{})
		st.queue("a", 1)
		st.Go("first", func() { st.dequeue() })
		st.Go("second", func() { st.dequeue() })
		st.Go("closer", func() { st.s.Close() })
		st.Run()
		st.awake("first", "second", "closer")
		st.everything()
	}},
	"close and a waiting producer": {2, func(st *stage) {
		st.build(config{MaxGlobal: 1})
		st.queue("a", 1)
		st.Go("waits", func() { st.wait(context.Background(), "b", 2) })
		st.Go("closer", func() { st.s.Close() })
		st.Go("consumer", func() { st.try() })
		st.Run()
		st.awake("waits", "closer")
		st.everything()
	}},
	"close and a ticket": {2, func(st *stage) {
		var tk firq.Ticket
		st.build(config{})
		st.offer("a", task{Payload: 1, Ticket: &tk})
		st.Go("canceller", func() { tk.Cancel() })
		st.Go("closer", func() { st.s.Close() })
		st.Go("producer", func() { st.enqueue("a", 2) })
		st.Run()
		st.everything()
	}},
	"close and an eviction": {2, func(st *stage) {
		st.build(config{MaxPerTenant: 1, Backpressure: firq.Backpressure{Policy: firq.DropNewest}})
		st.queue("a", 1)
		st.Go("producer", func() { st.refusedBy(st.enqueue("a", 2), firq.ErrClosed) })
		st.Go("closer", func() { st.s.Close() })
		st.Run()
		st.everything()
	}},
	"shutdown and a task": {2, func(st *stage) {
		st.build(config{})
		st.Go("shutdown", st.shutdown)
		st.Go("producer", func() { st.refusedBy(st.enqueue("a", 1), firq.ErrClosed) })
		st.Go("consumer", st.consume)
		st.Run()
		st.awake("shutdown", "producer", "consumer")
		st.everything()
	}},
	"shutdown and a backlog": {2, func(st *stage) {
		st.build(config{})
		st.queue("a", 1, 2)
		st.Go("shutdown", st.shutdown)
		st.Go("first", st.consume)
		st.Go("second", st.consume)
		st.Run()
		st.awake("shutdown", "first", "second")
		st.everything()
	}},
	"shutdown and a task that is cancelled": {2, func(st *stage) {
		var tk firq.Ticket
		st.build(config{})
		st.offer("a", task{Payload: 1, Ticket: &tk})
		st.Go("shutdown", st.shutdown)
		st.Go("canceller", func() { tk.Cancel() })
		st.Go("consumer", st.consume)
		st.Run()
		st.awake("shutdown", "consumer")
		st.everything()
	}},
	"shutdown and a refusal": {2, func(st *stage) {
		st.build(config{MaxGlobal: 1})
		st.queue("a", 1)
		st.Go("shutdown", st.shutdown)
		st.Go("producer", func() { st.enqueue("b", 2) })
		st.Go("other", func() { st.enqueue("c", 3) })
		st.Go("consumer", st.consume)
		st.Run()
		st.awake("shutdown", "consumer")
		st.everything()
	}},
	// A producer that comes too late takes the free credit from the stripe that was
	// counted already and gives it back to the one that is counted next: they add up
	// to all, although a task is queued.
	"shutdown and a credit that is counted twice": {3, func(st *stage) {
		st.build(config{MaxGlobal: 2})
		st.queue("a", 1, 2)
		st.Go("consumer", func() { st.must() })
		st.Run()
		st.Go("producer", func() { st.enqueue("b", 3) })
		st.Go("shutdown", func() {
			st.shutdown()
			if n := st.s.Len(); n != 0 {
				st.Errorf("Shutdown returned, and %d tasks are queued", n)
			}
		})
		st.Run()
		st.Go("last", st.consume)
		st.Run()
		st.awake("shutdown", "last")
	}},
	"shutdown and close": {2, func(st *stage) {
		st.build(config{})
		st.queue("a", 1)
		st.Go("shutdown", func() { st.s.Shutdown(context.Background()) })
		st.Go("closer", func() { st.s.Close() })
		st.Go("consumer", st.consume)
		st.Run()
		st.awake("shutdown", "closer", "consumer")
		st.everything()
	}},
}

func (st *stage) shutdown() {
	if err := st.s.Shutdown(context.Background()); err != nil {
		st.Errorf("Shutdown: %v", err)
	}
}

// consume takes items until the end.
func (st *stage) consume() {
	for {
		if _, err := st.dequeue(); err != nil {
			if !errors.Is(err, firq.ErrClosed) {
				st.Errorf("Dequeue: %v", err)
			}
			return
		}
	}
}
