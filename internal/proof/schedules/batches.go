//go:build firq_failpoints

package schedules

import (
	"slices"

	"github.com/firq-go/firq"
)

// batched: the tasks of a batch are taken in by one step. The tenant is known, as the batch of
// a new one is taken in task by task.
var batched = map[string]program{
	"a batch and two consumers": {1, func(st *stage) {
		st.known(config{}, "a")
		st.Go("first", func() { st.dequeue() })
		st.Go("second", func() { st.dequeue() })
		st.Go("producer", func() { st.batch("a", 1, 2) })
		st.Run()
		st.awake("first", "second")
	}},
	"a batch, and a task before it": {1, func(st *stage) {
		st.known(config{}, "a")
		st.Go("producer", func() { st.queue("a", 1); st.batch("a", 2, 3); st.queue("a", 4) })
		st.Go("drains", func() { st.s.Stats() })
		st.Run()
		if got := st.rest(); !slices.Equal(got, []int{1, 2, 3, 4}) {
			st.Errorf("served in the order %v", got)
		}
	}},
	"two batches of a tenant": {1, func(st *stage) {
		st.known(config{}, "a")
		st.Go("first", func() { st.batch("a", 1, 2) })
		st.Go("second", func() { st.batch("a", 3, 4) })
		st.Run()
		got := st.rest()
		st.inOrder(got, []int{1, 2})
		st.inOrder(got, []int{3, 4})
	}},
	"two batches, and credits for three": {1, func(st *stage) {
		st.known(config{MaxGlobal: 3}, "a", "b")
		st.Go("first", func() { st.batch("a", 1, 2) })
		st.Go("second", func() { st.batch("b", 3, 4) })
		st.Run()
		st.took(2 + 3)
	}},
	"two batches, and places for three": {1, func(st *stage) {
		st.known(config{MaxPerTenant: 3}, "a")
		st.Go("first", func() { st.batch("a", 1, 2) })
		st.Go("second", func() { st.batch("a", 3, 4) })
		st.Run()
		st.took(1 + 3)
	}},
	// Places that a batch has taken and gets no credits for do not look like tasks to other calls.
	"a batch that gets a part, and a task": {1, func(st *stage) {
		st.known(config{MaxGlobal: 2, MaxPerTenant: 2}, "a", "b")
		st.queue("b", 9)
		st.Go("batch", func() { st.batch("a", 1, 2) })
		st.Go("producer", func() { st.refusedBy(st.enqueue("a", 3), firq.ErrGlobalFull) })
		st.Run()
		st.took(2 + 2)
	}},
	"a batch and a lower limit": {1, func(st *stage) {
		st.known(config{MaxPerTenant: 3}, "a")
		st.Go("producer", func() { st.batch("a", 1, 2, 3) })
		st.Go("setter", func() { st.s.SetLimit("a", 1); st.strictly(1, "a", 4) })
		st.Run()
	}},
	"a batch and close": {2, func(st *stage) {
		st.known(config{}, "a")
		st.Go("producer", func() { st.refusedBy(st.batch("a", 1, 2), firq.ErrClosed) })
		st.Go("closer", func() { st.s.Close() })
		st.Run()
		st.everything()
	}},
	"a batch and shutdown": {1, func(st *stage) {
		st.known(config{}, "a")
		st.Go("shutdown", st.shutdown)
		st.Go("producer", func() { st.refusedBy(st.batch("a", 1, 2), firq.ErrClosed) })
		st.Go("consumer", st.consume)
		st.Run()
		st.awake("shutdown", "producer", "consumer")
		st.everything()
	}},
	"a batch of a tenant that is forgotten": {1, func(st *stage) {
		st.idle(config{})
		st.Go("sweeper", func() { st.s.Stats() })
		st.Go("producer", func() { st.batch("a", 11, 12) })
		st.Run()
		if got := st.rest(); !slices.Equal(got, []int{11, 12}) {
			st.Errorf("served: %v", got)
		}
	}},
}

// batch offers tasks to a tenant, together, and returns the error.
func (st *stage) batch(tenant string, payloads ...int) error {
	ts := make([]task, len(payloads))
	for i, n := range payloads {
		ts[i].Payload = n
	}
	n, err := st.s.EnqueueBatch(tenant, ts)
	for _, payload := range payloads[:n] {
		st.accepted[payload] = true
	}
	return err
}
