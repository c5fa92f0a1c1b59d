package firqpg

import (
	"context"
	"errors"
	"fmt"

	"github.com/jackc/pgx/v5"
	"github.com/jackc/pgx/v5/pgxpool"

	"github.com/firq-go/firq"
)

// Exists reports whether a schema has a queue, which New would make otherwise.
func Exists(ctx context.Context, db *pgxpool.Pool, schema, name string) (there bool, err error) {
	_, err = numberOf(ctx, db, &schema, name)
	if errors.Is(err, ErrNotFound) {
		return false, nil
	}
	return err == nil, wrap("Exists", err)
}

// Drop removes a queue with all that is in it: tasks, dead letters, schedules, settings. ErrNotFound: there is none. A program that still uses it gets errors.
func Drop(ctx context.Context, db *pgxpool.Pool, schema, name string) error {
	err := pgx.BeginTxFunc(ctx, db, pgx.TxOptions{IsoLevel: pgx.ReadCommitted}, func(tx pgx.Tx) error {
		id, err := numberOf(ctx, tx, &schema, name)
		if err != nil {
			return err
		}
		e := engine{schema: schema}
		if _, err := tx.Exec(ctx, e.sql("select @.lock($1)"), id); err != nil {
			return err
		}
		for _, table := range []string{"task", "ukey", "tenant", "state", "log", "schedule", "result"} {
			if _, err := tx.Exec(ctx, e.sql("delete from @."+table+" where queue in ($1::int, -$1::int)"), id); err != nil {
				return err
			}
		}
		_, err = tx.Exec(ctx, e.sql("delete from @.queue where id = $1"), id)
		return err
	})
	if errors.Is(err, ErrNotFound) {
		return err
	}
	return wrap("Drop", err)
}

// numberOf returns the number of a queue, and fills in the schema.
func numberOf(ctx context.Context, db rower, schema *string, name string) (id int32, err error) {
	set(schema, DefaultSchema)
	if err := checkSchema(*schema); err != nil {
		return 0, err
	}
	if unstorable(name) {
		return 0, fmt.Errorf("%w: firqpg: name: %q", firq.ErrInvalidArgument, name)
	}
	err = db.QueryRow(ctx, "select id from "+quoted(*schema)+".queue where name = $1", name).Scan(&id)
	if errors.Is(err, pgx.ErrNoRows) {
		err = fmt.Errorf("%w: queue %q", ErrNotFound, name)
	}
	return id, err
}
