package firqredis_test

import (
	"context"
	"errors"
	"fmt"
	"log"

	"github.com/firq-go/firq"
	"github.com/firq-go/firq/contrib/firqredis"
	"github.com/firq-go/firq/contrib/firqredis/embedded"
	"github.com/firq-go/firq/lockfree"
	"github.com/firq-go/firq/worker"
)

// Mail is what the examples send.
type Mail struct{ To string }

// Two tenants share the workers, though one of them came first with all of its tasks.
func Example() {
	ctx, cancel := context.WithCancel(context.Background())
	defer cancel()
	// With a server: firqredis.New(ctx, firqredis.Config[Mail]{Client: redis.NewClient(...)}).
	q, err := embedded.New(ctx, firqredis.Config[Mail]{Name: "mails"})
	if err != nil {
		log.Fatal(err)
	}
	defer func() { _ = q.Close() }()

	for _, tenant := range []string{"acme", "acme", "acme", "bob"} {
		if _, err := q.Enqueue(ctx, firqredis.Task[Mail]{Tenant: tenant, Payload: Mail{"someone@" + tenant}}); err != nil {
			log.Fatal(err)
		}
	}
	left := 4
	err = firqredis.Run(ctx, q, func(_ context.Context, it *firqredis.Item[Mail]) error {
		fmt.Println(it.Tenant, it.Payload.To)
		if left--; left == 0 {
			cancel()
		}
		return nil // or an error: tried again later
	}, firqredis.RunOptions[Mail]{Concurrency: 1})
	fmt.Println(err)
	// Output:
	// acme someone@acme
	// bob someone@bob
	// acme someone@acme
	// acme someone@acme
	// <nil>
}

// One handler works over the scheduler in this process and over the queue.
func ExampleRun_sameHandler() {
	send := func(_ context.Context, tenant string, m Mail) error {
		fmt.Println("to", m.To, "for", tenant)
		return nil
	}

	// In process.
	s, err := lockfree.New(firq.Config[string, Mail]{})
	if err != nil {
		log.Fatal(err)
	}
	if err := s.Enqueue("acme", firq.Task[Mail]{Payload: Mail{"a"}}); err != nil {
		log.Fatal(err)
	}
	ctx, stop := context.WithCancel(context.Background())
	err = worker.Run(ctx, firq.Consumer[string, Mail](s), func(ctx context.Context, it *firq.Item[string, Mail]) error {
		defer stop()
		return send(ctx, it.Tenant, it.Payload)
	}, worker.Options[string, Mail]{Concurrency: 1})
	fmt.Println(errors.Join(err, s.Close()))

	// Over many processes.
	ctx, stop = context.WithCancel(context.Background())
	q, err := embedded.New(ctx, firqredis.Config[Mail]{})
	if err != nil {
		log.Fatal(err)
	}
	if _, err := q.Enqueue(ctx, firqredis.Task[Mail]{Tenant: "acme", Payload: Mail{"b"}}); err != nil {
		log.Fatal(err)
	}
	err = firqredis.Run(ctx, q, func(ctx context.Context, it *firqredis.Item[Mail]) error {
		defer stop()
		return send(ctx, it.Tenant, it.Payload)
	}, firqredis.RunOptions[Mail]{Concurrency: 1})
	fmt.Println(errors.Join(err, q.Close()))
	// Output:
	// to a for acme
	// <nil>
	// to b for acme
	// <nil>
}
