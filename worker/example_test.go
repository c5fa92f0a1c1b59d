package worker_test

import (
	"context"
	"fmt"

	"github.com/firq-go/firq"
	"github.com/firq-go/firq/lockfree"
	"github.com/firq-go/firq/worker"
)

// One worker, a noisy tenant and a quiet one.
func ExampleRun() {
	s, err := lockfree.New(firq.Config[string, string]{Shards: 1})
	if err != nil {
		panic(err)
	}
	for i := range 3 {
		_ = s.Enqueue("noisy", firq.Task[string]{Payload: fmt.Sprintf("report %d", i)})
	}
	_ = s.Enqueue("quiet", firq.Task[string]{Payload: "page view"})

	ctx := context.Background()
	go func() { _ = s.Shutdown(ctx) }() // Run returns once the backlog is handled
	err = worker.Run(ctx, s, func(_ context.Context, it *firq.Item[string, string]) error {
		fmt.Println(it.Tenant, it.Payload)
		return nil
	}, worker.Options[string, string]{Concurrency: 1})
	fmt.Println(err)
	// Output:
	// noisy report 0
	// quiet page view
	// noisy report 1
	// noisy report 2
	// <nil>
}

// A handler that fails and one that panics are counted, and the pool goes on.
func ExamplePool_Stats() {
	s, err := lockfree.New(firq.Config[string, int]{})
	if err != nil {
		panic(err)
	}
	for i := range 10 {
		_ = s.Enqueue("tenant", firq.Task[int]{Payload: 5 - i})
	}
	p, err := worker.New(s, func(_ context.Context, it *firq.Item[string, int]) error {
		if 100/it.Payload < 0 { // panics for 0
			return fmt.Errorf("%d is negative", it.Payload)
		}
		return nil
	}, worker.Options[string, int]{
		Name:    "divide",
		OnError: func(worker.Event[string, int]) {},
		OnPanic: func(e worker.Event[string, int]) { fmt.Println(e.Tenant, e.Payload, e.Panic) },
	})
	if err != nil {
		panic(err)
	}
	go func() { _ = s.Shutdown(context.Background()) }()
	err = p.Run(context.Background())
	st := p.Stats()
	fmt.Println(st.Name, st.Started, st.Finished, st.Failed, st.Panicked, err)
	// Output:
	// tenant 0 runtime error: integer divide by zero
	// divide 10 10 4 1 <nil>
}

// A long task does a part of its work, hands the rest back, and lets the other
// tenants have the worker first.
func ExampleYieldBudget() {
	type rows struct{ from, to int }
	s, err := lockfree.New(firq.Config[string, rows]{Shards: 1})
	if err != nil {
		panic(err)
	}
	_ = s.Enqueue("import", firq.Task[rows]{Payload: rows{0, 250}})
	_ = s.Enqueue("quiet", firq.Task[rows]{Payload: rows{0, 1}})

	ctx, cancel := context.WithCancel(context.Background())
	err = worker.Run(ctx, s, func(_ context.Context, it *firq.Item[string, rows]) error {
		b := worker.YieldBudget{Ticks: 100}
		for row := it.Payload.from; row < it.Payload.to; row++ {
			if b.ShouldYield() {
				fmt.Println(it.Tenant, it.Payload.from, "to", row)
				return s.Enqueue(it.Tenant, firq.Task[rows]{Payload: rows{row, it.Payload.to}})
			}
			b.Tick()
		}
		fmt.Println(it.Tenant, it.Payload.from, "to", it.Payload.to)
		if it.Payload.to == 250 {
			cancel()
		}
		return nil
	}, worker.Options[string, rows]{Concurrency: 1})
	fmt.Println(err)
	// Output:
	// import 0 to 100
	// quiet 0 to 1
	// import 100 to 200
	// import 200 to 250
	// <nil>
}
