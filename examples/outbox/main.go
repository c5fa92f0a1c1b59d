// Outbox takes orders over HTTP and mails each customer, once, though handlers and workers fail: the order and the task of
// its mail are committed together, and so are the mail's row and the end of its task.
//
//	PGHOST=localhost PGUSER=postgres go run ./examples/outbox
//
// It needs a PostgreSQL, which PG* in the environment names (or -dsn), makes the schemas outbox and outbox_queue in it, and drops them in the end. One
// customer orders much more than the others; these do not wait for it.
package main

import (
	"context"
	"errors"
	"flag"
	"fmt"
	"io"
	"math/rand/v2"
	"net/http"
	"net/http/httptest"
	"os"
	"sync"
	"sync/atomic"
	"time"

	"github.com/jackc/pgx/v5"
	"github.com/jackc/pgx/v5/pgxpool"

	"github.com/firq-go/firq/contrib/firqpg"
)

// Mail is the task.
type Mail struct{ Order int64 }

type shop struct {
	db *pgxpool.Pool
	q  *firqpg.Queue[Mail]

	refused, failed atomic.Int64
}

func main() {
	dsn := flag.String("dsn", "", "how to connect, as pgx reads it; \"\": by PG* in the environment")
	orders := flag.Int("orders", 300, "orders of the one who orders much; ten others have one in ten of it each")
	flag.Parse()
	ctx := context.Background()
	db, err := pgxpool.New(ctx, *dsn)
	if err == nil {
		err = play(ctx, db, *orders, os.Stdout)
		db.Close()
	}
	if err != nil {
		fmt.Fprintln(os.Stderr, "outbox:", err)
		os.Exit(1)
	}
}

const tables = `create schema outbox;
create table outbox.orders (id bigint generated always as identity primary key, customer text not null);
create table outbox.mails (order_id bigint not null)` // no key: a second mail would show

const queueSchema = "outbox_queue"

// play runs a shop until every order has had its mail.
func play(ctx context.Context, db *pgxpool.Pool, orders int, w io.Writer) (err error) {
	if _, err := db.Exec(ctx, tables); err != nil {
		return err
	}
	defer func() {
		_, dropped := db.Exec(ctx, "drop schema outbox cascade; drop schema if exists "+queueSchema+" cascade")
		err = errors.Join(err, dropped)
	}()
	if err := firqpg.Migrate(ctx, db, queueSchema); err != nil {
		return err
	}
	q, err := firqpg.New(ctx, firqpg.Config[Mail]{DB: db, Schema: queueSchema, Backoff: firqpg.Backoff{First: time.Millisecond}})
	if err != nil {
		return err
	}
	defer func() { _ = q.Close() }()
	s := &shop{db: db, q: q}
	server := httptest.NewServer(http.HandlerFunc(s.order))
	defer server.Close()
	working, stop := context.WithCancel(ctx)
	var workers sync.WaitGroup
	var worked error
	workers.Go(func() {
		worked = firqpg.Run(working, q, s.mail, firqpg.RunOptions[Mail]{Concurrency: 8, OnError: func(firqpg.Event[Mail]) { s.failed.Add(1) }})
	})
	customers(server, orders)
	for {
		st, err := q.Stats(ctx)
		if err != nil || st.Queued+st.Delayed+st.InFlight == 0 {
			stop()
			workers.Wait()
			return errors.Join(err, worked, s.report(ctx, w))
		}
		time.Sleep(10 * time.Millisecond)
	}
}

// order takes an order: its row and the task of its mail, or neither.
func (s *shop) order(w http.ResponseWriter, r *http.Request) {
	ctx, customer := r.Context(), r.FormValue("customer")
	err := pgx.BeginFunc(ctx, s.db, func(tx pgx.Tx) error {
		var id int64
		if err := tx.QueryRow(ctx, "insert into outbox.orders (customer) values ($1) returning id", customer).Scan(&id); err != nil {
			return err
		}
		if _, err := firqpg.EnqueueTx(ctx, s.q, tx, firqpg.Task[Mail]{Tenant: customer, Payload: Mail{id}}); err != nil {
			return err
		}
		if rand.IntN(5) == 0 {
			return errors.New("the card was refused") // neither
		}
		return nil
	})
	if err != nil {
		s.refused.Add(1)
		http.Error(w, err.Error(), http.StatusPaymentRequired)
	}
}

// mail is the worker's handler: the row that says that the mail was sent and the end of the task, or neither.
func (s *shop) mail(ctx context.Context, it *firqpg.Item[Mail]) error {
	return pgx.BeginFunc(ctx, s.db, func(tx pgx.Tx) error {
		if _, err := tx.Exec(ctx, "insert into outbox.mails (order_id) values ($1)", it.Payload.Order); err != nil {
			return err
		}
		if rand.IntN(5) == 0 {
			return errors.New("the worker failed") // neither; the task is tried again
		}
		return firqpg.AckTx(ctx, s.q, tx, it)
	})
}

// customers order: one much, ten others less.
func customers(server *httptest.Server, orders int) {
	var wg sync.WaitGroup
	for k := range 11 {
		n := orders
		if k > 0 {
			n = orders / 10
		}
		wg.Go(func() {
			for range n {
				resp, err := server.Client().Post(fmt.Sprintf("%s?customer=c%d", server.URL, k), "", nil)
				if err == nil {
					_ = resp.Body.Close()
				}
			}
		})
	}
	wg.Wait()
}

func (s *shop) report(ctx context.Context, w io.Writer) error {
	var orders, mails, mailed int
	err := s.db.QueryRow(ctx, "select (select count(*) from outbox.orders), count(*), count(distinct order_id) from outbox.mails").Scan(&orders, &mails, &mailed)
	if err == nil {
		_, err = fmt.Fprintf(w, "%d orders (%d more were rolled back), %d mails to %d orders (%d more attempts failed)\n", orders, s.refused.Load(), mails, mailed, s.failed.Load())
	}
	return err
}
