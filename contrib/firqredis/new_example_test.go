package firqredis_test

import (
	"context"
	"log"
	"os"
	"os/signal"
	"syscall"
	"time"

	"github.com/firq-go/firq/contrib/firqredis"
)

func send(context.Context, Mail) error { return nil }

// A producer and workers over a server on localhost:6379, until SIGTERM.
func ExampleNew() {
	ctx, stop := signal.NotifyContext(context.Background(), os.Interrupt, syscall.SIGTERM)
	defer stop()
	q, err := firqredis.New(ctx, firqredis.Config[Mail]{Name: "mails"}) // localhost:6379; embedded.New for tests
	if err != nil {
		log.Fatal(err)
	}
	defer func() { _ = q.Close() }()

	_, err = q.Enqueue(ctx, firqredis.Task[Mail]{Tenant: "acme", Payload: Mail{"ann@example.org"}})
	if err != nil {
		log.Print(err)
	}

	err = firqredis.Run(ctx, q, func(ctx context.Context, it *firqredis.Item[Mail]) error {
		return send(ctx, it.Payload) // an error: tried again later; firqredis.Dead(err): never again
	}, firqredis.RunOptions[Mail]{Concurrency: 64, Grace: 20 * time.Second})
	if err != nil {
		log.Print(err)
	}
}
