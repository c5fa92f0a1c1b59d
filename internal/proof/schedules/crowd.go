//go:build firq_failpoints

package schedules

import (
	"errors"
	"fmt"

	"github.com/firq-go/firq"
)

// crowded: there are MaxTenants tenants, and new ones come. TenantIdle plays no role.
var crowded = map[string]program{
	"two come for one place": {2, func(st *stage) {
		st.known(config{MaxTenants: 1}, "a")
		got := map[string]error{}
		for i, name := range []string{"b", "c"} {
			st.Go(name, func() { got[name] = st.enqueue(name, i) })
		}
		st.Run()
		st.refusedBy(errors.Join(got["b"], got["c"]), firq.ErrTooManyTenants)
		if len(st.rest()) != 1 {
			st.Errorf("one of two gets in: %v", got)
		}
		st.tenants(1)
	}},
	"one that comes back, or another": {2, func(st *stage) {
		st.known(config{MaxTenants: 1}, "a")
		got := map[string]error{}
		for i, name := range []string{"a", "b"} {
			st.Go(name, func() { got[name] = st.enqueue(name, i) })
		}
		st.Run()
		st.refusedBy(errors.Join(got["a"], got["b"]), firq.ErrTooManyTenants)
		if len(st.rest()) != 1 {
			st.Errorf("one of two gets in: %v", got)
		}
		st.tenants(1)
	}},
	"two make room for two": {2, func(st *stage) {
		st.known(config{MaxTenants: 2}, "a", "b")
		for i, name := range []string{"c", "d"} {
			st.Go(name, func() { st.queue(name, i) })
		}
		st.Run()
		st.rest()
		st.tenants(2)
	}},
	// One tenant becomes idle before another one is used, so that there is one to be
	// forgotten all the time.
	"another one is idle": {2, func(st *stage) {
		on := st.two(config{MaxTenants: 2})
		other := st.beside(on[0])
		var tk firq.Ticket
		st.queue(on[1], 1)
		st.must()
		st.offer(on[0], task{Payload: 2, Ticket: &tk})
		st.Go("mover", func() {
			tk.Cancel()
			st.queue(on[1], 3)
		})
		st.Go("newcomer", func() { st.queue(other, 4) })
		st.Run()
		st.rest()
		st.tenants(2)
	}},
	"another one is idle, however it moves": {1, idleHowever},
	// A call that is refused for another reason takes no place from another tenant.
	"one that is invalid": {2, func(st *stage) {
		st.build(config{MaxTenants: 2})
		var used firq.Ticket
		st.offer("holder", task{Payload: 1, Ticket: &used})
		st.Go("invalid", func() {
			if err := st.offer("a", task{Payload: 2, Ticket: &used}); !errors.Is(err, firq.ErrInvalidTask) && err != firq.ErrTooManyTenants {
				st.Errorf("%v", err)
			}
		})
		st.Go("newcomer", func() { st.queue("b", 3) })
		st.Run()
		st.rest()
	}},
	"one that finds no capacity": {1, func(st *stage) {
		st.known(config{MaxTenants: 2, MaxGlobal: 1}, "x", "y")
		got := map[string]error{}
		for i, name := range []string{"a", "b", "c"} {
			st.Go(name, func() { got[name] = st.enqueue(name, i) })
		}
		st.Run()
		for name, err := range got {
			if err == firq.ErrTooManyTenants {
				st.Errorf("%s: %v, with one task at a time", name, err)
			}
		}
		st.rest()
	}},
	"what it owes is charged when it has made room": {2, func(st *stage) {
		st.build(config{MaxTenants: 1})
		st.queue("a", 1)
		it := st.must()
		var err error
		st.Go("charge", func() { it.Charge(100) })
		st.Go("newcomer", func() { err = st.enqueue("b", 2) })
		st.Run()
		if err != nil {
			st.refusedBy(err, firq.ErrTooManyTenants)
			it.Charge(-100)
			st.queue("b", 3)
		}
		st.rest()
		st.tenants(1)
	}},
}

// idleHowever has another tenant become idle, and then uses the one that was, before each of a newcomer's
// looks at a shard, in every pattern: one of two is idle all the time, and the newcomer has to find it.
func idleHowever(st *stage) {
	const looks = 4 // two at each shard
	d, restore := st.direct()
	defer restore()
	on := st.two(config{MaxTenants: 2})
	var tickets [2]firq.Ticket
	n, used := 0, 0
	use := func(shard int) {
		n++
		if err := st.offer(on[shard], task{Payload: n, Ticket: &tickets[shard]}); err != nil {
			st.Errorf("%v", err)
		}
		st.s.Stats() // drains it: the shard says which tenants are idle
		tickets[used].Cancel()
		used = shard
	}
	seen, pattern := 0, 0
	d.at = func(point string) {
		if point != "crowd idle?" {
			return
		}
		if seen < looks && pattern>>seen&1 == 1 {
			was := used
			tickets[was].Cancel()
			use(1 - was)
		}
		seen++
	}
	d.busy = true
	for pattern = range 1 << looks {
		use(1)
		use(0)
		n++
		seen, d.busy = 0, false
		if err := st.enqueue(fmt.Sprint("newcomer ", pattern), n); err != nil {
			st.Errorf("%v, with the pattern %b", err, pattern)
		}
		d.busy = true
		st.rest()
	}
}

// known builds a scheduler that knows idle tenants.
func (st *stage) known(cfg config, names ...string) {
	st.build(cfg)
	for i, name := range names {
		st.queue(name, 100+i)
		st.must()
	}
}
