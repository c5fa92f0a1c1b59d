package firqpg_test

import (
	"context"
	"errors"
	"fmt"
	"slices"
	"testing"
	"time"

	"github.com/jackc/pgx/v5"

	"github.com/firq-go/firq/contrib/firqpg"
	"github.com/firq-go/firq/contrib/firqpg/pgtest"
)

// TestWorkflows: one step follows another, and one follows several, each once, though each handler fails when it is done for the first time.
func TestWorkflows(t *testing.T) {
	t.Parallel()
	db := pgtest.Server(t)
	ctx, stop := context.WithTimeout(context.Background(), time.Minute)
	defer stop()
	if _, err := db.Exec(ctx, "create table groups (id text primary key, open int); create table done (step text)"); err != nil {
		t.Fatal(err)
	}
	if err := firqpg.Migrate(ctx, db, ""); err != nil {
		t.Fatal(err)
	}
	type Step struct{ Do, Group string }
	q, err := firqpg.New(ctx, firqpg.Config[Step]{DB: db, Backoff: firqpg.Backoff{First: time.Millisecond}})
	if err != nil {
		t.Fatal(err)
	}
	defer func() { _ = q.Close() }()

	const parts = 5
	work := func(ctx context.Context, tx pgx.Tx, it *firqpg.Item[Step]) (next []firqpg.Task[Step], err error) {
		s := it.Payload
		if _, err := tx.Exec(ctx, "insert into done values ($1)", s.Do); err != nil {
			return nil, err
		}
		switch s.Do {
		case "split": // the steps that follow
			for k := range parts {
				next = append(next, firqpg.Task[Step]{Tenant: it.Tenant, ID: fmt.Sprint(it.ID, "/", k), Payload: Step{"part", it.ID}})
			}
			_, err = tx.Exec(ctx, "insert into groups (id, open) values ($1, $2)", it.ID, parts)
		case "part": // the last one of them brings the next step
			var open int
			err = tx.QueryRow(ctx, "update groups set open = open - 1 where id = $1 returning open", s.Group).Scan(&open)
			if open == 0 {
				next = append(next, firqpg.Task[Step]{Tenant: it.Tenant, ID: s.Group + "/all", Payload: Step{Do: "join"}})
			}
		}
		return next, err
	}

	handler := func(ctx context.Context, it *firqpg.Item[Step]) error {
		return pgx.BeginFunc(ctx, db, func(tx pgx.Tx) error {
			next, err := work(ctx, tx, it) // writes rows, and says which tasks follow
			if err != nil {
				return err
			}
			if _, err := firqpg.EnqueueTx(ctx, q, tx, next...); err != nil {
				return err
			}
			return firqpg.AckTx(ctx, q, tx, it)
		})
	}

	flaky := func(ctx context.Context, it *firqpg.Item[Step]) error {
		if it.Attempt == 1 {
			err := pgx.BeginFunc(ctx, db, func(tx pgx.Tx) error {
				_, err := work(ctx, tx, it)
				return errors.Join(err, errors.New("too late"))
			})
			return firqpg.RetryAfter(err, -1)
		}
		err := handler(ctx, it)
		if it.Payload.Do == "join" && err == nil {
			stop()
		}
		return err
	}
	if _, err := q.Enqueue(ctx, firqpg.Task[Step]{Tenant: "acme", ID: "import", Payload: Step{Do: "split"}}); err != nil {
		t.Fatal(err)
	}
	if err := firqpg.Run(ctx, q, flaky, firqpg.RunOptions[Step]{Concurrency: 8, Grace: 20 * time.Second, OnError: func(firqpg.Event[Step]) {}}); err != nil {
		t.Fatal(err)
	}
	rows, err := db.Query(context.Background(), "select step from done")
	if err != nil {
		t.Fatal(err)
	}
	steps, err := pgx.CollectRows(rows, pgx.RowTo[string])
	if want := []string{"split", "part", "part", "part", "part", "part", "join"}; err != nil || !slices.Equal(steps, want) {
		t.Errorf("%q, %v", steps, err)
	}
}
