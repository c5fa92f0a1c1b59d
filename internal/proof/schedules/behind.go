//go:build firq_failpoints

package schedules

import (
	"slices"

	"github.com/firq-go/firq"
)

// lagging: a core that lets tasks past the inboxes may publish late that places have come
// free. No call is refused because of that.
var lagging = map[string]program{
	"the last place, after some have left": {2, func(st *stage) {
		st.known(config{MaxPerTenant: 2}, "a")
		st.queue("a", 1, 2)
		st.Go("first", func() { st.must(); st.refusedBy(st.enqueue("a", 3), firq.ErrTenantFull) })
		st.Go("second", func() { st.refusedBy(st.enqueue("a", 4), firq.ErrTenantFull) })
		st.Run()
		st.took(1 + 3)
		st.strictly(2, "a", 5)
	}},
	"one place comes free, and two want it": {1, func(st *stage) {
		st.known(config{MaxPerTenant: 2}, "a")
		st.queue("a", 1, 2)
		st.must()
		st.Go("first", func() { st.refusedBy(st.enqueue("a", 3), firq.ErrTenantFull) })
		st.Go("second", func() { st.refusedBy(st.enqueue("a", 4), firq.ErrTenantFull) })
		st.Go("third", func() { st.s.Stats() })
		st.Run()
		st.took(1 + 3)
	}},
	"a tenant is served, and its inbox is used": {2, func(st *stage) {
		st.known(config{MaxPerTenant: 4}, "a")
		st.queue("a", 1, 2)
		st.Go("consumer", func() { st.must() })
		st.Go("producer", func() { st.queue("a", 3, 4) })
		st.Run()
		if got := st.rest(); !slices.Equal(got, []int{2, 3, 4}) {
			st.Errorf("served in the order %v", got)
		}
	}},
	"a batch takes the places that have come free": {1, func(st *stage) {
		st.known(config{MaxPerTenant: 3}, "a")
		st.batch("a", 1, 2, 3)
		st.must()
		st.must()
		st.Go("consumer", func() { st.must() })
		st.Go("producer", func() {
			if err := st.batch("a", 4, 5); err != nil {
				st.Errorf("%v, and there was room for two", err)
			}
		})
		st.Run()
		st.took(1 + 5)
	}},
	"the limit falls on a tenant that was served": {1, func(st *stage) {
		st.known(config{MaxPerTenant: 3}, "a")
		st.queue("a", 1, 2, 3)
		st.must()
		st.Go("setter", func() { st.s.SetLimit("a", 2); st.strictly(2, "a", 4) })
		st.Go("consumer", func() { st.must() })
		st.Run()
		st.strictly(2, "a", 5)
	}},
}
