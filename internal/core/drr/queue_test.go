package drr

import (
	"testing"

	"github.com/firq-go/firq"
)

// TestNextIsBounded: a call makes a bounded number of drops and visits, says
// Again and goes on where it was.
func TestNextIsBounded(t *testing.T) {
	const n = 10 * stepBudget
	t.Run("expired", func(t *testing.T) {
		q, tenants := makeTenants(Config{}, 1, 1)
		for i := range n {
			task := plainTask(i, 1)
			task.Due = 5
			push(q, tenants[0], task)
		}
		push(q, tenants[0], plainTask(n, 1))
		again(t, q, n, n/stepBudget)
	})
	t.Run("empty", func(t *testing.T) {
		q, tenants := makeTenants(Config{NewFirst: true}, n+1, 1)
		for i, tenant := range tenants {
			push(q, tenant, plainTask(i, 1))
			if i < n {
				q.Evict(tenant, firq.PriorityCritical, false)
			}
		}
		again(t, q, n, n/stepBudget)
	})
	t.Run("cannot pay", func(t *testing.T) {
		q, tenants := makeTenants(Config{}, n, 1)
		for i, tenant := range tenants {
			push(q, tenant, plainTask(i, 1e15+int64(n-i)))
		}
		again(t, q, n-1, 2*n/stepBudget) // the last is the cheapest
	})
}

func again(t *testing.T, q *Queue[int, int], payload, most int) {
	t.Helper()
	for calls := 0; ; calls++ {
		before := q.Len()
		_, task, verdict := q.Next(6)
		if verdict == Delivered {
			if task.Payload != payload || calls == 0 {
				t.Fatalf("delivered %d in call %d", task.Payload, calls)
			}
			return
		}
		if verdict != Again || calls > most || before-q.Len() > stepBudget {
			t.Fatalf("call %d of at most %d: verdict %d, %d dropped", calls, most, verdict, before-q.Len())
		}
	}
}

// TestPurgeBoundsLists: without a consumer, tasks that are pushed and
// cancelled or expire leave no seat behind that would be listed for ever.
func TestPurgeBoundsLists(t *testing.T) {
	for i, cfg := range []Config{{}, {NewFirst: true}, {Across: true}} {
		q, tenants := makeTenants(cfg, 5000, 1)
		for now, tenant := range tenants {
			task := plainTask(now, 1)
			task.Ticket, task.Due = newTicket(), int64(now)
			push(q, tenant, task)
			switch i {
			case 0:
				q.Remove(task.Ticket.Place(&testOwner))
			case 1:
				q.Reclaim(task.Due+1, 10)
			default:
				q.Reclaim(task.Due+1, 1)
			}
		}
		listed := 0
		for _, tenant := range tenants {
			if tenant.Active() {
				listed++
			}
		}
		if listed > 64 || q.Len() != 0 {
			t.Errorf("%+v: %d idle tenants listed, %d tasks", cfg, listed, q.Len())
		}
	}
}

// TestPurgeKeepsMidTurn: a tenant that was just served its last task may go on with its turn
// if the next one comes before the next call, whatever was cancelled in between.
func TestPurgeKeepsMidTurn(t *testing.T) {
	q, tenants := makeTenants(Config{}, 200, 5)
	var last Place
	for i, tenant := range tenants {
		task := plainTask(i, 1)
		task.Ticket = newTicket()
		push(q, tenant, task)
		last = task.Ticket.Place(&testOwner)
		if i > 0 && i < len(tenants)-1 {
			q.Evict(tenant, firq.PriorityCritical, true)
		}
	}
	first, _ := mustNext(t, q, 0)
	q.Remove(last)
	if q.lists[0].active.n != 1 || first.seat.where != active || first.seat.deficit != 4 {
		t.Fatalf("%d listed, the first in place %d with %d left", q.lists[0].active.n, first.seat.where, first.seat.deficit)
	}
	if err := invariants(q, tenants); err != nil {
		t.Fatal(err)
	}
}

// TestSkipLooksForExpired: a call that gave up half-way, and a later one that skips:
// what has expired in between must not be saved up for.
func TestSkipLooksForExpired(t *testing.T) {
	q, tenants := makeTenants(Config{}, stepBudget+10, 1)
	for i, tenant := range tenants {
		task := plainTask(i, 1000)
		if i == 0 {
			task.Due = 5
		}
		push(q, tenant, task)
	}
	push(q, tenants[0], plainTask(-1, 2))
	if _, _, verdict := q.Next(5); verdict != Again {
		t.Fatalf("verdict %d", verdict)
	}
	if tenant, task := mustNext(t, q, 6); task.Payload != -1 || tenant.seat.deficit != 0 {
		t.Fatalf("delivered %d, %d left, in round %d", task.Payload, tenant.seat.deficit, q.Round())
	}
}

// TestDrainBlocked: draining does not look at blocked tenants without a task, of
// which there may be many, and gets at the tasks of the others.
func TestDrainBlocked(t *testing.T) {
	const n = 30_000
	q, tenants := makeTenants(Config{}, n, 1)
	for i, tenant := range tenants {
		push(q, tenant, plainTask(i, 1))
		q.Block(tenant)
		if i%3 == 0 {
			q.Evict(tenant, firq.PriorityCritical, true)
		}
	}
	if q.Ready() != 0 || q.Len() != n-n/3 {
		t.Fatalf("%d tasks, %d of them ready", q.Len(), q.Ready())
	}
	seen := map[int]bool{}
	for {
		tenant, task, ok := q.Drain()
		if !ok {
			break
		}
		if seen[task.Payload] || tenant.Key != task.Payload || task.Payload%3 == 0 {
			t.Fatalf("drained %d of tenant %d", task.Payload, tenant.Key)
		}
		seen[task.Payload] = true
		if f := q.lists[0].parked.head; f != nil && f.tenant.queued == 0 {
			t.Fatal("the list of blocked tenants holds one without a task")
		}
	}
	if len(seen) != n-n/3 || q.Len() != 0 {
		t.Fatalf("drained %d, %d left", len(seen), q.Len())
	}
	if err := invariants(q, tenants); err != nil {
		t.Fatal(err)
	}
}
