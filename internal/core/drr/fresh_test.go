package drr

import "testing"

// backlog returns a Queue with NewFirst, n backlogged tenants that are past their
// first turn, the first of them one task into its second, and a quiet one.
func backlog(t *testing.T, n int, quantum int64) (q *Queue[int, int], quiet *Tenant[int, int], refill func(*Tenant[int, int])) {
	q, tenants := makeTenants(Config{NewFirst: true}, n+1, quantum)
	refill = func(tenant *Tenant[int, int]) { push(q, tenant, plainTask(0, 1)) }
	for _, tenant := range tenants[:n] {
		for range 2 * quantum {
			refill(tenant)
		}
	}
	for i := 0; q.lists[0].fresh.head != nil; i++ {
		if i > n*int(quantum) {
			t.Fatal("the newly active go on and on")
		}
		tenant, _ := mustNext(t, q, 0)
		refill(tenant)
	}
	return q, tenants[n], refill
}

// TestNewFirst: however many are backlogged, a tenant that becomes active gets one quantum
// immediately, no more, and what is left of it waits for its turn.
func TestNewFirst(t *testing.T) {
	for _, n := range []int{1, 2, 1000} {
		q, quiet, refill := backlog(t, n, 3)
		busy, _ := mustNext(t, q, 0) // in mid-turn: the quiet one goes first even so
		refill(busy)
		for range 5 {
			push(q, quiet, plainTask(0, 1))
		}
		for i := range 3 {
			if tenant, _ := mustNext(t, q, 0); tenant != quiet {
				t.Fatalf("%d backlogged, task %d: tenant %d goes before the quiet one", n, i, tenant.Key)
			}
		}
		served := 0
		for quiet.Len() == 2 && served < 4*n {
			tenant, _ := mustNext(t, q, 0)
			served++
			if tenant != quiet {
				refill(tenant)
			}
		}
		if want := 3*n - 2 + 1; served != want { // busy had 2 of its 3 before; the last is quiet's own
			t.Fatalf("%d backlogged: %d served before the second quantum, want %d", n, served, want)
		}
	}
}

// TestNewFirstKeepsMidTurn: the tenant whose turn was interrupted goes on with
// what is left of it, without another quantum.
func TestNewFirstKeepsMidTurn(t *testing.T) {
	q, quiet, refill := backlog(t, 2, 4)
	first, _ := mustNext(t, q, 0)
	refill(first)
	push(q, quiet, plainTask(0, 1))
	mustNext(t, q, 0)
	for i := range 4 {
		tenant, _ := mustNext(t, q, 0)
		refill(tenant)
		if (tenant == first) != (i < 2) {
			t.Fatalf("task %d after the interruption goes to tenant %d", i, tenant.Key)
		}
	}
}

// TestNewFirstCannotStarve: a tenant that goes idle and comes back as often as it
// can gets at most twice the share of the backlogged, however it does so.
func TestNewFirstCannotStarve(t *testing.T) {
	const n, quantum, deliveries = 4, 5, 20_000
	for name, swing := range map[string]func(q *Queue[int, int], a *Tenant[int, int]){
		"empties": func(q *Queue[int, int], a *Tenant[int, int]) {
			if a.Len() == 0 {
				push(q, a, plainTask(0, 1))
			}
		},
		"goes idle": func(q *Queue[int, int], a *Tenant[int, int]) {
			if !a.Active() {
				for range 2 * quantum {
					push(q, a, plainTask(0, 1))
				}
			}
		},
		"is blocked": func(q *Queue[int, int], a *Tenant[int, int]) {
			if a.Len() == 0 {
				q.Block(a)
				q.Unblock(a)
				push(q, a, plainTask(0, 1))
			}
		},
		"is cancelled": func(q *Queue[int, int], a *Tenant[int, int]) {
			for range 2 {
				task := plainTask(0, 1)
				task.Ticket = newTicket()
				push(q, a, task)
				if a.Len() > 1 {
					q.Remove(task.Ticket.Place(&testOwner))
				}
			}
		},
	} {
		q, attacker, refill := backlog(t, n, quantum)
		served := map[*Tenant[int, int]]int{}
		for range deliveries {
			swing(q, attacker)
			tenant, _ := mustNext(t, q, 0)
			served[tenant]++
			if tenant != attacker {
				refill(tenant)
			}
		}
		others := (deliveries - served[attacker]) / n
		if served[attacker] > 2*others+2*quantum || served[attacker] == 0 {
			t.Errorf("%s: got %d, each of the others about %d", name, served[attacker], others)
		}
	}
}
