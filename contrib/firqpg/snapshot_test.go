package firqpg

import (
	"fmt"
	"testing"
	"time"

	"github.com/jackc/pgx/v5"
	"github.com/jackc/pgx/v5/pgxpool"
)

// TestHeldSnapshot: what a task costs does not grow with the dead versions that a snapshot keeps. Without the marks and the order of versions in the
// indexes it grows with each task. One session makes all calls, as one makes all pops: its statements are planned while the tables are empty. The transaction
// that holds the snapshot has a number, so it is open in each snapshot of the others, and its deltas are looked for.
func TestHeldSnapshot(t *testing.T) {
	t.Parallel()
	s := server(t, "autovacuum = off")
	c := must[*pgxpool.Config](t)(pgxpool.ParseConfig(s.DSN("postgres")))
	c.MaxConns = 1
	ctx := bounded(t)
	db := must[*pgxpool.Pool](t)(pgxpool.NewWithConfig(ctx, c))
	t.Cleanup(db.Close)
	if err := Migrate(ctx, db, ""); err != nil {
		t.Fatal(err)
	}
	q := must[*Queue[string]](t)(New(ctx, Config[string]{DB: db, NoListen: true}))
	t.Cleanup(func() { _ = q.Close() })
	tx := begin(t, poolOf(t, s.DSN("postgres")), pgx.TxOptions{IsoLevel: pgx.RepeatableRead})
	if _, err := tx.Exec(ctx, "select pg_current_xact_id()"); err != nil {
		t.Fatal(err)
	}
	const upkeepPages = 300            // at most, that Maintain reads
	pages := func(call func()) int64 { // that a call reads
		count := func() (n int64) {
			if _, err := db.Exec(ctx, "select pg_stat_force_next_flush()"); err != nil {
				t.Fatal(err)
			}
			if err := db.QueryRow(ctx, "select blks_hit + blks_read from pg_stat_database where datname = current_database()").Scan(&n); err != nil {
				t.Fatal(err)
			}
			return n
		}
		before := count()
		call()
		return count() - before
	}
	tasks := func(n int) { // are enqueued, delivered and acked
		for left := n; left > 0; {
			ts := make([]Task[string], 20)
			for k := range ts {
				ts[k].Tenant = fmt.Sprint("t", k)
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
	}
	tasks(100) // the catalog is read
	first := pages(func() { tasks(1000) })
	tasks(4000)
	begun := time.Now()
	last := pages(func() { tasks(1000) })
	upkeep := int64(time.Since(begun)/time.Second+1) * upkeepPages // each second a pop does it: more often on a busy machine
	t.Logf("%.1f pages per task, and %.1f after 5,000 more", float64(first)/1000, float64(last)/1000)
	if last > first*11/10+upkeep {
		t.Errorf("%d pages for 1,000 tasks, and %d after 5,000 more", first, last)
	}
	for range 2 { // the first finds that nothing is leased; then no lease is read that was acked, though it would end later
		last = pages(func() {
			if err := q.Maintain(ctx); err != nil {
				t.Error(err)
			}
		})
	}
	if t.Logf("%d pages for Maintain", last); last > upkeepPages {
		t.Errorf("%d pages for Maintain after 6,000 tasks", last)
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

// TestMuchToClip: what was brought in is removed a part at a time, and all of it; what stays is not read.
func TestMuchToClip(t *testing.T) {
	t.Parallel()
	_, db := queueOf(t, Config[string]{})
	ctx := bounded(t)
	const n = 120_000
	if _, err := db.Exec(ctx, "insert into firq.log (queue, xid, tenant, kind, n) select 99, (k / 100 + 1)::text::xid8, 't', 1, 1 from generate_series(0, $1 - 1) k", n); err != nil {
		t.Fatal(err)
	}
	from := "1"
	before := n
	for _, want := range []int{19_900, 100, 100} { // a part ends with a transaction; the last one has not been brought in
		var left, was, read int
		tx := begin(t, db, pgx.TxOptions{})
		if _, err := tx.Exec(ctx, "set local enable_seqscan = off; set local enable_bitmapscan = off; set local plan_cache_mode = force_generic_plan"); err != nil { // as where it is called
			t.Fatal(err)
		}
		fetched := "select coalesce(max(idx_tup_fetch), 0) from pg_stat_xact_user_tables where schemaname = 'firq' and relname = 'log'"
		if err := tx.QueryRow(ctx, fetched).Scan(&was); err != nil {
			t.Fatal(err)
		}
		if err := tx.QueryRow(ctx, "select firq.clip(99, $1::text::xid8, '1200')::text", from).Scan(&from); err != nil {
			t.Fatal(err)
		}
		if err := tx.QueryRow(ctx, fetched).Scan(&read); err != nil {
			t.Fatal(err)
		}
		if err := tx.Commit(ctx); err != nil {
			t.Fatal(err)
		}
		if most := before - want + min(before, 100_001); read-was > most { // what is removed, and how far that goes
			t.Errorf("%d rows were read, want at most %d", read-was, most)
		}
		before = want
		if err := db.QueryRow(ctx, "select count(*) from firq.log where queue = 99").Scan(&left); err != nil || left != want {
			t.Errorf("%d left, want %d, %v", left, want, err)
		}
	}
	if from != "1200" {
		t.Errorf("it has ended at %s", from)
	}
}
