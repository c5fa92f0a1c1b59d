//go:build firq_failpoints

package schedules

import (
	"time"

	"github.com/firq-go/firq"
)

// leaving: tasks are cancelled while others deliver them, and tenants are
// forgotten while others use them.
var leaving = map[string]program{
	"cancel or deliver": {3, func(st *stage) {
		var tk firq.Ticket
		st.build(config{})
		st.offer("a", task{Payload: 1, Ticket: &tk})
		cancelled, delivered := false, false
		st.Go("canceller", func() { cancelled = tk.Cancel() })
		st.Go("consumer", func() { _, delivered = st.try() })
		st.Run()
		if cancelled == delivered {
			st.Errorf("cancelled: %t, delivered: %t", cancelled, delivered)
		}
	}},
	"cancel what is being enqueued": {2, func(st *stage) {
		var tk firq.Ticket
		st.build(config{})
		cancelled := false
		st.Go("producer", func() { st.offer("a", task{Payload: 1, Ticket: &tk}) })
		st.Go("canceller", func() { cancelled = tk.Cancel() })
		st.Go("consumer", func() { st.try() })
		st.Run()
		left := len(st.rest())
		if cancelled != (st.ends[1] == "cancelled") || left > 1 {
			st.Errorf("Cancel said %t, and the task is %s", cancelled, st.ends[1])
		}
		if tk.Cancel() {
			st.Errorf("Cancel is true of a task that is gone")
		}
	}},
	"two cancel": {2, func(st *stage) {
		var tk firq.Ticket
		st.build(config{})
		st.offer("a", task{Payload: 1, Ticket: &tk})
		n := 0
		for _, name := range []string{"first", "second"} {
			st.Go(name, func() {
				if tk.Cancel() {
					n++
				}
			})
		}
		st.Run()
		if n != 1 {
			st.Errorf("%d of two cancelled", n)
		}
	}},
	// A ticket is free for the next task as soon as its task has left.
	"a ticket changes hands": {2, func(st *stage) {
		var tk firq.Ticket
		st.build(config{})
		st.offer("a", task{Payload: 1, Ticket: &tk})
		cancelled := false
		st.Go("consumer", func() {
			if _, ok := st.try(); !ok {
				return
			}
			if err := st.offer("b", task{Payload: 2, Ticket: &tk}); err != nil {
				st.Errorf("%v", err)
			}
		})
		st.Go("canceller", func() { cancelled = tk.Cancel() })
		st.Run()
		if cancelled && st.ends[1] == "delivered" {
			if how := st.ends[2]; how != "cancelled" {
				st.Errorf("Cancel is true, and the second task is %q", how)
			}
		}
	}},
	"done of a tenant that is idle": {2, func(st *stage) {
		st.build(config{MaxInFlightPerTenant: 1, TenantIdle: time.Millisecond})
		st.queue("a", 1)
		it := st.must()
		expire()
		st.Go("done", func() { it.Done(); it.Done() })
		st.Go("sweeper", func() { st.s.Stats() })
		st.Go("producer", func() { st.queue("a", 2) })
		st.Run()
		st.must()
	}},
	"forgotten while a task comes": {3, func(st *stage) {
		st.idle(config{})
		st.Go("sweeper", func() { st.s.Stats() })
		st.Go("producer", func() { st.queue("a", 2) })
		st.Run()
		st.must()
		st.tenants(1)
	}},
	"forgotten while two tasks come": {2, func(st *stage) {
		st.idle(config{MaxPerTenant: 2})
		st.Go("sweeper", func() { st.s.Stats() })
		st.Go("first", func() { st.queue("a", 2) })
		st.Go("second", func() { st.queue("a", 3) })
		st.Run()
		st.must()
		st.must()
		st.tenants(1)
	}},
	"forgotten for another": {2, func(st *stage) {
		st.idle(config{MaxTenants: 1})
		got := map[string]error{}
		st.Go("a", func() { got["a"] = st.enqueue("a", 2) })
		st.Go("b", func() { got["b"] = st.enqueue("b", 3) })
		st.Run()
		if n := len(st.rest()); n != 1 || (got["a"] == nil) == (got["b"] == nil) {
			st.Errorf("%d tasks with one tenant at most: %v", n, got)
		}
	}},
	"forgotten while a consumer sleeps": {2, func(st *stage) {
		st.idle(config{})
		st.Go("consumer", func() { st.dequeue() })
		st.Go("sweeper", func() { st.s.Stats() })
		st.Go("producer", func() { st.queue("a", 2) })
		st.Run()
		st.awake("consumer")
	}},
}

// idle builds a scheduler that still knows tenant a, which has been idle for longer than
// TenantIdle.
func (st *stage) idle(cfg config) {
	cfg.TenantIdle = time.Millisecond
	st.build(cfg)
	st.queue("a", 1)
	st.must()
	expire()
}

// tenants fails unless n tenants are known.
func (st *stage) tenants(n int) {
	if got := st.s.Stats().Tenants; got != n {
		st.Errorf("%d tenants are known, want %d", got, n)
	}
}
