package firqredis_test

import (
	"context"
	"errors"
	"fmt"
	"log"
	"time"

	"github.com/firq-go/firq/contrib/firqredis"
	"github.com/firq-go/firq/contrib/firqredis/embedded"
	"github.com/firq-go/firq/queue"
)

// Several kinds of tasks in one queue, as docs/queue.md and docs/queue-migration.md have them.
func Example_kinds() {
	ctx, stop := context.WithCancel(context.Background())
	q, err := embedded.New(ctx, firqredis.Config[queue.Message]{})
	if err != nil {
		log.Fatal(err)
	}
	defer func() { _ = q.Close() }()
	send := func(_ context.Context, m Mail) error {
		fmt.Println("to", m.To)
		stop()
		return nil
	}

	m, err := queue.NewMessage("mail", Mail{"ann@example.org"})
	if err != nil {
		log.Fatal(err)
	}
	id, err := q.Enqueue(ctx, queue.Task[queue.Message]{Tenant: "acme", Payload: m, TTL: time.Hour})
	if err != nil {
		log.Fatal(id, err)
	}

	mux := queue.NewMux()
	queue.Handle(mux, "mail", func(ctx context.Context, it *queue.Item[Mail]) error { return send(ctx, it.Payload) })
	err = queue.Run(ctx, q, mux.Handle, queue.RunOptions[queue.Message]{Concurrency: 64})
	fmt.Println(err)
	// Output:
	// to ann@example.org
	// <nil>
}

// A result that is handed back.
func Example_result() {
	ctx, stop := context.WithCancel(context.Background())
	q, err := embedded.New(ctx, firqredis.Config[Mail]{})
	if err != nil {
		log.Fatal(err)
	}
	defer func() { _ = q.Close() }()
	answer := func(_ context.Context, m Mail) []byte {
		defer stop()
		return []byte("dear " + m.To)
	}

	id, err := q.Enqueue(ctx, queue.Task[Mail]{Tenant: "acme", Payload: Mail{"ann"}, KeepResult: time.Hour})
	if err != nil {
		log.Fatal(err)
	}
	err = queue.Run(ctx, q, func(ctx context.Context, it *queue.Item[Mail]) error {
		return it.SetResult(answer(ctx, it.Payload))
	}, queue.RunOptions[Mail]{})
	if err != nil {
		log.Fatal(err)
	}

	i, err := q.Get(context.Background(), id) // ErrNotFound when it is not kept any longer
	fmt.Println(i.State, string(i.Result), i.KeptUntil.Sub(i.CompletedAt), err)
	fmt.Println(errors.Is(q.Forget(context.Background(), id, "other"), queue.ErrNotFound))
	// Output:
	// completed dear ann 1h0m0s <nil>
	// true
}
