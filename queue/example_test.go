package queue_test

import (
	"context"
	"log"
	"time"

	"github.com/firq-go/firq/queue"
)

type Mail struct{ To string }

func send(context.Context, Mail) error { return nil }

// One queue carries tasks of several kinds, each with its handler.
func ExampleHandle() {
	var q *queue.Queue[queue.Message] // of firqredis.New or firqpg.New
	ctx := context.Background()

	mux := queue.NewMux()
	queue.Handle(mux, "mail", func(ctx context.Context, it *queue.Item[Mail]) error { return send(ctx, it.Payload) })

	m, err := queue.NewMessage("mail", Mail{"ann@example.org"})
	if err != nil {
		log.Fatal(err)
	}
	id, err := q.Enqueue(ctx, queue.Task[queue.Message]{Tenant: "acme", Payload: m, TTL: time.Hour})
	if err != nil {
		log.Fatal(err)
	}
	log.Print(id)

	err = queue.Run(ctx, q, mux.Handle, queue.RunOptions[queue.Message]{Concurrency: 64})
	if err != nil {
		log.Fatal(err)
	}
}
