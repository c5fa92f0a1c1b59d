package firqpg

import (
	"errors"
	"fmt"
	"os"
	"testing"
	"time"

	"github.com/jackc/pgx/v5"
	"github.com/jackc/pgx/v5/pgxpool"

	"github.com/firq-go/firq/contrib/firqpg/pgtest"
)

func wantState(t *testing.T, q *Queue[string], id string, want State, result string) {
	t.Helper()
	if i, err := q.Get(bounded(t), id); err != nil || i.State != want || string(i.Result) != result {
		t.Errorf("%s: %+v, %v, want %v with %q", id, i, err, want, result)
	}
}

// AckTx keeps the result in the caller's transaction.
func TestResultTx(t *testing.T) {
	t.Parallel()
	for _, level := range []pgx.TxIsoLevel{pgx.ReadCommitted, pgx.RepeatableRead, pgx.Serializable} {
		t.Run(string(level), func(t *testing.T) {
			t.Parallel()
			q, db := queueOf(t, Config[string]{})
			ctx := bounded(t)
			must[string](t)(q.Enqueue(ctx, Task[string]{ID: "x", KeepResult: time.Hour}))
			it := must[*Item[string]](t)(q.Dequeue(ctx))
			if err := it.SetResult([]byte("r")); err != nil {
				t.Fatal(err)
			}
			tx := begin(t, db, pgx.TxOptions{IsoLevel: level})
			if err := AckTx(ctx, q, tx, it); err != nil {
				t.Fatal(err)
			}
			wantState(t, q, "x", StateInFlight, "")
			if err := tx.Rollback(ctx); err != nil {
				t.Fatal(err)
			}
			wantState(t, q, "x", StateInFlight, "")
			tx = begin(t, db, pgx.TxOptions{IsoLevel: level})
			if err := AckTx(ctx, q, tx, it); err != nil {
				t.Fatal(err)
			}
			if err := q.Maintain(ctx); err != nil { // meets what is not committed
				t.Fatal(err)
			}
			if err := tx.Commit(ctx); err != nil {
				t.Fatal(err)
			}
			wantState(t, q, "x", StateCompleted, "r")
			tx = begin(t, db, pgx.TxOptions{IsoLevel: level})
			if err := AckTx(ctx, q, tx, it); !errors.Is(err, ErrLeaseLost) {
				t.Error("again:", err)
			}
			if s := must[Stats](t)(q.Stats(ctx)); s.Acked != 1 || s.InFlight != 0 {
				t.Errorf("%+v", s)
			}
		})
	}
}

// What is not kept any longer is removed by the upkeep, some at a time, and what is committed late, too.
func TestResultsSwept(t *testing.T) {
	t.Parallel()
	q, db := queueOf(t, Config[string]{})
	ctx := bounded(t)
	rows := func() (n int) {
		if err := db.QueryRow(ctx, "select count(*) from firq.result").Scan(&n); err != nil {
			t.Fatal(err)
		}
		return n
	}
	must[string](t)(q.Enqueue(ctx, Task[string]{ID: "stays", KeepResult: time.Hour}))
	must[string](t)(q.Enqueue(ctx, Task[string]{ID: "goes", KeepResult: time.Millisecond}))
	if err := q.Ack(ctx, must[[]*Item[string]](t)(q.DequeueBatch(ctx, 2))...); err != nil {
		t.Fatal(err)
	}
	more := func(n int, ago time.Duration) {
		if _, err := db.Exec(ctx, `insert into firq.result select queue, id || k, tenant, priority, cost, attempt, most, first, ukey, meta, payload, acked, firq.now_us() - $2, result
			from firq.result, generate_series(1, $1) k where id = 'stays'`, n, ago.Microseconds()); err != nil {
			t.Fatal(err)
		}
	}
	swept := func() {
		t.Helper()
		for end := time.Now().Add(patience / 2); rows() != 1; time.Sleep(10 * time.Millisecond) {
			if err := q.Maintain(ctx); err != nil || time.Now().After(end) {
				t.Fatal(rows(), err)
			}
		}
	}
	more(5000, 0)
	swept()
	wantState(t, q, "stays", StateCompleted, "")
	more(10, time.Hour)                                                        // before the mark
	if _, err := db.Exec(ctx, "update firq.state set kmark = 0"); err != nil { // as happens about once an hour
		t.Fatal(err)
	}
	swept()
	if err := q.Maintain(ctx); err != nil {
		t.Fatal(err)
	}
	var mark, now int64
	if err := db.QueryRow(ctx, "select kmark, firq.now_us() from firq.state order by seq desc limit 1").Scan(&mark, &now); err != nil || now-mark < 50e6 || now-mark > 120e6 {
		t.Errorf("the mark is %d us ago: %v", now-mark, err)
	}
}

// TestUpgrade: version 1 becomes version 2 while a program of version 1 uses it, and a role that could use queues can use these.
func TestUpgrade(t *testing.T) {
	t.Parallel()
	db := pgtest.Server(t)
	ctx := bounded(t)
	old := expand(string(must[[]byte](t)(migrations.ReadFile("sql/001.sql")))+string(must[[]byte](t)(os.ReadFile("testdata/version1_functions.sql"))), "firq")
	role := db.Config().ConnConfig.Database + "_role"
	if _, err := db.Exec(ctx, "create schema firq;"+old+fmt.Sprintf("create role %[1]s login; %[2]s", role, Grants("", role))); err != nil {
		t.Fatal(err)
	}
	defer func() { _, _ = db.Exec(ctx, fmt.Sprintf("drop owned by %[1]s; drop role %[1]s", role)) }()
	running := must[*pgxpool.Conn](t)(db.Acquire(ctx)) // of the old program
	defer running.Release()
	var id int
	if err := running.QueryRow(ctx, "select firq.open('default')").Scan(&id); err != nil {
		t.Fatal(err)
	}
	use := func(k int) {
		t.Helper()
		if _, err := running.Exec(ctx, fmt.Sprintf(`select firq.push(%[1]d, 1, array['%[2]d'], array['t'], array[3::smallint], array[1::bigint], array[null::float8], array[0::bigint],
			array[0::bigint], array[0::bigint], array[25], array[''], array[0::bigint], array[null::bytea], array['""'::bytea])`, id, k)); err != nil {
			t.Fatal(err)
		}
		tag, err := running.Exec(ctx, "select * from firq.pop($1, 1, 30000000, 1, 1000, null, null)", id)
		if err != nil || tag.RowsAffected() != 2 {
			t.Fatal(k, tag, err)
		}
		if _, err := running.Exec(ctx, "select firq.upkeep($1, 1, true)", id); err != nil {
			t.Fatal(err)
		}
	}
	for k := range 8 { // its plans are made
		use(k)
	}
	if _, err := New(ctx, Config[string]{DB: db}); !errors.Is(err, ErrVersion) {
		t.Error(err)
	}
	if err := Migrate(ctx, db, ""); err != nil {
		t.Fatal(err)
	}
	use(8)
	config := db.Config()
	config.ConnConfig.User = role
	own := must[*pgxpool.Pool](t)(pgxpool.NewWithConfig(ctx, config))
	defer own.Close()
	q := open(t, Config[string]{DB: own})
	defer func() { _ = q.Close() }()
	must[string](t)(q.Enqueue(ctx, Task[string]{ID: "new", KeepResult: time.Hour}))
	it := must[*Item[string]](t)(q.Dequeue(ctx))
	if err := q.Ack(ctx, it); err != nil {
		t.Fatal(err)
	}
	wantState(t, q, "new", StateCompleted, "")
	if err := errors.Join(q.Maintain(ctx), q.Forget(ctx, "new")); err != nil {
		t.Error(err)
	}
	if s := must[Stats](t)(q.Stats(ctx)); s.Enqueued != 10 || s.InFlight != 9 || s.Acked != 1 {
		t.Errorf("%+v", s)
	}
}
