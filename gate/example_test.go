package gate_test

import (
	"context"
	"fmt"
	"sync"
	"time"

	"github.com/firq-go/firq/gate"
)

// A noisy tenant waits with five requests when a quiet one comes with one. The
// permit goes to the quiet one in its turn, not after the five.
func Example() {
	ctx := context.Background()
	g := gate.New[string](1, gate.Config[string]{MaxPerTenant: 100})
	busy, err := g.Acquire(ctx, "other", gate.Request{})
	if err != nil {
		panic(err)
	}

	var wg sync.WaitGroup
	ask := func(tenant string) {
		before := g.Stats().Queue.QueueLen
		wg.Go(func() {
			p, err := g.Acquire(ctx, tenant, gate.Request{})
			if err != nil {
				panic(err)
			}
			defer p.Release()
			fmt.Println(tenant)
		})
		for g.Stats().Queue.QueueLen == before { // so that they queue in this order
			time.Sleep(time.Millisecond)
		}
	}
	for range 5 {
		ask("noisy")
	}
	ask("quiet")
	busy.Release()
	wg.Wait()
	// Output:
	// noisy
	// quiet
	// noisy
	// noisy
	// noisy
	// noisy
}

// What a request really cost is known afterwards: the tenant pays the rest.
func ExamplePermit_Charge() {
	g := gate.New[string](8, gate.Config[string]{Quantum: 1000})
	p, err := g.Acquire(context.Background(), "acme", gate.Request{Cost: 500})
	if err != nil {
		panic(err)
	}
	defer p.Release()
	tokens := int64(730) // as the model says when it is done
	p.Charge(tokens - 500)
	// Output:
}

// The limit follows the latency of a backend.
func ExampleNewAdaptive() {
	g := gate.New[string](16, gate.Config[string]{})
	limit, err := gate.NewAdaptive(g, gate.AdaptiveConfig{Min: 4, Max: 256})
	if err != nil {
		panic(err)
	}
	call := func(ctx context.Context, tenant string, backend func() error) error {
		p, err := g.Acquire(ctx, tenant, gate.Request{})
		if err != nil {
			return err
		}
		defer p.Release()
		start := time.Now()
		err = backend()
		limit.Observe(time.Since(start), err != nil)
		return err
	}
	fmt.Println(call(context.Background(), "acme", func() error { return nil }))
	// Output: <nil>
}
