//go:build firq_failpoints

package schedules

import (
	"context"
	"slices"

	"github.com/firq-go/firq"
)

// ordered: with one shard the order is that of deficit round robin, as if each turn happened
// at one instant.
var ordered = map[string]program{
	// b's turn goes on when it has been served; a comes after b's next task.
	"which tenant came first in a hold": {3, func(st *stage) {
		st.build(config{})
		st.offer("c", task{Payload: 4, Cost: 3})
		st.offer("b", task{Payload: 3, Cost: 2})
		st.Go("consumer", func() { st.must() })
		st.Go("producer", func() {
			st.queue("b", 1)
			st.offer("a", task{Payload: 2, Cost: 2})
		})
		st.Run()
		// Before a, between c's and b's turns, between b's and c's, and after both.
		st.oneOf(st.rest(), []int{4, 1, 2}, []int{4, 2, 1}, []int{2, 4, 1})
	}},
	// The consumer is at work when b and then a's next task come.
	"a lingers while b comes": {3, func(st *stage) {
		st.build(config{})
		st.queue("a", 1)
		st.must()
		var got int
		st.Go("consumer", func() {
			if it, ok := st.try(); ok {
				got = it.Payload
			}
		})
		st.Go("producer", func() {
			st.queue("b", 5)
			st.queue("a", 2)
		})
		st.Run()
		if rest := st.rest(); got == 2 {
			st.Errorf("2 came before 5, and then %v", rest)
		}
	}},
	// The activation of a task that was taken in before comes late.
	"an activation that comes late": {3, func(st *stage) {
		st.build(config{})
		st.queue("y", 1)
		st.must()
		st.Go("late", func() { st.queue("y", 2) })
		st.Go("client", func() {
			if _, ok := st.try(); !ok {
				return
			}
			st.queue("x", 3)
			st.queue("y", 4)
			if it := st.must(); it.Payload == 4 {
				st.Errorf("4 came before 3")
			}
		})
		st.Run()
	}},
	// The same while b's next task is put into the queue under the lease.
	"nothing, and the served tenant comes back": {2, func(st *stage) {
		st.build(config{})
		st.queue("b", 4)
		st.must() // b lingers
		st.Go("one", func() { st.queue("b", 5) })
		st.Go("two", func() { st.queue("b", 6) })
		st.Go("client", func() {
			if _, ok := st.try(); ok || len(st.accepted) > 1 {
				return
			}
			st.queue("b", 7)
			st.queue("a", 3)
			if it := st.must(); it.Payload == 3 {
				st.Errorf("3 came before b's tasks, one of which was there first")
			}
		})
		st.Run()
		st.rest()
	}},
	// b is there before either task of a has a place: it is served first, also if one
	// of them is put into the queue under the lease.
	"a tenant without a place does not come first": {2, func(st *stage) {
		st.build(config{})
		held := -1
		st.Go("one", func() { st.queue("a", 1) })
		st.Go("two", func() { st.queue("a", 2) })
		st.Go("client", func() {
			st.queue("b", 5)
			held = st.s.Len()
		})
		st.Run()
		if got := st.rest(); held == 1 && got[0] != 5 {
			st.Errorf("got %v, though 5 was there before the others had a place", got)
		}
	}},
	// A call that found nothing has seen off the tenants that were served their last task: b comes
	// anew, before a.
	"nothing, and the served tenant goes": {2, func(st *stage) {
		b := st.two(config{})[0] // a shard alone is ready as long as a tenant lingers
		a := st.beside(b)
		st.queue(b, 1, 4)
		st.must() // now both are in the queue, and no activation is on its way
		st.Go("consumer", func() { st.try() })
		st.Go("client", func() {
			if _, ok := st.try(); ok {
				return
			}
			st.queue(b, 5)
			st.queue(a, 3)
			if it := st.must(); it.Payload != 5 {
				st.Errorf("%d came before 5", it.Payload)
			}
		})
		st.Run()
		st.rest()
	}},
	// The first has its place before the lane opens, and comes to the ring when the holder has taken that
	// in and fetches the lane.
	"a task by the ring, and the next by the lane": {2, func(st *stage) {
		st.known(config{}, "a")
		st.queue("a", 1, 2)
		st.Go("producer", func() { st.queue("a", 3, 4) })
		st.Go("consumer", func() {
			st.must()
			st.must()
		})
		st.Run()
		st.oneOf(st.rest(), []int{3, 4})
	}},
	// A batch that delivers what came later has seen what came before it.
	"a priority that comes in the middle of a batch": {2, func(st *stage) {
		st.build(config{})
		high := func(n int) task { return task{Payload: n, Priority: firq.PriorityHigh} }
		st.offer("a", high(3))
		st.offer("a", high(4))
		st.must()
		var got []int
		st.Go("consumer", func() {
			var dst [2]firq.Item[string, int]
			n, err := st.s.DequeueBatch(context.Background(), dst[:])
			if err != nil {
				st.Errorf("DequeueBatch: %v", err)
			}
			for i := range dst[:n] {
				st.ended(dst[i].Payload, "delivered")
				got = append(got, dst[i].Payload)
			}
		})
		st.Go("producer", func() {
			st.offer("a", task{Payload: 5, Priority: firq.PriorityVeryHigh})
			st.queue("b", 6)
		})
		st.Run()
		if slices.Equal(got, []int{6, 4}) {
			st.Errorf("got %v: 5 is before 4, and was there when 6 came", got)
		}
		st.rest()
	}},
	// What one user has queued does not hide what another one of the same tenant, which
	// is polled, has put in.
	"a task of another flow": {2, func(st *stage) {
		st.build(config{})
		st.queue("a", 1, 2, 5)
		st.s.Stats() // drains them
		st.Go("producer", func() { st.offer("a", task{Payload: 3, Flow: 7}) })
		st.Go("consumer", func() { st.must() })
		st.Run()
		st.inOrder(st.rest(), []int{3, 5})
	}},
	// a's task is on its way when b's has come; if it did not count as queued by then, b
	// is first.
	"a task that has no credit yet": {2, func(st *stage) {
		st.known(config{MaxGlobal: 4}, "a", "b")
		st.try() // sees them off
		n := 0
		st.Go("first", func() { st.queue("a", 8) })
		st.Go("second", func() {
			st.queue("b", 9)
			n = st.s.Len()
		})
		st.Run()
		if got := st.rest(); n == 1 && !slices.Equal(got, []int{9, 8}) {
			st.Errorf("one was queued when b's had come, and then %v", got)
		}
	}},
	// A place has come free, so that no task needs to be evicted.
	"room comes before the eviction": {2, evictWithRoom},
}

func evictWithRoom(st *stage) {
	st.build(config{MaxPerTenant: 2, Backpressure: dropOldest})
	st.queue("a", 1, 2)
	st.Go("evicts", func() { st.queue("a", 3) })
	st.Go("consumer", func() { st.must(); st.must(); st.queue("a", 4) })
	st.Run()
	if how := st.ends[4]; how != "" {
		st.Errorf("4 was %s with room for two", how)
	}
}

// oneOf fails unless got is one of the orders.
func (st *stage) oneOf(got []int, orders ...[]int) {
	if !slices.ContainsFunc(orders, func(want []int) bool { return slices.Equal(got, want) }) {
		st.Errorf("%v, want one of %v", got, orders)
	}
}
