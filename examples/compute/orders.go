package main

import (
	"context"
	"database/sql"
	"fmt"
	"math/rand/v2"
	"os"
	"path/filepath"
	"sync/atomic"

	_ "modernc.org/sqlite" // without cgo
)

// orders is a database in a temporary file.
type orders struct {
	dir   string
	db    *sql.DB
	query *sql.Stmt
	asked atomic.Int64 // how many queries there were
}

// product is a row of a report.
type product struct {
	Name string  `json:"product"`
	Sum  float64 `json:"sum"`
}

// days is the number of days for which there are orders.
const days = 365

func tenantName(i int) string { return fmt.Sprint("acme-", i) }

// open fills a new database; conns connections may query it at the same time.
func open(ctx context.Context, n, tenants, conns int) (o *orders, err error) {
	o = new(orders)
	defer func() {
		if err != nil {
			_ = o.Close()
		}
	}()
	if o.dir, err = os.MkdirTemp("", "firq-compute"); err != nil {
		return nil, err
	}
	const pragmas = "?_pragma=journal_mode(wal)&_pragma=synchronous(off)&_pragma=mmap_size(268435456)"
	if o.db, err = sql.Open("sqlite", "file:"+filepath.ToSlash(filepath.Join(o.dir, "orders.db"))+pragmas); err != nil {
		return nil, err
	}
	o.db.SetMaxOpenConns(conns)
	o.db.SetMaxIdleConns(conns)
	if _, err = o.db.ExecContext(ctx, `create table orders (tenant text, day int, product text, amount real)`); err != nil {
		return nil, err
	}
	if err = o.fill(ctx, n, tenants); err != nil {
		return nil, err
	}
	if _, err = o.db.ExecContext(ctx, `create index by_tenant on orders (tenant, day)`); err != nil {
		return nil, err
	}
	o.query, err = o.db.PrepareContext(ctx, `select product, sum(amount) s from orders
		where tenant = ? and day > ? group by product order by s desc, product limit 5`)
	return o, err
}

func (o *orders) fill(ctx context.Context, n, tenants int) error {
	tx, err := o.db.BeginTx(ctx, nil)
	if err != nil {
		return err
	}
	defer func() { _ = tx.Rollback() }() // does nothing after Commit
	insert, err := tx.PrepareContext(ctx, `insert into orders values (?, ?, ?, ?)`)
	if err != nil {
		return err
	}
	r := rand.New(rand.NewPCG(1, 2))
	for i := range n {
		_, err := insert.ExecContext(ctx, tenantName(i%tenants), 1+r.IntN(days), fmt.Sprint("product ", r.IntN(40)), float64(1+r.IntN(10_000))/100)
		if err != nil {
			return err
		}
	}
	return tx.Commit()
}

// top returns the products that sold best in the last days; last says how many days.
func (o *orders) top(ctx context.Context, tenant string, last int) (all []product, err error) {
	o.asked.Add(1)
	rows, err := o.query.QueryContext(ctx, tenant, days-last)
	if err != nil {
		return nil, err
	}
	defer func() { err = firstOf(err, rows.Close()) }()
	for rows.Next() {
		var p product
		if err := rows.Scan(&p.Name, &p.Sum); err != nil {
			return nil, err
		}
		all = append(all, p)
	}
	return all, rows.Err()
}

// Close deletes the database.
func (o *orders) Close() (err error) {
	if o.query != nil {
		err = firstOf(err, o.query.Close())
	}
	if o.db != nil {
		err = firstOf(err, o.db.Close())
	}
	if o.dir != "" {
		err = firstOf(err, os.RemoveAll(o.dir))
	}
	return err
}
