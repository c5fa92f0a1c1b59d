//go:build firq_failpoints

package schedules

import (
	"context"
	"errors"

	"github.com/firq-go/firq"
)

// limits are strict, and no task is refused while there is room.
var limits = map[string]program{
	"the last place of all": {3, func(st *stage) {
		st.build(config{MaxGlobal: 1})
		st.Go("a", func() { st.refusedBy(st.enqueue("a", 1), firq.ErrGlobalFull) })
		st.Go("b", func() { st.refusedBy(st.enqueue("b", 2), firq.ErrGlobalFull) })
		st.Run()
		st.took(1)
	}},
	"the last place of a tenant": {3, func(st *stage) {
		st.build(config{MaxPerTenant: 1})
		st.Go("first", func() { st.refusedBy(st.enqueue("a", 1), firq.ErrTenantFull) })
		st.Go("second", func() { st.refusedBy(st.enqueue("a", 2), firq.ErrTenantFull) })
		st.Run()
		st.took(1)
	}},
	// Each goroutine has its own processor, so that credits move.
	"room for two, and two come": {3, func(st *stage) {
		st.build(config{MaxGlobal: 2})
		st.Go("a", func() { st.enqueue("a", 1) })
		st.Go("b", func() { st.enqueue("b", 2) })
		st.Run()
		st.took(2)
	}},
	"room for two, and three come": {2, func(st *stage) {
		st.build(config{MaxGlobal: 2})
		st.Go("a", func() { st.enqueue("a", 1) })
		st.Go("b", func() { st.enqueue("b", 2) })
		st.Go("c", func() { st.enqueue("c", 3) })
		st.Run()
		st.took(2)
	}},
	// A call that is refused because the scheduler is full must not make the tenant look full.
	"refused on account of the refused": {2, func(st *stage) {
		st.build(config{MaxGlobal: 1, MaxPerTenant: 1})
		st.queue("b", 9)
		st.Go("consumer", func() { st.must() })
		var second error
		st.Go("first", func() { st.enqueue("a", 1) })
		st.Go("second", func() { second = st.enqueue("a", 2) })
		st.Run()
		if errors.Is(second, firq.ErrTenantFull) && !st.accepted[1] {
			st.Errorf("the tenant was full, with nothing")
		}
	}},
	"a place comes free": {2, func(st *stage) {
		st.build(config{MaxGlobal: 2})
		st.queue("a", 1, 2)
		st.Go("consumer", func() { st.must(); st.queue("a", 3) })
		st.Go("other", func() { st.must(); st.queue("b", 4) })
		st.Run()
		st.took(4)
	}},
	"an expired task makes room": {2, func(st *stage) {
		st.build(config{MaxGlobal: 1, MaxQueueAge: 1})
		st.queue("a", 1)
		expire()
		st.Go("b", func() { st.queue("b", 2) })
		st.Go("consumer", func() { st.try() })
		st.Run()
		if st.ends[1] != "expired" {
			st.Errorf("the old task is %q", st.ends[1])
		}
	}},
	"two evict": {2, func(st *stage) {
		st.build(config{MaxPerTenant: 1, Backpressure: firq.Backpressure{Policy: firq.DropOldest}})
		st.queue("a", 1)
		st.Go("first", func() { st.queue("a", 2) })
		st.Go("second", func() { st.queue("a", 3) })
		st.Go("consumer", func() { st.must() })
		st.Run()
	}},
}

// waiting: a call that waits for a place gets it when there is one.
var waiting = map[string]program{
	"user code panics in a waiting call": {1, func(st *stage) {
		st.build(config{MaxGlobal: 1, QuantumFor: func(tenant string) int64 {
			if tenant == "bad" {
				panic("QuantumFor")
			}
			return 1
		}})
		st.queue("a", 1)
		st.Go("bad", func() {
			defer func() { _ = recover() }()
			st.wait(context.Background(), "bad", 2)
		})
		st.Go("good", func() { st.wait(context.Background(), "good", 3) })
		st.Go("consumer", func() { st.must() })
		st.Run()
		st.awake("good", "consumer") // the place is not for the other one
	}},
	"a place for a waiting producer": {3, func(st *stage) {
		st.build(config{MaxGlobal: 1})
		st.queue("a", 1)
		st.Go("waits", func() { st.wait(context.Background(), "b", 2) })
		st.Go("consumer", func() { st.must() })
		st.Run()
		st.awake("waits", "consumer")
	}},
	"a place that a batch leaves": {2, func(st *stage) {
		st.build(config{MaxGlobal: 1})
		st.queue("a", 1)
		st.Go("waits", func() { st.wait(context.Background(), "b", 2) })
		st.Go("consumer", func() { st.tryBatch() })
		st.Run()
		st.awake("waits", "consumer")
	}},
	"the tenant's place for a waiting producer": {3, func(st *stage) {
		st.build(config{MaxPerTenant: 1})
		st.queue("a", 1)
		st.Go("waits", func() { st.wait(context.Background(), "a", 2) })
		st.Go("consumer", func() { st.must() })
		st.Run()
		st.awake("waits", "consumer")
	}},
	"two wait, two places": {1, func(st *stage) {
		st.build(config{MaxGlobal: 2})
		st.queue("a", 1, 2)
		st.Go("first", func() { st.wait(context.Background(), "b", 3) })
		st.Go("second", func() { st.wait(context.Background(), "c", 4) })
		st.Go("consumer", func() { st.must(); st.must() })
		st.Run()
		st.awake("first", "second")
	}},
	"a producer that gives up passes the place on": {2, func(st *stage) {
		st.build(config{MaxGlobal: 1})
		st.queue("a", 1)
		ctx, cancel := context.WithCancel(context.Background())
		in := false
		st.Go("gives up", func() { in = st.wait(ctx, "b", 2) == nil })
		st.Go("waits", func() { st.wait(context.Background(), "c", 3) })
		st.Go("cancel", cancel)
		st.Go("consumer", func() { st.must() })
		st.Run()
		st.awake("gives up")
		if in == !st.Asleep("waits") {
			st.Errorf("the producer that gave up is in: %t, the one that waits sleeps: %t", in, st.Asleep("waits"))
		}
	}},
	"cancelling makes room": {2, func(st *stage) {
		var tk firq.Ticket
		st.build(config{MaxGlobal: 1})
		st.offer("a", task{Payload: 1, Ticket: &tk})
		st.Go("waits", func() { st.wait(context.Background(), "b", 2) })
		st.Go("canceller", func() { tk.Cancel() })
		st.Run()
		st.awake("waits")
	}},
	"cancelling makes room for the tenant": {2, func(st *stage) {
		var tk firq.Ticket
		st.build(config{MaxPerTenant: 1})
		st.offer("a", task{Payload: 1, Ticket: &tk})
		st.Go("waits", func() { st.wait(context.Background(), "a", 2) })
		st.Go("canceller", func() { tk.Cancel() })
		st.Run()
		st.awake("waits")
	}},
}

// refusedBy fails if err is another error than want.
func (st *stage) refusedBy(err, want error) {
	if err != nil && !errors.Is(err, want) {
		st.Errorf("%v, want %v", err, want)
	}
}

// took fails unless n tasks have been accepted.
func (st *stage) took(n int) {
	if len(st.accepted) != n {
		st.Errorf("%d tasks were accepted, want %d", len(st.accepted), n)
	}
}
