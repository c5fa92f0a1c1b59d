//go:build firq_failpoints

package schedules

import (
	"context"
	"errors"
	"time"

	"github.com/firq-go/firq"
)

// changing: limits change while others enqueue, and handles are used while their
// tenants are forgotten.
var changing = map[string]program{
	"the limit of all is lowered": {1, func(st *stage) {
		st.build(config{MaxGlobal: 3})
		st.Go("a", func() { st.enqueue("a", 1) })
		st.Go("b", func() { st.enqueue("b", 2) })
		st.Go("setter", func() { st.s.SetMaxGlobal(1); st.strictly(1, "c", 3) })
		st.Run()
		st.strictly(1, "c", 4)
	}},
	"the limit of a tenant is lowered": {1, func(st *stage) {
		st.build(config{MaxPerTenant: 3})
		st.queue("a", 9)
		st.Go("first", func() { st.enqueue("a", 1) })
		st.Go("setter", func() { st.s.SetLimit("a", 1); st.strictly(1, "a", 2) })
		st.Go("consumer", func() { st.must() })
		st.Run()
		st.strictly(1, "a", 4)
	}},
	"the limit of a tenant is lowered below what it has": {2, func(st *stage) {
		st.build(config{MaxPerTenant: 3})
		st.queue("a", 9, 8, 7)
		st.Go("setter", func() { st.s.SetLimit("a", 1); st.strictly(1, "a", 1) })
		st.Go("consumer", func() { st.must(); st.must() })
		st.Run()
		st.strictly(1, "a", 2)
		if len(st.rest()) != 1 {
			st.Errorf("the rest is not one task")
		}
		st.queue("a", 3)
	}},
	// The producer makes the tenant: it sees the limit, or the setter sees the tenant.
	"the limit of a tenant that just comes": {2, func(st *stage) {
		st.build(config{MaxPerTenant: 3})
		st.Go("producer", func() { st.enqueue("a", 1) })
		st.Go("setter", func() { st.s.SetLimit("a", 1); st.strictly(1, "a", 2) })
		st.Run()
		st.strictly(1, "a", 3)
	}},
	"the limit of a tenant that is forgotten": {1, func(st *stage) {
		st.idle(config{MaxPerTenant: 3})
		st.Go("sweeper", func() { st.s.Stats() })
		st.Go("setter", func() { st.s.SetLimit("a", 1); st.strictly(1, "a", 5) })
		st.Go("producer", func() { st.enqueue("a", 2) })
		st.Run()
		st.strictly(1, "a", 3)
	}},
	"two set the limit of a tenant": {1, func(st *stage) {
		st.build(config{})
		st.queue("a", 9)
		st.Go("first", func() { st.s.SetLimit("a", 2) })
		st.Go("second", func() { st.s.SetLimit("a", 3) })
		st.Run()
		n := 1
		for st.enqueue("a", n) == nil {
			n++
		}
		if n != 2 && n != 3 {
			st.Errorf("%d tasks, with limits of two or three", n)
		}
		st.rest()
		st.s.Stats()
		for i := range n { // and when it is active again
			st.queue("a", 20+i)
		}
		st.refusedBy(st.enqueue("a", 30), firq.ErrTenantFull)
		st.took(2 * n)
	}},
	"a higher MaxGlobal for a waiting producer": {2, func(st *stage) {
		st.build(config{MaxGlobal: 1})
		st.queue("a", 1)
		st.Go("waits", func() { st.wait(context.Background(), "b", 2) })
		st.Go("setter", func() { st.s.SetMaxGlobal(2) })
		st.Run()
		st.awake("waits")
	}},
	"a higher limit for a waiting producer": {2, func(st *stage) {
		st.build(config{MaxPerTenant: 1})
		st.queue("a", 1)
		st.Go("waits", func() { st.wait(context.Background(), "a", 2) })
		st.Go("setter", func() { st.s.SetLimit("a", 2) })
		st.Run()
		st.awake("waits")
	}},
	"a debt is paid for a waiting producer": {1, func(st *stage) {
		st.build(config{MaxGlobal: 2})
		st.queue("a", 1, 2)
		st.Go("waits", func() { st.wait(context.Background(), "b", 3) })
		st.Go("setter", func() { st.s.SetMaxGlobal(1) })
		st.Go("consumer", func() { st.must(); st.must() })
		st.Run()
		st.awake("waits")
	}},
	"the end while the limit changes": {1, func(st *stage) {
		st.build(config{MaxGlobal: 2})
		st.queue("a", 1, 2)
		var err error
		st.Go("shutdown", func() { err = st.s.Shutdown(context.Background()) })
		st.Go("setter", func() { st.s.SetMaxGlobal(1); st.s.SetMaxGlobal(3) })
		st.Go("consumer", func() { st.must(); st.must() })
		st.Run()
		st.awake("shutdown")
		if err != nil {
			st.Errorf("Shutdown: %v", err)
		}
	}},
	// The config says another limit when the tenant becomes active.
	"two come, and the limit is another one": {1, func(st *stage) {
		limit := 3
		st.build(config{MaxPerTenantFor: func(string) int { return limit }})
		st.queue("a", 9)
		st.must()
		limit = 1
		st.Go("first", func() { st.refusedBy(st.enqueue("a", 1), firq.ErrTenantFull) })
		st.Go("second", func() { st.refusedBy(st.enqueue("a", 2), firq.ErrTenantFull) })
		st.Run()
		st.took(2)
	}},
	"a handle of a forgotten tenant": {1, func(st *stage) {
		st.idle(config{})
		h := st.s.Tenant("a")
		st.byHandle(h, 2)
		st.must()
		st.try()
		expire()
		st.Go("sweeper", func() { st.s.Stats() })
		st.Go("producer", func() { st.byHandle(h, 3) })
		st.Go("other", func() { st.queue("a", 4) })
		st.Run()
		st.must()
		st.must()
		st.tenants(1)
	}},
	"a handle of a tenant that makes room": {1, func(st *stage) {
		st.build(config{MaxTenants: 1, TenantIdle: time.Hour})
		h := st.s.Tenant("a")
		st.byHandle(h, 1)
		st.must()
		st.Go("other", func() { st.refusedBy(st.enqueue("b", 2), firq.ErrTooManyTenants) })
		st.Go("producer", func() {
			if err := h.Enqueue(task{Payload: 3}); err == nil {
				st.accepted[3] = true
			} else {
				st.refusedBy(err, firq.ErrTooManyTenants)
			}
		})
		st.Run()
		if len(st.accepted) < 2 {
			st.Errorf("both were refused")
		}
	}},
}

// strictly enqueues a task after a limit was set. If it is accepted, no more tasks than the
// limit are queued.
func (st *stage) strictly(limit int, tenant string, n int) {
	if err := st.enqueue(tenant, n); err != nil {
		if !errors.Is(err, firq.ErrGlobalFull) && !errors.Is(err, firq.ErrTenantFull) {
			st.Errorf("%v", err)
		}
		return
	}
	// What was accepted is queued or was delivered; calls in progress are not counted.
	queued := 0
	for n := range st.accepted {
		if _, ended := st.ends[n]; !ended {
			queued++
		}
	}
	if queued > limit+st.taking {
		st.Errorf("%d are queued, and the limit was %d before the last one came", queued, limit)
	}
}

// byHandle is queue by a handle.
func (st *stage) byHandle(h firq.Handle[string, int], n int) {
	if err := h.Enqueue(task{Payload: n}); err != nil {
		st.Errorf("Enqueue(%d) by handle: %v", n, err)
		return
	}
	st.accepted[n] = true
}
