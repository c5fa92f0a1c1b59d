package baseline_test

import (
	"context"
	"fmt"

	"github.com/firq-go/firq"
	"github.com/firq-go/firq/baseline"
	"github.com/firq-go/firq/lockfree"
)

// Both cores keep the same contract, so a program can take its core by name, and measure which one
// suits it.
func ExampleNew() {
	cores := map[string]func(firq.Config[string, string]) (firq.Scheduler[string, string], error){
		"mutexes":        func(c firq.Config[string, string]) (firq.Scheduler[string, string], error) { return baseline.New(c) },
		"low contention": func(c firq.Config[string, string]) (firq.Scheduler[string, string], error) { return lockfree.New(c) },
	}
	for _, name := range []string{"mutexes", "low contention"} {
		s, err := cores[name](firq.Config[string, string]{Shards: 1})
		if err != nil {
			panic(err)
		}
		_ = s.Enqueue("acme", firq.Task[string]{Payload: "report", Cost: 2})
		it, _ := s.Dequeue(context.Background())
		fmt.Println(name, it.Tenant, it.Payload, it.Cost)
		_ = s.Close()
	}
	// Output:
	// mutexes acme report 2
	// low contention acme report 2
}
