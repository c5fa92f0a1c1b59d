package firqpg

import (
	"errors"
	"fmt"
	"strings"
	"sync"
	"testing"
	"time"

	"github.com/jackc/pgx/v5"
	"github.com/jackc/pgx/v5/pgxpool"

	"github.com/firq-go/firq"
	"github.com/firq-go/firq/contrib/firqpg/pgtest"
)

func TestMigrate(t *testing.T) {
	t.Parallel()
	db := pgtest.Server(t)
	ctx := bounded(t)
	if _, err := New(ctx, Config[string]{DB: db}); !errors.Is(err, ErrVersion) || !strings.Contains(err.Error(), "Migrate") {
		t.Error("before:", err)
	}
	var wg sync.WaitGroup
	for range 6 {
		wg.Go(func() {
			if err := Migrate(ctx, db, "x y"); err != nil {
				t.Error(err)
			}
		})
	}
	wg.Wait()
	q := open(t, Config[string]{DB: db, Schema: "x y"})
	must[string](t)(q.Enqueue(ctx, Task[string]{}))
	if _, err := db.Exec(ctx, `update "x y".version set version = 99`); err != nil {
		t.Fatal(err)
	}
	if err := Migrate(ctx, db, "x y"); !errors.Is(err, ErrVersion) {
		t.Error("a newer one:", err)
	}
	if _, err := New(ctx, Config[string]{DB: db, Schema: "x y"}); !errors.Is(err, ErrVersion) {
		t.Error("a newer one:", err)
	}
	if h := must[Health](t)(q.Health(ctx)); h.OK {
		t.Errorf("%+v", h)
	}
	if _, err := db.Exec(ctx, `alter function "x y".pop rename to pop2`); err != nil { // as an incompatible step does
		t.Fatal(err)
	}
	if _, err := q.Dequeue(ctx); !errors.Is(err, ErrVersion) {
		t.Error("a function that is gone:", err)
	}
	for _, bad := range []string{`a"b`, "a'b", `a\b`, "pg_x", strings.Repeat("x", 64)} {
		if err := Migrate(ctx, db, bad); !errors.Is(err, firq.ErrInvalidConfig) {
			t.Errorf("%q: %v", bad, err)
		}
		if _, err := New(ctx, Config[string]{DB: db, Schema: bad}); !errors.Is(err, firq.ErrInvalidConfig) {
			t.Errorf("%q: %v", bad, err)
		}
	}
}

func TestMigrationSQL(t *testing.T) {
	t.Parallel()
	db := pgtest.Server(t)
	ctx := bounded(t)
	text := must[string](t)(MigrationSQL("own", 0))
	if _, err := db.Exec(ctx, text); err != nil {
		t.Fatal(err)
	}
	quoted := must[string](t)(MigrationSQL("quoted", 0)) // a function that is made of another one's text
	if _, err := db.Exec(ctx, "set quote_all_identifiers = on; "+quoted+"reset quote_all_identifiers"); err != nil {
		t.Fatal(err)
	}
	q := open(t, Config[string]{DB: db, Schema: "own"})
	must[string](t)(q.Enqueue(ctx, Task[string]{}))
	if text, err := MigrationSQL("own", Version); text != "" || err != nil {
		t.Error(text, err)
	}
	if _, err := MigrationSQL("own", Version+1); !errors.Is(err, ErrVersion) {
		t.Error(err)
	}
	// Functions do not look for what they use where the caller says.
	var loose int
	if err := db.QueryRow(ctx, `select count(*) from pg_proc p join pg_namespace n on n.oid = p.pronamespace where n.nspname = 'own'
		and proname in ('push', 'pop', 'ack', 'leave', 'extend', 'ack_keep', 'open', 'upkeep', 'cancel', 'pause', 'settle', 'configure', 'requeue', 'purge', 'tenants')
		and not 'search_path=pg_catalog, pg_temp' = any (coalesce(proconfig, '{}'))`).Scan(&loose); err != nil || loose != 0 {
		t.Error(loose, err)
	}
}

// TestGrants: a role with no more than Grants gives can do all that a queue does, and cannot change the schema.
func TestGrants(t *testing.T) {
	t.Parallel()
	db := pgtest.Server(t)
	ctx := bounded(t)
	if err := Migrate(ctx, db, ""); err != nil {
		t.Fatal(err)
	}
	role := db.Config().ConnConfig.Database + "_role"
	if _, err := db.Exec(ctx, fmt.Sprintf("create role %[1]s login; revoke all on schema public from public; %[2]s", role, Grants("", role))); err != nil {
		t.Fatal(err)
	}
	defer func() { _, _ = db.Exec(ctx, fmt.Sprintf("drop owned by %[1]s; drop role %[1]s", role)) }()
	config := db.Config()
	config.ConnConfig.User = role
	own := must[*pgxpool.Pool](t)(pgxpool.NewWithConfig(ctx, config))
	defer own.Close()
	q := open(t, Config[string]{DB: own, MaxInFlight: 5, MaxQueued: 10})
	defer func() { _ = q.Close() }()
	for k := range 5 {
		must[string](t)(q.Enqueue(ctx, Task[string]{UniqueKey: fmt.Sprint(k)}))
	}
	its := must[[]*Item[string]](t)(q.DequeueBatch(ctx, 4))
	its[0].KeepResult = time.Hour
	for _, err := range []error{
		q.Ack(ctx, its[0]), q.Forget(ctx, its[0].ID), q.Nack(ctx, its[1], Retry{Dead: true}), q.Release(ctx, its[2]), q.Extend(ctx, 0, its[3]), q.Requeue(ctx, its[1].ID),
		q.Cancel(ctx, its[1].ID), q.Pause(ctx, "x"), q.SetTenant(ctx, "x", TenantSettings{MaxQueued: 1}), q.Maintain(ctx),
		q.Schedules().Put(ctx, Schedule[string]{ID: "s", Cron: "@daily"}), q.Schedules().Delete(ctx, "s"),
	} {
		if err != nil {
			t.Error(err)
		}
	}
	must[int](t)(q.Purge(ctx, Filter{}))
	must[Health](t)(q.Health(ctx))
	must[[]TenantStats](t)(q.TopTenants(ctx, 5, ByOldest))
	exact(t, must[Stats](t)(q.Stats(ctx)))
	for _, x := range []string{"drop table firq.task", "create table firq.mine (x int)", "update firq.version set version = 7"} {
		if _, err := own.Exec(ctx, x); err == nil {
			t.Errorf("%s: permitted", x)
		}
	}
}

// TestDrop: a queue goes with all that is in it, and another one of the schema stays.
func TestDrop(t *testing.T) {
	t.Parallel()
	q, db := queueOf(t, Config[string]{Name: "goes"})
	ctx := bounded(t)
	stays := open(t, Config[string]{DB: db, Name: "stays"})
	for _, of := range []*Queue[string]{q, stays} {
		must[string](t)(of.Enqueue(ctx, Task[string]{UniqueKey: "k", KeepResult: time.Hour}))
		if err := of.Schedules().Put(ctx, Schedule[string]{ID: "s", Cron: "@daily"}); err != nil {
			t.Fatal(err)
		}
		if err := of.Ack(ctx, must[*Item[string]](t)(of.Dequeue(ctx))); err != nil { // so that log has rows of -queue
			t.Error(err)
		}
		must[string](t)(of.Enqueue(ctx, Task[string]{}))
	}
	if err := Drop(ctx, db, "", "goes"); err != nil {
		t.Fatal(err)
	}
	if err := Drop(ctx, db, "", "goes"); !errors.Is(err, ErrNotFound) {
		t.Errorf("%v, want ErrNotFound", err)
	}
	if there, err := Exists(ctx, db, "", "goes"); there || err != nil {
		t.Error(there, err)
	}
	if there, err := Exists(ctx, db, "", "stays"); !there || err != nil {
		t.Error(there, err)
	}
	var tables []string
	rows := must[pgx.Rows](t)(db.Query(ctx, `select table_name from information_schema.columns where table_schema = 'firq' and column_name = 'queue'`))
	for _, table := range must[[]string](t)(pgx.CollectRows(rows, pgx.RowTo[string])) {
		var n int
		if err := db.QueryRow(ctx, "select count(distinct abs(queue)) from firq."+table).Scan(&n); err != nil || n > 1 {
			tables = append(tables, table)
		}
	}
	if len(tables) > 0 {
		t.Errorf("what is left in %q is of both", tables)
	}
	if s := must[Stats](t)(stays.Stats(ctx)); s.Queued != 1 || s.Acked != 1 {
		t.Errorf("%+v", s)
	}
}
