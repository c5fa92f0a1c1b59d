package firqpg_test

import (
	"context"
	"log"
	"os"
	"os/signal"
	"syscall"
	"time"

	"github.com/jackc/pgx/v5"
	"github.com/jackc/pgx/v5/pgxpool"

	"github.com/firq-go/firq/contrib/firqpg"
)

type Mail struct{ To string }

// An order and its mail, in one transaction; and workers, until SIGTERM.
func Example() {
	ctx, stop := signal.NotifyContext(context.Background(), os.Interrupt, syscall.SIGTERM)
	defer stop()
	db, err := pgxpool.New(ctx, os.Getenv("DATABASE_URL"))
	if err != nil {
		log.Fatal(err)
	}
	defer db.Close()
	err = firqpg.Migrate(ctx, db, "")
	if err != nil {
		log.Fatal(err)
	}
	q, err := firqpg.New(ctx, firqpg.Config[Mail]{DB: db, Name: "mails"})
	if err != nil {
		log.Fatal(err)
	}
	defer func() { _ = q.Close() }()

	err = pgx.BeginFunc(ctx, db, func(tx pgx.Tx) error { // in the producer: the order and its mail, or neither
		if _, err := tx.Exec(ctx, "insert into orders (customer) values ($1)", "acme"); err != nil {
			return err
		}
		_, err := firqpg.EnqueueTx(ctx, q, tx, firqpg.Task[Mail]{Tenant: "acme", Payload: Mail{"ann@example.org"}})
		return err
	})
	if err != nil {
		log.Print(err)
	}

	err = firqpg.Run(ctx, q, func(ctx context.Context, it *firqpg.Item[Mail]) error { // work in this database is done once
		return pgx.BeginFunc(ctx, db, func(tx pgx.Tx) error {
			if _, err := tx.Exec(ctx, "insert into sent (recipient) values ($1)", it.Payload.To); err != nil {
				return err // tried again later
			}
			return firqpg.AckTx(ctx, q, tx, it) // the row and the end of its task, or neither
		})
	}, firqpg.RunOptions[Mail]{Concurrency: 16, Grace: 20 * time.Second})
	if err != nil {
		log.Print(err)
	}
}
