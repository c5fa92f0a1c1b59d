package worker_test

import (
	"context"
	"fmt"
	"time"

	"github.com/firq-go/firq"
	"github.com/firq-go/firq/lockfree"
	"github.com/firq-go/firq/worker"
)

// The end of a process: what is queued is handled, or, if that takes too long, stored.
func ExampleRun_drain() {
	ctx := context.Background()
	s, err := lockfree.New(firq.Config[string, string]{
		Shards: 1,
		OnDrop: func(tenant, payload string, why firq.DropReason) { fmt.Println("store", tenant, payload, why) },
	})
	if err != nil {
		panic(err)
	}
	for i := range 3 {
		_ = s.Enqueue("acme", firq.Task[string]{Payload: fmt.Sprintf("report %d", i)})
	}
	ended := make(chan error)
	go func() {
		ended <- worker.Run(ctx, s, func(_ context.Context, it *firq.Item[string, string]) error {
			fmt.Println(it.Tenant, it.Payload)
			return nil
		}, worker.Options[string, string]{Concurrency: 1})
	}()

	// On SIGTERM:
	limit, cancel := context.WithTimeout(ctx, 20*time.Second) // less than the platform waits before it kills
	defer cancel()
	if err := s.Shutdown(limit); err != nil { // nothing new; returns when the backlog was taken
		_ = s.Close() // too slow: the rest goes to OnDrop, as DropClosed
	}
	err = <-ended // Run returns when the last handler has
	fmt.Println(err)
	// Output:
	// acme report 0
	// acme report 1
	// acme report 2
	// <nil>
}
