//go:build firq_failpoints

package schedules

import (
	"fmt"

	"github.com/firq-go/firq"
)

// sharded: several shards look like one queue.
var sharded = map[string]program{
	// At every instant until the second take a task is queued, so no consumer may find nothing,
	// although it looks at one shard after the other.
	"never empty": {2, func(st *stage) {
		on := st.two(config{})
		st.queue(on[1], 1)
		st.Go("consumer", func() { st.must() })
		st.Go("other", func() { st.queue(on[0], 2); st.must() })
		st.Run()
	}},
	"never empty, the other way round": {2, func(st *stage) {
		on := st.two(config{})
		st.queue(on[0], 1)
		st.Go("consumer", func() { st.must() })
		st.Go("other", func() { st.queue(on[1], 2); st.must() })
		st.Run()
	}},
	"never empty, to and fro": {2, func(st *stage) {
		on := st.two(config{})
		st.queue(on[1], 1)
		st.Go("consumer", func() { st.must() })
		st.Go("other", func() { st.queue(on[0], 2); st.must(); st.queue(on[1], 3); st.must() })
		st.Run()
	}},
	// The task on one shard is cancelled when there is one on the other, whose
	// activation was not in its ring yet when the consumer looked there.
	"never empty, one cancelled":       {3, func(st *stage) { st.neverEmpty(0) }},
	"never empty, the other cancelled": {3, func(st *stage) { st.neverEmpty(1) }},
	"a sleeper and two shards": {2, func(st *stage) {
		on := st.two(config{})
		st.Go("consumer", func() { st.dequeue(); st.dequeue() })
		st.Go("first", func() { st.queue(on[0], 1) })
		st.Go("second", func() { st.queue(on[1], 2) })
		st.Run()
		st.awake("consumer")
	}},
	"two sleepers and two shards": {1, func(st *stage) {
		on := st.two(config{})
		st.Go("one", func() { st.dequeue() })
		st.Go("two", func() { st.dequeue() })
		st.Go("producer", func() { st.queue(on[0], 1); st.queue(on[1], 2) })
		st.Run()
		st.awake("one", "two")
	}},
	"a shard that may not be served yet": {2, func(st *stage) {
		on := st.two(config{})
		for n := range 3 {
			st.queue(on[0], 10+n)
		}
		st.queue(on[1], 20)
		st.Go("one", func() { st.must(); st.must() })
		st.Go("two", func() { st.must(); st.must() })
		st.Run()
	}},
	"what has expired on another shard makes room": {2, func(st *stage) {
		on := st.two(config{MaxGlobal: 1, MaxQueueAge: 1})
		st.queue(on[0], 1)
		expire()
		st.Go("producer", func() { st.queue(on[1], 2) })
		st.Go("consumer", func() { st.try() })
		st.Run()
	}},
	"done on another shard": {2, func(st *stage) {
		on := st.two(config{MaxInFlightPerTenant: 1})
		st.queue(on[0], 1, 2)
		it := st.must()
		st.Go("done", it.Done)
		st.Go("consumer", func() { st.dequeue(); st.dequeue() })
		st.Go("producer", func() { st.queue(on[1], 3) })
		st.Run()
		st.awake("consumer")
	}},
}

// two builds a scheduler of two shards and returns a tenant on each.
func (st *stage) two(cfg config) (on [2]string) {
	cfg.Shards = 2
	st.build(cfg)
	for i := 0; on[0] == "" || on[1] == ""; i++ {
		k := fmt.Sprintf("tenant %d", i)
		if sh := st.core.Shard(st.s, k); on[sh] == "" {
			on[sh] = k
		}
	}
	return on
}

// beside returns another tenant of the same shard.
func (st *stage) beside(tenant string) string {
	for i := 0; ; i++ {
		k := fmt.Sprintf("neighbour %d", i)
		if st.core.Shard(st.s, k) == st.core.Shard(st.s, tenant) {
			return k
		}
	}
}

// cancellable queues a task and returns its ticket.
func (st *stage) cancellable(tenant string, n int) *firq.Ticket {
	tk := new(firq.Ticket)
	if err := st.offer(tenant, task{Payload: n, Ticket: tk}); err != nil {
		st.Errorf("Enqueue(%q, %d): %v", tenant, n, err)
	}
	return tk
}

func (st *stage) neverEmpty(first int) {
	on := st.two(config{})
	one := st.cancellable(on[1-first], 1)
	st.s.Stats()
	st.Go("consumer", func() { st.must() })
	st.Go("other", func() { st.queue(on[first], 2); one.Cancel() })
	st.Run()
}
