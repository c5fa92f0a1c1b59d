package lockfree_test

import (
	"context"
	"fmt"
	"sync"

	"github.com/firq-go/firq"
	"github.com/firq-go/firq/lockfree"
)

// Producers of two tenants and one worker. The busy tenant's queue is bounded, so Enqueue refuses what is
// too much for it, immediately; it accepts the other tenant's task.
func ExampleNew() {
	s, err := lockfree.New(firq.Config[string, int]{
		MaxPerTenant: 100, // tasks queued per tenant
		MaxGlobal:    1000,
		Shards:       1, // 0: one per processor; several are fair to each other within a few rounds
	})
	if err != nil {
		panic(err)
	}
	refused := 0
	for i := range 120 {
		if err := s.Enqueue("busy", firq.Task[int]{Payload: i}); err != nil {
			refused++
		}
	}
	_ = s.Enqueue("quiet", firq.Task[int]{Payload: 1000})
	fmt.Println("refused:", refused)

	served := map[string]int{}
	var wg sync.WaitGroup
	wg.Go(func() {
		for it := range firq.All(context.Background(), s) {
			served[it.Tenant]++
			if it.Tenant == "quiet" {
				fmt.Println("of the busy tenant before the quiet one:", served["busy"])
			}
		}
	})
	_ = s.Shutdown(context.Background()) // no new tasks; returns once the backlog is served
	wg.Wait()
	fmt.Println(served)
	// Output:
	// refused: 20
	// of the busy tenant before the quiet one: 1
	// map[busy:100 quiet:1]
}
