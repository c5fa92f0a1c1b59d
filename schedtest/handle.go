package schedtest

import (
	"context"
	"errors"
	"fmt"
	"math"
	"testing"
	"time"

	"github.com/firq-go/firq"
)

// The properties of handles that keys do not have.
var handleChecks = []check{
	{name: "a handle makes no tenant known", run: handleUnknown},
	{name: "a handle outlives its tenant", run: sharded(handleForgotten)},
	{name: "a handle outlives its tenant's eviction", run: handleCrowd},
	{name: "a handle and the key are the same tenant", run: handleSame},
	{name: "by many while tenants are forgotten", run: handleRace},
	{name: "after Close", run: handleClosed},
	{name: "allocations", run: handleAllocations, alone: true},
}

func handleUnknown(t *testing.T, newSched maker) {
	s := open(t, newSched, config{MaxTenants: 1})
	for _, name := range []string{"a", "b", ""} {
		if h := s.Tenant(name); h.Tenant() != name {
			t.Errorf("Tenant() of %q's handle is %q", name, h.Tenant())
		}
	}
	if n := s.Stats().Tenants; n != 0 {
		t.Errorf("%d tenants are known, of which none has enqueued", n)
	}
	load(t, s, "c", 1)
	if err := s.Tenant("a").Enqueue(task{}); err != firq.ErrTooManyTenants {
		t.Errorf("a second tenant of one: %v", err)
	}
}

func handleForgotten(t *testing.T, newSched maker, shards int) {
	s := open(t, newSched, config{Shards: shards, TenantIdle: time.Millisecond, MaxPerTenant: 2})
	h := s.Tenant("a")
	for round := range 3 {
		for i := range 2 {
			if err := h.Enqueue(task{Payload: 2*round + i}); err != nil {
				t.Fatalf("round %d: %v", round, err)
			}
		}
		refuse(t, s, "a", task{}, firq.ErrTenantFull)
		if err := h.Enqueue(task{}); err != firq.ErrTenantFull {
			t.Errorf("round %d: a third of two: %v", round, err)
		}
		for i := range 2 {
			if it := take(t, s); it.Tenant != "a" || it.Payload != 2*round+i {
				t.Fatalf("round %d: got %s", round, show(it))
			}
		}
		forgotten(t, s)
	}
}

func handleCrowd(t *testing.T, newSched maker) {
	s := open(t, newSched, config{MaxTenants: 1, MaxPerTenant: 1})
	a, b := s.Tenant("a"), s.Tenant("b")
	for i := range 20 {
		h, other := a, b
		if i%2 == 1 {
			h, other = b, a
		}
		if err := h.Enqueue(task{Payload: i}); err != nil {
			t.Fatalf("%d: %v", i, err)
		}
		if err := other.Enqueue(task{}); err != firq.ErrTooManyTenants {
			t.Fatalf("%d: the other one: %v", i, err)
		}
		if it := take(t, s); it.Tenant != h.Tenant() || it.Payload != i {
			t.Fatalf("%d: got %s", i, show(it))
		}
	}
}

func handleSame(t *testing.T, newSched maker) {
	s := open(t, newSched, config{Shards: 1})
	one, two := s.Tenant("a"), s.Tenant("a")
	for i := 1; i < 9; i += 4 {
		err := errors.Join(one.Enqueue(task{Payload: i}), s.Enqueue("a", task{Payload: i + 1}),
			two.EnqueueWait(patient(t), task{Payload: i + 2}), s.Tenant("a").Enqueue(task{Payload: i + 3}))
		if err != nil {
			t.Fatal(err)
		}
	}
	if n, err := two.EnqueueBatch([]task{{Payload: 9}, {Payload: 10}}); n != 2 || err != nil {
		t.Fatal(n, err)
	}
	same(t, "in order", drain(t, s), "a1 a2 a3 a4 a5 a6 a7 a8 a9 a10")
}

// handleRace: tenants are forgotten all the time, while several goroutines enqueue by
// the same handles. Nothing is lost, and no limit exceeded.
func handleRace(t *testing.T, newSched maker) {
	const producers = 4
	n := reps(3000)
	s := open(t, newSched, config{Shards: 2, TenantIdle: time.Nanosecond, MaxTenants: 3, MaxPerTenant: 2})
	var handles []firq.Handle[string, int]
	for _, name := range tenants(5) {
		handles = append(handles, s.Tenant(name))
	}
	book := newLedger(producers * n)
	together(producers+2, func(g int) {
		switch {
		case g < producers:
			for i := range n {
				if handles[(g+i)%5].Enqueue(task{Payload: g*n + i}) == nil {
					book.note(g*n+i, accepted)
				}
			}
		case g == producers:
			for range n {
				if it, ok := s.TryDequeue(); ok {
					book.note(it.Payload, delivered)
				}
			}
		default:
			for range n / 10 {
				if st := s.Stats(); st.Tenants > 3 {
					t.Errorf("%d tenants known of 3", st.Tenants)
				}
			}
		}
	})
	for s.Len() > 0 {
		book.note(take(t, s).Payload, delivered)
	}
	book.settle(t, s.Stats())
}

func handleClosed(t *testing.T, newSched maker) {
	s := open(t, newSched, config{})
	h := s.Tenant("a")
	if err := h.Enqueue(task{}); err != nil {
		t.Fatal(err)
	}
	if err := s.Close(); err != nil {
		t.Fatal(err)
	}
	n, batch := h.EnqueueBatch([]task{{}, {}})
	for what, err := range map[string]error{
		"Enqueue": h.Enqueue(task{}), "EnqueueWait": h.EnqueueWait(patient(t), task{}), "EnqueueBatch": batch,
		"a new handle": s.Tenant("b").Enqueue(task{}),
	} {
		if err != firq.ErrClosed {
			t.Errorf("%s: %v, want ErrClosed", what, err)
		}
	}
	if n != 0 {
		t.Errorf("EnqueueBatch accepted %d", n)
	}
}

func handleAllocations(t *testing.T, newSched maker) {
	for what, cfg := range map[string]config{
		"plain": {}, "asked": {
			QuantumFor: func(string) int64 { return 2 }, MaxPerTenantFor: func(string) int { return 9 },
			MaxInFlightFor: func(string) int { return 3 },
		},
	} {
		s := open(t, newSched, cfg)
		h, batch, ctx := s.Tenant("a"), make([]task, 2), context.Background()
		allocations(t, what+": by handle", func() {
			_, err := h.EnqueueBatch(batch)
			if err = errors.Join(err, h.Enqueue(task{}), h.EnqueueWait(ctx, task{}), s.Enqueue("a", task{})); err != nil {
				t.Error(err)
			}
			for range 5 {
				it, ok := s.TryDequeue()
				if !ok {
					t.Error("nothing is delivered")
				}
				it.Done()
				if it.Payload != 0 {
					t.Error(it)
				}
			}
		})
		if n := testing.AllocsPerRun(100, func() { h = s.Tenant("b") }); n > 1 {
			t.Errorf("%s: a handle takes %v allocations", what, n)
		}
	}
}

// panicHandleKey: a key that no map takes fails by handle as it does by key.
func panicHandleKey(t *testing.T, newSched anyMaker) {
	s := openAny(t, newSched, anyConfig{Shards: 4})
	nan := s.Tenant(math.NaN())
	for range 2 {
		if err := nan.Enqueue(firq.Task[int]{}); !errors.Is(err, firq.ErrInvalidTask) {
			t.Errorf("Enqueue by the handle of NaN: %v", err)
		}
	}
	slice := s.Tenant([]int{1})
	for _, f := range []func(){
		func() { _ = slice.Enqueue(firq.Task[int]{}) },
		func() { _, _ = slice.EnqueueBatch(make([]firq.Task[int], 2)) },
		func() { _ = slice.EnqueueWait(context.Background(), firq.Task[int]{}) },
	} {
		if o := outcomeOf(f); o.returned || o.panicked == nil {
			t.Errorf("a key that cannot be compared: %+v", o)
		}
	}
	if err := s.Tenant("a").Enqueue(firq.Task[int]{}); err != nil {
		t.Error(err)
	}
	if st := s.Stats(); st.Tenants != 1 || st.Enqueued != 1 || fmt.Sprint(slice.Tenant()) != "[1]" {
		t.Errorf("%+v", st)
	}
}
