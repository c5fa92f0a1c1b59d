package main

import (
	"database/sql"
	"errors"
	"path/filepath"
	"testing"

	_ "modernc.org/sqlite" // without cgo

	"github.com/firq-go/firq/contrib/firqnats"
)

const pay = `insert into invoices (cart, fence, total) values (?, ?, ?)
	on conflict (cart) do update set fence = excluded.fence, total = excluded.total
	where invoices.fence <= excluded.fence`

// write writes an invoice, unless a later activation of the cart has written one.
func write(db *sql.DB, cart string, fence uint64, total int) error {
	r, err := db.Exec(pay, cart, int64(fence), total)
	if err != nil {
		return err
	}
	if n, err := r.RowsAffected(); err != nil || n == 0 {
		return errors.Join(err, firqnats.ErrFenced)
	}
	return nil
}

// An activation that is none any more, as it was paused in its handler, does not overwrite what its
// successor has written.
func TestFence(t *testing.T) {
	db, err := sql.Open("sqlite", filepath.Join(t.TempDir(), "db"))
	if err != nil {
		t.Fatal(err)
	}
	defer func() { _ = db.Close() }()
	if _, err := db.Exec("create table invoices (cart text primary key, fence integer, total integer)"); err != nil {
		t.Fatal(err)
	}
	for _, w := range []struct {
		fence uint64
		total int
		want  error
	}{{7, 100, nil}, {7, 120, nil}, {9, 150, nil}, {7, 130, firqnats.ErrFenced}, {9, 160, nil}} {
		if err := write(db, "ann", w.fence, w.total); !errors.Is(err, w.want) {
			t.Errorf("%+v: %v", w, err)
		}
	}
	var total int
	if err := db.QueryRow("select total from invoices").Scan(&total); err != nil || total != 160 {
		t.Errorf("%d, %v", total, err)
	}
}
