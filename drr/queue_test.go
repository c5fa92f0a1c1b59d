package drr_test

import (
	"errors"
	"math"
	"slices"
	"testing"
	"time"

	"github.com/firq-go/firq"
	"github.com/firq-go/firq/drr"
)

var start = time.Date(2026, 11, 27, 0, 0, 0, 0, time.UTC)

func push(t *testing.T, q *drr.Queue[string, int], tenant string, task firq.Task[int]) {
	t.Helper()
	if err := q.Push(start, tenant, task); err != nil {
		t.Fatal(err)
	}
}

// served drains the queue and returns the tenants of its tasks, in order.
func served(q *drr.Queue[string, int], now time.Time) (tenants []string) {
	for item, ok := q.Next(now); ok; item, ok = q.Next(now) {
		tenants = append(tenants, item.Tenant)
	}
	return tenants
}

// An item has its task's fields and its waiting time, whatever time the caller counts from.
func TestItem(t *testing.T) {
	for _, at := range []time.Time{start, {}, time.Unix(0, 0), time.Now()} {
		q := drr.New[string, int](drr.Config{MaxFlows: 4})
		deadline := at.Add(time.Minute)
		task := firq.Task[int]{Payload: 7, Cost: 3, Priority: firq.PriorityHigh, Flow: 5, Deadline: deadline}
		if err := q.Push(at, "a", task); err != nil {
			t.Fatal(err)
		}
		item, ok := q.Next(at.Add(time.Second))
		if !ok || item.Tenant != "a" || item.Payload != 7 || item.Cost != 3 || item.Priority != firq.PriorityHigh ||
			item.Flow != 5 || !item.Deadline.Equal(deadline) || item.Wait != time.Second {
			t.Errorf("from %v: %+v, %v", at, item, ok)
		}
		if err := q.Push(at, "a", firq.Task[int]{}); err != nil {
			t.Fatal(err)
		}
		if item, _ := q.Next(at); item.Cost != 1 || item.Priority != firq.PriorityNormal || !item.Deadline.IsZero() {
			t.Errorf("from %v: the zero task became %+v", at, item)
		}
	}
}

// A corrected cost is paid off before the tenant is served again.
func TestChargeIsPaid(t *testing.T) {
	q := drr.New[string, int](drr.Config{})
	push(t, q, "a", firq.Task[int]{})
	item, _ := q.Next(start)
	item.Charge(3)
	item.Done()
	for range 4 {
		push(t, q, "a", firq.Task[int]{})
		push(t, q, "b", firq.Task[int]{})
	}
	if got, want := served(q, start), []string{"b", "b", "b", "b", "a", "a", "a", "a"}; !slices.Equal(got, want) {
		t.Errorf("served %v, want %v", got, want)
	}
}

// With priorities across tenants a correction is paid by tasks of the item's priority.
func TestChargeAcross(t *testing.T) {
	q := drr.New[string, int](drr.Config{PriorityScope: firq.PriorityAcrossTenants})
	push(t, q, "a", firq.Task[int]{Priority: firq.PriorityHigh})
	item, _ := q.Next(start)
	item.Charge(2)
	for _, p := range []firq.Priority{firq.PriorityHigh, firq.PriorityNormal} {
		for range 2 {
			push(t, q, "a", firq.Task[int]{Priority: p})
			push(t, q, "b", firq.Task[int]{Priority: p})
		}
	}
	if got, want := served(q, start), []string{"b", "b", "a", "a", "a", "b", "a", "b"}; !slices.Equal(got, want) {
		t.Errorf("served %v, want %v", got, want)
	}
}

// What a queue remembers of tenants that have come and gone is bounded, but it forgets no debt, no
// quantum and no tenant that is blocked.
func TestForgets(t *testing.T) {
	q := drr.New[int, int](drr.Config{})
	q.SetQuantum(-1, 3)
	q.Block(-2, true)
	if err := q.Push(start, -3, firq.Task[int]{Payload: 1}); err != nil {
		t.Fatal(err)
	}
	item, _ := q.Next(start)
	item.Charge(math.MaxInt32)
	for i := range 10_000 {
		if err := q.Push(start, i, firq.Task[int]{}); err != nil {
			t.Fatal(err)
		}
		if _, ok := q.Next(start); !ok {
			t.Fatal("nothing to serve")
		}
		if n := q.Tenants(); n > 64 {
			t.Fatalf("%d tenants after %d", n, i)
		}
	}
	for i := range 6 {
		for _, tenant := range []int{-1, -2, -3, -4} {
			if err := q.Push(start, tenant, firq.Task[int]{Payload: i}); err != nil {
				t.Fatal(err)
			}
		}
	}
	var got []int
	for range 8 {
		item, _ := q.Next(start)
		got = append(got, item.Tenant)
	}
	if want := []int{-1, -1, -1, -4, -1, -1, -1, -4}; !slices.Equal(got, want) {
		t.Errorf("served %v, want %v", got, want)
	}
	if q.Block(-2, false); q.TenantLen(-2) != 6 || q.Len() != 6+6+4 {
		t.Errorf("%d and %d left", q.TenantLen(-2), q.Len())
	}
}

// SetQuantum sets a tenant's weight; 0 restores the default.
func TestQuantum(t *testing.T) {
	q := drr.New[string, int](drr.Config{Quantum: 2})
	q.SetQuantum("a", 1)
	for range 6 {
		push(t, q, "a", firq.Task[int]{})
		push(t, q, "b", firq.Task[int]{})
	}
	var got []string
	for range 6 {
		item, _ := q.Next(start)
		got = append(got, item.Tenant)
	}
	q.SetQuantum("a", 0)
	got = append(got, served(q, start)...)
	if want := []string{"a", "b", "b", "a", "b", "b", "a", "a", "b", "b", "a", "a"}; !slices.Equal(got, want) {
		t.Errorf("served %v, want %v", got, want)
	}
}

// A ticket cancels its task once. It can be used again then, but not for two tasks at a time.
func TestTicket(t *testing.T) {
	q := drr.New[string, int](drr.Config{})
	var tk firq.Ticket
	for range 2 {
		push(t, q, "a", firq.Task[int]{Ticket: &tk})
		if err := q.Push(start, "a", firq.Task[int]{Ticket: &tk}); !errors.Is(err, firq.ErrInvalidTask) {
			t.Errorf("a ticket in use: %v", err)
		}
		if !tk.Cancel() || tk.Cancel() || q.Len() != 0 {
			t.Errorf("after Cancel %d tasks are left", q.Len())
		}
	}
	push(t, q, "a", firq.Task[int]{Ticket: &tk})
	if q.Next(start); tk.Cancel() {
		t.Error("cancelled after its delivery")
	}
}

// Push refuses invalid tasks and tenants, and New panics on an invalid Config.
func TestRefused(t *testing.T) {
	q := drr.New[float64, int](drr.Config{})
	for _, err := range []error{
		q.Push(start, math.NaN(), firq.Task[int]{}),
		q.Push(start, 1, firq.Task[int]{Cost: -1}),
		q.Push(start, 1, firq.Task[int]{Priority: 7}),
	} {
		if !errors.Is(err, firq.ErrInvalidTask) {
			t.Error(err)
		}
	}
	q.SetQuantum(math.NaN(), 2)
	q.Block(math.NaN(), true)
	if q.Len() != 0 || q.Tenants() != 0 || q.TenantLen(math.NaN()) != 0 {
		t.Errorf("%d tasks of %d tenants", q.Len(), q.Tenants())
	}
	for _, cfg := range []drr.Config{
		{Quantum: -1}, {PriorityAging: -1}, {MaxFlows: -1}, {MaxFlows: firq.MaxTasks + 1}, {Order: firq.AdaptiveLIFO}, {PriorityScope: 9},
	} {
		func() {
			defer func() {
				if recover() == nil {
					t.Errorf("%+v is accepted", cfg)
				}
			}()
			drr.New[int, int](cfg)
		}()
	}
}
