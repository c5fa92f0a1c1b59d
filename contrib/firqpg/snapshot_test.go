package firqpg

import (
	"fmt"
	"testing"
	"time"

	"github.com/jackc/pgx/v5"
	"github.com/jackc/pgx/v5/pgxpool"
)

// pagesPerTask returns how many pages of the server it takes to enqueue, deliver and ack a task.
func pagesPerTask(t *testing.T, dsn string, n int) float64 {
	t.Helper()
	ctx := bounded(t)
	count := func() (pages int64) {
		db := must[*pgx.Conn](t)(pgx.Connect(ctx, dsn))
		defer func() { _ = db.Close(ctx) }()
		if err := db.QueryRow(ctx, "select blks_hit + blks_read from pg_stat_database where datname = current_database()").Scan(&pages); err != nil {
			t.Fatal(err)
		}
		return pages
	}
	before := count()
	db := must[*pgxpool.Pool](t)(pgxpool.New(ctx, dsn))
	q := must[*Queue[string]](t)(New(ctx, Config[string]{DB: db}))
	for left := n; left > 0; {
		ts := make([]Task[string], 20)
		for k := range ts {
			ts[k].Tenant = fmt.Sprint("t", k%7)
		}
		must[[]Result](t)(q.EnqueueBatch(ctx, ts))
		for range 2 {
			its := must[[]*Item[string]](t)(q.DequeueBatch(ctx, 10))
			if err := q.Ack(ctx, its...); err != nil {
				t.Fatal(err)
			}
			left -= len(its)
		}
	}
	_ = q.Close()
	db.Close() // what a session has counted is known when it ends
	time.Sleep(50 * time.Millisecond)
	return float64(count()-before) / float64(n)
}

// TestHeldSnapshot: what a task costs does not grow with the dead versions that a snapshot keeps. Without the marks and the order of versions in the
// indexes it grows with each task.
func TestHeldSnapshot(t *testing.T) {
	t.Parallel()
	s := server(t, "autovacuum = off")
	db := poolOf(t, s.DSN("postgres"))
	ctx := bounded(t)
	if err := Migrate(ctx, db, ""); err != nil {
		t.Fatal(err)
	}
	tx := begin(t, db, pgx.TxOptions{IsoLevel: pgx.RepeatableRead})
	if _, err := tx.Exec(ctx, "select count(*) from pg_class"); err != nil {
		t.Fatal(err)
	}
	first := pagesPerTask(t, s.DSN("postgres"), 1000)
	pagesPerTask(t, s.DSN("postgres"), 4000)
	last := pagesPerTask(t, s.DSN("postgres"), 1000)
	t.Logf("%.1f pages per task, and %.1f after 5,000 more", first, last)
	if last > 2*first {
		t.Errorf("%.1f pages per task, and %.1f after 5,000 more", first, last)
	}
}

// TestMuchToApply: what was appended while no process looked is brought in a part at a time, and all of it.
func TestMuchToApply(t *testing.T) {
	t.Parallel()
	q, db := queueOf(t, Config[string]{})
	ctx := bounded(t)
	const n = 25_000
	if _, err := db.Exec(ctx, fmt.Sprintf(`do $$ begin
		for k in 1..%d loop
			perform firq.push(%d, 1, array['id' || k], array['t' || k %% 5], array[3::smallint], array[1::bigint], array[null::float8], array[0::bigint], array[0::bigint], array[0::bigint],
				array[25], array[''], array[0::bigint], array[null::bytea], array['""'::bytea]);
			commit;
		end loop; end $$`, n, q.Engine().(*engine).id)); err != nil {
		t.Fatal(err)
	}
	var more bool
	if err := db.QueryRow(ctx, "select more from firq.upkeep($1, 0, false)", q.Engine().(*engine).id).Scan(&more); err != nil || !more {
		t.Error("all of it in one part:", err)
	}
	s := must[Stats](t)(q.Stats(ctx))
	if exact(t, s); s.Enqueued != n || s.Queued != n || s.Tenants != 5 {
		t.Errorf("%+v", s)
	}
	if its := must[[]*Item[string]](t)(q.DequeueBatch(ctx, 10)); len(its) != 10 {
		t.Errorf("%d delivered", len(its))
	}
}
