package firqpg

import (
	"context"
	"database/sql"
	"errors"
	"fmt"
	"slices"
	"sync"
	"testing"
	"time"

	"github.com/jackc/pgx/v5"
	"github.com/jackc/pgx/v5/pgconn"
	"github.com/jackc/pgx/v5/pgxpool"
	"github.com/jackc/pgx/v5/stdlib"

	"github.com/firq-go/firq"
	"github.com/firq-go/firq/queue"
)

// begin returns a transaction that is rolled back when the test ends, if it is still open.
func begin(t testing.TB, db *pgxpool.Pool, o pgx.TxOptions) pgx.Tx {
	t.Helper()
	tx, err := db.BeginTx(bounded(t), o)
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() { _ = tx.Rollback(context.Background()) })
	return tx
}

func TestEnqueueTx(t *testing.T) {
	t.Parallel()
	for _, level := range []pgx.TxIsoLevel{pgx.ReadCommitted, pgx.RepeatableRead, pgx.Serializable} {
		t.Run(string(level), func(t *testing.T) {
			t.Parallel()
			q, db := queueOf(t, Config[string]{MaxQueuedPerTenant: 2})
			ctx := bounded(t)
			tx := begin(t, db, pgx.TxOptions{IsoLevel: level})
			rs, err := EnqueueTx(ctx, q, tx, Task[string]{ID: "a", UniqueKey: "k"}, Task[string]{ID: "b", UniqueKey: "k"}, Task[string]{ID: "c", Cost: -1},
				Task[string]{ID: "a"}, Task[string]{ID: "d"}, Task[string]{ID: "e"}, Task[string]{ID: "f", Tenant: "other"})
			if !errors.Is(err, ErrDuplicate) || !errors.Is(err, ErrTenantFull) || !errors.Is(err, firq.ErrInvalidTask) {
				t.Error(err)
			}
			var got []string
			for _, r := range rs {
				got = append(got, fmt.Sprint(r.ID, " ", r.Err != nil))
			}
			if want := []string{"a false", "a true", "c true", "a false", "d false", "e true", "f false"}; !slices.Equal(got, want) {
				t.Errorf("got %q, want %q", got, want)
			}
			if s := must[Stats](t)(q.Stats(ctx)); s.Enqueued != 0 || s.Queued != 0 {
				t.Errorf("before the commit: %+v", s)
			}
			if err := tx.Commit(ctx); err != nil {
				t.Fatal(err)
			}
			s := must[Stats](t)(q.Stats(ctx))
			exact(t, s)
			if s.Enqueued != 3 || s.Queued != 3 || s.Duplicates != 1 || s.Rejected != 1 {
				t.Errorf("%+v", s)
			}
			tx = begin(t, db, pgx.TxOptions{IsoLevel: level})
			if _, err := EnqueueTx(ctx, q, tx, Task[string]{Tenant: "gone"}); err != nil {
				t.Error(err)
			}
			_ = tx.Rollback(ctx)
			if s := must[Stats](t)(q.Stats(ctx)); s.Enqueued != 3 || s.Tenants != 2 {
				t.Errorf("after a rollback: %+v", s)
			}
		})
	}
}

func TestEnqueueSQLTx(t *testing.T) {
	t.Parallel()
	q, db := queueOf(t, Config[string]{})
	ctx := bounded(t)
	std := stdlib.OpenDBFromPool(db)
	defer func() { _ = std.Close() }()
	conn := must[*sql.Conn](t)(std.Conn(ctx))
	defer func() { _ = conn.Close() }()
	if _, err := EnqueueSQLTx(ctx, q, conn, Task[string]{}); !errors.Is(err, firq.ErrInvalidArgument) {
		t.Error("without a transaction:", err)
	}
	tx := must[*sql.Tx](t)(conn.BeginTx(ctx, nil))
	if rs, err := EnqueueSQLTx(ctx, q, conn, Task[string]{ID: "a", Payload: "p"}); err != nil || rs[0].ID != "a" {
		t.Error(rs, err)
	}
	if s := must[Stats](t)(q.Stats(ctx)); s.Enqueued != 0 {
		t.Errorf("%+v", s)
	}
	if err := tx.Commit(); err != nil {
		t.Error(err)
	}
	if it, err := q.Dequeue(ctx); err != nil || it.Payload != "p" {
		t.Error(it, err)
	}
}

// TestOpenTransaction: one that has enqueued and stays open holds up no other call, and its tasks come at the place of their Enqueue.
func TestOpenTransaction(t *testing.T) {
	t.Parallel()
	q, db := queueOf(t, Config[string]{MaxQueued: 1000, MaxInFlight: 100})
	ctx := bounded(t)
	for i := range 5 {
		must[string](t)(q.Enqueue(ctx, Task[string]{Tenant: "a", ID: fmt.Sprint("first", i)}))
	}
	early := must[[]*Item[string]](t)(q.DequeueBatch(ctx, 2))
	tx := begin(t, db, pgx.TxOptions{})
	if _, err := EnqueueTx(ctx, q, tx, Task[string]{Tenant: "a", ID: "open"}, Task[string]{Tenant: "new", UniqueKey: "k"}); err != nil {
		t.Fatal(err)
	}
	// All of this would wait for ever for a row or a lock of the transaction.
	for i := range 5 {
		must[string](t)(q.Enqueue(ctx, Task[string]{Tenant: "a", ID: fmt.Sprint("second", i)}))
	}
	for range 3 {
		it := must[*Item[string]](t)(q.Dequeue(ctx))
		if err := q.Ack(ctx, it); err != nil {
			t.Error(err)
		}
	}
	if err := q.Ack(ctx, early[0]); err != nil {
		t.Error(err)
	}
	if err := q.Nack(ctx, early[1], Retry{After: -1}); err != nil {
		t.Error(err)
	}
	for _, err := range []error{
		q.Cancel(ctx, "second4"), q.Pause(ctx, "a"), q.Resume(ctx, "a"), q.SetTenant(ctx, "a", TenantSettings{Weight: 2}), q.Maintain(ctx),
	} {
		if err != nil {
			t.Error(err)
		}
	}
	s := must[Stats](t)(q.Stats(ctx))
	exact(t, s)
	if s.Queued != 5 || s.Enqueued != 10 {
		t.Errorf("%+v", s)
	}
	if err := tx.Commit(ctx); err != nil {
		t.Fatal(err)
	}
	var order []string
	for range 7 {
		it := must[*Item[string]](t)(q.Dequeue(ctx))
		if it.Tenant == "a" {
			order = append(order, it.ID)
		}
		if err := q.Ack(ctx, it); err != nil {
			t.Error(err)
		}
	}
	if want := []string{early[1].ID, "open", "second0", "second1", "second2", "second3"}; !slices.Equal(order, want) {
		t.Errorf("order %q, want %q", order, want)
	}
	exact(t, must[Stats](t)(q.Stats(ctx)))
}

// TestSameIDHeld: a call whose task waits for an open transaction that has the same ID, or the same UniqueKey, holds the queue's lock
// no more than the transaction does: deliveries go on.
func TestSameIDHeld(t *testing.T) {
	t.Parallel()
	q, db := queueOf(t, Config[string]{MaxQueued: 1000})
	ctx := bounded(t)
	tx := begin(t, db, pgx.TxOptions{})
	if _, err := EnqueueTx(ctx, q, tx, Task[string]{ID: "same"}, Task[string]{ID: "keeper", UniqueKey: "key"}); err != nil {
		t.Fatal(err)
	}
	other := open(t, Config[string]{DB: db})
	var wg sync.WaitGroup
	wg.Go(func() {
		for { // it fails after a while, and may be repeated
			if id, err := q.Enqueue(ctx, Task[string]{ID: "same"}); err == nil || !locked(err) {
				if err != nil || id != "same" {
					t.Error(id, err)
				}
				return
			}
		}
	})
	third := open(t, Config[string]{DB: db})
	wg.Go(func() {
		for {
			if id, err := third.Enqueue(ctx, Task[string]{ID: "loser", UniqueKey: "key"}); !locked(err) {
				if !errors.Is(err, ErrDuplicate) || id != "keeper" {
					t.Error(id, err)
				}
				return
			}
		}
	})
	waits := func() (n int) {
		if err := db.QueryRow(ctx, "select count(*) from pg_stat_activity where datname = current_database() and wait_event = 'transactionid'").Scan(&n); err != nil {
			t.Fatal(err)
		}
		return n
	}
	for waits() < 2 {
		time.Sleep(time.Millisecond)
	}
	must[string](t)(other.Enqueue(ctx, Task[string]{ID: "free"}))
	if it := must[*Item[string]](t)(other.Dequeue(ctx)); it.ID != "free" {
		t.Errorf("got %+v", it)
	}
	// In one batch with a task that has to wait: the others go on, and that one fails alone if the transaction stays open.
	rs, err := other.EnqueueBatch(ctx, []Task[string]{{ID: "free"}, {ID: "same"}, {ID: "last"}})
	var pg *pgconn.PgError
	if rs[0].Err != nil || rs[2].Err != nil || !errors.As(rs[1].Err, &pg) || pg.Code != "55P03" {
		t.Error(rs, err)
	}
	if err := tx.Commit(ctx); err != nil {
		t.Fatal(err)
	}
	wg.Wait()
	s := must[Stats](t)(q.Stats(ctx))
	if exact(t, s); s.Enqueued != 4 || s.Duplicates != 1 {
		t.Errorf("%+v", s)
	}
}

func TestAckTx(t *testing.T) {
	t.Parallel()
	q, db := queueOf(t, Config[string]{Lease: 200 * time.Millisecond})
	ctx := bounded(t)
	if _, err := db.Exec(ctx, "create table done (id text)"); err != nil {
		t.Fatal(err)
	}
	for range 3 {
		must[string](t)(q.Enqueue(ctx, Task[string]{}))
	}
	work := func(it *Item[string]) pgx.Tx {
		tx := begin(t, db, pgx.TxOptions{})
		if _, err := tx.Exec(ctx, "insert into done values ($1)", it.ID); err != nil {
			t.Fatal(err)
		}
		return tx
	}
	count := func() (n int) {
		if err := db.QueryRow(ctx, "select count(*) from done").Scan(&n); err != nil {
			t.Fatal(err)
		}
		return n
	}
	it := must[*Item[string]](t)(q.Dequeue(ctx))
	tx := work(it)
	if err := AckTx(ctx, q, tx, it); err != nil {
		t.Fatal(err)
	}
	if s := must[Stats](t)(q.Stats(ctx)); s.Acked != 0 || s.InFlight != 1 {
		t.Errorf("before the commit: %+v", s)
	}
	if err := tx.Commit(ctx); err != nil || count() != 1 {
		t.Error(err, count())
	}
	it = must[*Item[string]](t)(q.Dequeue(ctx))
	tx = work(it)
	if err := AckTx(ctx, q, tx, it); err != nil {
		t.Fatal(err)
	}
	_ = tx.Rollback(ctx)
	if err := q.Ack(ctx, it); err != nil || count() != 1 {
		t.Error("after a rollback:", err, count())
	}
	it = must[*Item[string]](t)(q.Dequeue(ctx))
	next := must[*Item[string]](t)(q.Dequeue(ctx)) // its lease has run out by then
	tx = work(it)
	if err := AckTx(ctx, q, tx, it); !errors.Is(err, ErrLeaseLost) {
		t.Error(err)
	}
	_ = tx.Rollback(ctx)
	if err := q.Ack(ctx, next); err != nil {
		t.Error(err)
	}
	s := must[Stats](t)(q.Stats(ctx))
	if exact(t, s); s.Acked != 3 || s.LeaseExpired != 1 {
		t.Errorf("%+v", s)
	}
}

// TestAckTxOpen: a transaction that has acked a task and stays open holds up neither the heartbeats of others, nor deliveries, nor
// Cancel of other tasks, also once its lease has run out.
func TestAckTxOpen(t *testing.T) {
	t.Parallel()
	q, db := queueOf(t, Config[string]{Lease: 300 * time.Millisecond})
	ctx := bounded(t)
	for _, id := range []string{"a", "b", "c", "d"} {
		must[string](t)(q.Enqueue(ctx, Task[string]{ID: id}))
	}
	a, b := must[*Item[string]](t)(q.Dequeue(ctx)), must[*Item[string]](t)(q.Dequeue(ctx))
	tx := begin(t, db, pgx.TxOptions{})
	if err := AckTx(ctx, q, tx, a); err != nil {
		t.Fatal(err)
	}
	for range 10 {
		time.Sleep(50 * time.Millisecond)
		if err := q.Extend(ctx, 0, a, b); err != nil {
			t.Fatal(err)
		}
	}
	c := must[*Item[string]](t)(q.Dequeue(ctx))
	if c.ID != "c" {
		t.Errorf("got %+v", c)
	}
	if err := q.Cancel(ctx, "d"); err != nil {
		t.Error(err)
	}
	short, cancel := context.WithTimeout(ctx, 500*time.Millisecond)
	defer cancel()
	if err := q.Cancel(short, "a"); err == nil {
		t.Error("Cancel of the task whose end is open has returned")
	}
	if err := q.Ack(ctx, c); err != nil {
		t.Error(err)
	}
	if err := tx.Commit(ctx); err != nil {
		t.Error(err)
	}
	if err := q.Ack(ctx, b); err != nil {
		t.Error(err)
	}
	s := must[Stats](t)(q.Stats(ctx))
	if exact(t, s); s.Acked != 3 || s.Cancelled != 1 || s.LeaseExpired != 0 {
		t.Errorf("%+v", s)
	}
}

// TestRunAckTx: a handler that has settled its task has it left alone; one that rolls back and fails has it tried again.
func TestRunAckTx(t *testing.T) {
	t.Parallel()
	q, db := queueOf(t, Config[string]{Backoff: Backoff{First: time.Millisecond}})
	ctx, cancel := context.WithCancel(bounded(t))
	defer cancel()
	if _, err := db.Exec(ctx, "create table done (id text primary key)"); err != nil {
		t.Fatal(err)
	}
	const n = 50
	for i := range n {
		must[string](t)(q.Enqueue(ctx, Task[string]{ID: fmt.Sprint(i), Tenant: fmt.Sprint(i % 3)}))
	}
	var left sync.WaitGroup
	left.Add(n)
	var mu sync.Mutex
	failed := map[string]bool{}
	var wg sync.WaitGroup
	wg.Go(func() {
		if err := Run(ctx, q, func(ctx context.Context, it *Item[string]) error {
			err := pgx.BeginFunc(ctx, db, func(tx pgx.Tx) error {
				if _, err := tx.Exec(ctx, "insert into done values ($1)", it.ID); err != nil {
					return err
				}
				if err := AckTx(ctx, q, tx, it); err != nil {
					return err
				}
				mu.Lock()
				defer mu.Unlock()
				if !failed[it.ID] {
					failed[it.ID] = true
					return errors.New("the first time it fails")
				}
				return nil
			})
			if err == nil {
				left.Done()
			}
			return err
		}, RunOptions[string]{Concurrency: 8, OnError: func(e Event[string]) {}}); err != nil {
			t.Error(err)
		}
	})
	left.Wait()
	cancel()
	wg.Wait()
	ctx = bounded(t)
	s := must[Stats](t)(q.Stats(ctx))
	if exact(t, s); s.Acked != n || s.Nacked != n || s.InFlight != 0 || s.LeaseLost != 0 {
		t.Errorf("%+v", s)
	}
}

// TestAckMessageTx: a handler of a kind settles the message that its item was made of; the handler of Run has it left alone.
func TestAckMessageTx(t *testing.T) {
	t.Parallel()
	q, db := queueOf(t, Config[queue.Message]{})
	ctx, cancel := context.WithCancel(bounded(t))
	defer cancel()
	if _, err := db.Exec(ctx, "create table done (n int primary key)"); err != nil {
		t.Fatal(err)
	}
	const n = 20
	for i := range n {
		m := must[queue.Message](t)(queue.NewMessage("number", i))
		must[string](t)(q.Enqueue(ctx, Task[queue.Message]{Payload: m, KeepResult: time.Hour, ID: fmt.Sprint(i)}))
	}
	var left sync.WaitGroup
	left.Add(n)
	mux := queue.NewMux()
	queue.Handle(mux, "number", func(ctx context.Context, it *Item[int]) error {
		defer left.Done()
		return errors.Join(it.SetResult([]byte(it.ID)), pgx.BeginFunc(ctx, db, func(tx pgx.Tx) error {
			if _, err := tx.Exec(ctx, "insert into done values ($1)", it.Payload); err != nil {
				return err
			}
			return AckMessageTx(ctx, q, tx, it)
		}))
	})
	var wg sync.WaitGroup
	wg.Go(func() {
		if err := Run(ctx, q, mux.Handle, RunOptions[queue.Message]{Concurrency: 4}); err != nil {
			t.Error(err)
		}
	})
	left.Wait()
	cancel()
	wg.Wait()
	ctx = bounded(t)
	s := must[Stats](t)(q.Stats(ctx))
	if exact(t, s); s.Acked != n || s.InFlight != 0 || s.LeaseLost != 0 {
		t.Errorf("%+v", s)
	}
	if i := must[Info[queue.Message]](t)(q.Get(ctx, "7")); string(i.Result) != "7" {
		t.Errorf("%+v", i)
	}
}

// TestServerErrors: those of the server are wrapped.
func TestServerErrors(t *testing.T) {
	t.Parallel()
	q, db := queueOf(t, Config[string]{})
	ctx := bounded(t)
	tx := begin(t, db, pgx.TxOptions{})
	_, _ = tx.Exec(ctx, "select 1/0")
	var pg *pgconn.PgError
	if _, err := EnqueueTx(ctx, q, tx, Task[string]{}); !errors.As(err, &pg) || pg.Code != "25P02" {
		t.Error(err)
	}
	if err := AckTx(ctx, q, tx, &Item[string]{}); !errors.As(err, &pg) || pg.Code != "25P02" {
		t.Error(err)
	}
	if _, err := db.Exec(ctx, "alter database "+db.Config().ConnConfig.Database+" set default_transaction_read_only = on"); err != nil {
		t.Fatal(err)
	}
	db.Reset()
	if _, err := q.Enqueue(ctx, Task[string]{}); !errors.As(err, &pg) || pg.Code != "25006" {
		t.Error(err)
	}
	if h := must[Health](t)(q.Health(ctx)); h.OK || len(h.Problems) == 0 {
		t.Errorf("%+v", h)
	}
}
