package firq_test

import (
	"context"
	"errors"
	"fmt"
	"hash/maphash"
	"time"

	"github.com/firq-go/firq"
	"github.com/firq-go/firq/lockfree"
)

// A noisy tenant and a quiet one share a worker. First come, first served would
// let the page view wait for all five reports.
func Example() {
	ctx := context.Background()
	s, err := lockfree.New(firq.Config[string, string]{MaxPerTenant: 100, Shards: 1})
	if err != nil {
		panic(err)
	}
	for i := range 5 {
		_ = s.Enqueue("noisy", firq.Task[string]{Payload: fmt.Sprintf("report %d", i)})
	}
	_ = s.Enqueue("quiet", firq.Task[string]{Payload: "page view"})

	go func() { _ = s.Shutdown(ctx) }() // no new tasks; ends once the backlog is served
	for it := range firq.All(ctx, s) {
		fmt.Println(it.Tenant, it.Payload)
	}
	// Output:
	// noisy report 0
	// quiet page view
	// noisy report 1
	// noisy report 2
	// noisy report 3
	// noisy report 4
}

// Each tenant spends its quantum per round: gold gets three tasks for one of
// basic's, and a task of cost 3 counts as three.
func ExampleConfig_weights() {
	s, err := lockfree.New(firq.Config[string, string]{
		Shards: 1,
		QuantumFor: func(tenant string) int64 {
			if tenant == "gold" {
				return 3
			}
			return 1
		},
	})
	if err != nil {
		panic(err)
	}
	for range 4 {
		_ = s.Enqueue("basic", firq.Task[string]{Payload: "b"})
	}
	_ = s.Enqueue("gold", firq.Task[string]{Payload: "G", Cost: 3})
	for range 4 {
		_ = s.Enqueue("gold", firq.Task[string]{Payload: "g"})
	}
	for it, ok := s.TryDequeue(); ok; it, ok = s.TryDequeue() {
		fmt.Print(it.Payload, " ")
	}
	// Output: b G b g g g b g b
}

// Inside a tenant its users share: one that sends much does not keep the others waiting.
func ExampleTask_flow() {
	s, err := lockfree.New(firq.Config[string, string]{Shards: 1})
	if err != nil {
		panic(err)
	}
	user := func(name string) uint64 { return maphash.String(seed, name) }
	for i := range 4 {
		_ = s.Enqueue("acme", firq.Task[string]{Payload: fmt.Sprint("bulk", i), Flow: user("importer")})
	}
	_ = s.Enqueue("acme", firq.Task[string]{Payload: "click", Flow: user("ann")})
	_ = s.Enqueue("other", firq.Task[string]{Payload: "other"})
	for it, ok := s.TryDequeue(); ok; it, ok = s.TryDequeue() {
		fmt.Print(it.Payload, " ")
	}
	// Output: bulk0 other click bulk1 bulk2 bulk3
}

var seed = maphash.MakeSeed()

// A full scheduler says so, and which limit it was.
func ExampleConfig_limits() {
	s, err := lockfree.New(firq.Config[string, int]{MaxGlobal: 3, MaxPerTenant: 2})
	if err != nil {
		panic(err)
	}
	for _, tenant := range []string{"a", "a", "a", "b", "c"} {
		err := s.Enqueue(tenant, firq.Task[int]{})
		switch {
		case errors.Is(err, firq.ErrTenantFull):
			fmt.Println(tenant, "429 slow down")
		case errors.Is(err, firq.ErrRejected):
			fmt.Println(tenant, "503 overloaded")
		default:
			fmt.Println(tenant, "accepted")
		}
	}
	// Output:
	// a accepted
	// a accepted
	// a 429 slow down
	// b accepted
	// c 503 overloaded
}

// A connection that enqueues for the same tenant again and again keeps a handle, which
// needs no look-up per call.
func ExampleHandle() {
	s, err := lockfree.New(firq.Config[string, string]{Shards: 1})
	if err != nil {
		panic(err)
	}
	h := s.Tenant("customer 7")
	for _, line := range []string{"open", "read", "close"} {
		if err := h.Enqueue(firq.Task[string]{Payload: line}); err != nil {
			panic(err)
		}
	}
	for it, ok := s.TryDequeue(); ok; it, ok = s.TryDequeue() {
		fmt.Println(it.Tenant, it.Payload)
	}
	// Output:
	// customer 7 open
	// customer 7 read
	// customer 7 close
}

// Limits change while the scheduler runs, for all or for one tenant. What is above a
// new limit stays, and drains.
func ExampleScheduler_limits() {
	s, err := lockfree.New(firq.Config[string, int]{
		MaxGlobal: 100,
		MaxPerTenantFor: func(tenant string) int { // by plan; 0: MaxPerTenant
			return map[string]int{"trial": 1, "gold": 10}[tenant]
		},
	})
	if err != nil {
		panic(err)
	}
	fill := func(tenant string) {
		for {
			if err := s.Enqueue(tenant, firq.Task[int]{}); err != nil {
				fmt.Printf("%d queued, then %v\n", s.Len(), err)
				return
			}
		}
	}
	fill("trial")
	s.SetLimit("trial", 3) // they have paid
	fill("trial")
	s.SetMaxGlobal(2) // the backend is in trouble
	fill("gold")
	s.TryDequeue()
	s.TryDequeue()
	fill("gold")
	// Output:
	// 1 queued, then firq: rejected: the tenant is full (MaxPerTenant)
	// 3 queued, then firq: rejected: the tenant is full (MaxPerTenant)
	// 3 queued, then firq: rejected: the scheduler is full (MaxGlobal)
	// 2 queued, then firq: rejected: the scheduler is full (MaxGlobal)
}

// A client that gives up takes its task out again; one that waits at most so
// long is dropped when the time has passed. Both free their place.
func ExampleTicket_Cancel() {
	s, err := lockfree.New(firq.Config[string, string]{
		OnDrop: func(tenant, payload string, why firq.DropReason) { fmt.Println(payload, why) },
	})
	if err != nil {
		panic(err)
	}
	var tk firq.Ticket
	_ = s.Enqueue("a", firq.Task[string]{Payload: "search", Ticket: &tk})
	_ = s.Enqueue("a", firq.Task[string]{Payload: "quote", Deadline: time.Now().Add(-time.Second)})
	fmt.Println(tk.Cancel(), tk.Cancel())
	_, ok := s.TryDequeue()
	fmt.Println(ok, s.Len())
	// Output:
	// search cancelled
	// true false
	// quote expired
	// false 0
}

// With one task in flight per tenant, each tenant's tasks run one after another.
func ExampleItem_Done() {
	s, err := lockfree.New(firq.Config[string, string]{MaxInFlightPerTenant: 1})
	if err != nil {
		panic(err)
	}
	for _, job := range []string{"debit", "credit"} {
		_ = s.Enqueue("account 7", firq.Task[string]{Payload: job})
	}
	first, _ := s.TryDequeue()
	_, ok := s.TryDequeue()
	fmt.Println(first.Payload, ok)
	first.Done()
	second, _ := s.TryDequeue()
	fmt.Println(second.Payload)
	// Output:
	// debit false
	// credit
}
