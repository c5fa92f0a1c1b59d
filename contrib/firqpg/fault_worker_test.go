package firqpg

import (
	"context"
	"os"
	"time"

	"github.com/jackc/pgx/v5"
	"github.com/jackc/pgx/v5/pgxpool"
)

// workerEnv is set in processes that are workers of the fault tests: how to connect.
const workerEnv = "FIRQPG_TEST_WORKER"

// workerMain handles tasks until it is killed: a row for each, in the transaction that settles it.
func workerMain() {
	ctx := context.Background()
	db, err := pgxpool.New(ctx, os.Getenv(workerEnv))
	if err != nil {
		panic(err)
	}
	q, err := New(ctx, Config[string]{DB: db, Lease: 300 * time.Millisecond})
	if err != nil {
		panic(err)
	}
	err = Run(ctx, q, func(ctx context.Context, it *Item[string]) error {
		return pgx.BeginFunc(ctx, db, func(tx pgx.Tx) error {
			if _, err := tx.Exec(ctx, "insert into done values ($1)", it.ID); err != nil {
				return err
			}
			return AckTx(ctx, q, tx, it)
		})
	}, RunOptions[string]{Concurrency: 4, OnError: func(Event[string]) {}})
	panic(err)
}
