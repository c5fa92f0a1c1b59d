package main

import (
	"context"
	"errors"
	"testing"

	"github.com/jackc/pgx/v5/pgxpool"

	"github.com/firq-go/firq/contrib/firqnats"
	"github.com/firq-go/firq/contrib/firqpg/pgtest"
)

const pay = `insert into invoices (cart, fence, total) values ($1, $2, $3)
	on conflict (cart) do update set fence = excluded.fence, total = excluded.total
	where invoices.fence <= excluded.fence`

// write writes an invoice, unless a later activation of the cart has written one.
func write(ctx context.Context, db *pgxpool.Pool, cart string, fence uint64, total int) error {
	done, err := db.Exec(ctx, pay, cart, int64(fence), total)
	if err == nil && done.RowsAffected() == 0 {
		return firqnats.ErrFenced
	}
	return err
}

// An activation that is none any more, as it was paused in its handler, does not overwrite what its
// successor has written.
func TestFence(t *testing.T) {
	db := pgtest.Server(t)
	if _, err := db.Exec(t.Context(), "create table invoices (cart text primary key, fence bigint, total int)"); err != nil {
		t.Fatal(err)
	}
	for _, w := range []struct {
		fence uint64
		total int
		want  error
	}{{7, 100, nil}, {7, 120, nil}, {9, 150, nil}, {7, 130, firqnats.ErrFenced}, {9, 160, nil}} {
		if err := write(t.Context(), db, "ann", w.fence, w.total); !errors.Is(err, w.want) {
			t.Errorf("%+v: %v", w, err)
		}
	}
	var total int
	if err := db.QueryRow(t.Context(), "select total from invoices").Scan(&total); err != nil || total != 160 {
		t.Errorf("%d, %v", total, err)
	}
}
