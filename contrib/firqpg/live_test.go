package firqpg

import (
	"context"
	"errors"
	"fmt"
	"strings"
	"sync"
	"sync/atomic"
	"testing"
	"time"

	"github.com/jackc/pgx/v5"
	"github.com/jackc/pgx/v5/pgxpool"

	"github.com/firq-go/firq"
)

// TestTerminated: Run lives through the end of its connections, all of them, again and again.
func TestTerminated(t *testing.T) {
	t.Parallel()
	q, db := queueOf(t, Config[string]{Lease: time.Second})
	ctx, cancel := context.WithCancel(bounded(t))
	defer cancel()
	admin := must[*pgx.Conn](t)(pgx.ConnectConfig(ctx, db.Config().ConnConfig.Copy()))
	defer func() { _ = admin.Close(context.Background()) }()
	var done atomic.Int64
	var wg sync.WaitGroup
	wg.Go(func() {
		if err := Run(ctx, q, func(context.Context, *Item[string]) error {
			done.Add(1)
			return nil
		}, RunOptions[string]{Concurrency: 4, OnError: func(Event[string]) {}}); err != nil {
			t.Error(err)
		}
	})
	n := int64(0)
	for round := range 5 {
		for range 10 {
			if _, err := q.Enqueue(ctx, Task[string]{}); err == nil {
				n++
			}
		}
		if round%2 == 0 { // asleep, or at work
			time.Sleep(20 * time.Millisecond)
		}
		if _, err := admin.Exec(ctx, "select pg_terminate_backend(pid) from pg_stat_activity where datname = current_database() and pid <> pg_backend_pid()"); err != nil {
			t.Fatal(err)
		}
	}
	for s := (Stats{}); s.Acked < uint64(n); s, _ = q.Stats(ctx) {
		if !sleep(ctx, 5*time.Millisecond) {
			t.Fatalf("%d of %d: %+v", done.Load(), n, s)
		}
	}
	cancel()
	wg.Wait()
	exact(t, must[Stats](t)(q.Stats(bounded(t))))
}

// TestStrictSessions: where sessions begin transactions at another level than read committed, the queue works as elsewhere.
func TestStrictSessions(t *testing.T) {
	t.Parallel()
	db := migrated(t)
	ctx := bounded(t)
	config := db.Config()
	config.ConnConfig.RuntimeParams["default_transaction_isolation"] = "repeatable read"
	strict := must[*pgxpool.Pool](t)(pgxpool.NewWithConfig(ctx, config))
	t.Cleanup(strict.Close)
	q := open(t, Config[string]{DB: strict, MaxQueued: 1000})
	other := open(t, Config[string]{DB: db})
	var wg sync.WaitGroup
	for _, client := range []*Queue[string]{q, other, q, other} {
		wg.Go(func() {
			for range 30 {
				if _, err := client.Enqueue(ctx, Task[string]{}); err != nil {
					t.Error(err)
				}
				it, err := client.Dequeue(ctx)
				if err == nil {
					err = client.Ack(ctx, it)
				}
				if err != nil {
					t.Error(err)
				}
			}
		})
	}
	wg.Wait()
	if s := must[Stats](t)(q.Stats(ctx)); s.Acked != 120 {
		t.Errorf("%+v", s)
	}
}

// TestCommitFails: calls whose statement has answered, and whose transaction then fails, have failed.
func TestCommitFails(t *testing.T) {
	t.Parallel()
	db := migrated(t)
	ctx := bounded(t)
	if _, err := db.Exec(ctx, `create function fails() returns trigger language plpgsql as $$ begin raise 'no'; end $$;
		create constraint trigger fails after insert or delete or update on firq.task deferrable initially deferred for each row execute function fails();
		alter table firq.task disable trigger fails`); err != nil {
		t.Fatal(err)
	}
	for _, level := range []string{"read committed", "repeatable read"} { // at the second one the engine begins a transaction
		t.Run(level, func(t *testing.T) {
			config := db.Config()
			config.ConnConfig.RuntimeParams["default_transaction_isolation"] = level
			own := must[*pgxpool.Pool](t)(pgxpool.NewWithConfig(ctx, config))
			t.Cleanup(own.Close)
			q := open(t, Config[string]{DB: own, Name: level})
			must[[]Result](t)(q.EnqueueBatch(ctx, make([]Task[string], 3)))
			its := must[[]*Item[string]](t)(q.DequeueBatch(ctx, 3))
			if _, err := db.Exec(ctx, "alter table firq.task enable trigger fails"); err != nil {
				t.Fatal(err)
			}
			if id, err := q.Enqueue(ctx, Task[string]{}); err == nil {
				t.Error("Enqueue:", id)
			}
			if rs, err := q.EnqueueBatch(ctx, make([]Task[string], 2)); err == nil {
				t.Error("EnqueueBatch:", rs)
			}
			if err := q.Ack(ctx, its[0]); err == nil {
				t.Error("Ack")
			}
			if err := q.Nack(ctx, its[1], Retry{}); err == nil {
				t.Error("Nack")
			}
			if err := q.Release(ctx, its[2]); err == nil {
				t.Error("Release")
			}
			if _, err := db.Exec(ctx, "alter table firq.task disable trigger fails"); err != nil {
				t.Fatal(err)
			}
			if s := must[Stats](t)(q.Stats(ctx)); s.Enqueued != 3 || s.InFlight != 3 {
				t.Errorf("%+v", s)
			}
			if err := q.Ack(ctx, its...); err != nil {
				t.Error(err)
			}
		})
	}
}

// TestSchedules: each due time fires once, whichever process runs schedules, under a limit that refuses others, and none is fired whose time has moved.
func TestSchedules(t *testing.T) {
	t.Parallel()
	q, db := queueOf(t, Config[string]{MaxQueued: 1})
	ctx, cancel := context.WithCancel(bounded(t))
	defer cancel()
	must[string](t)(q.Enqueue(ctx, Task[string]{ID: "full"}))
	for k := range 3 {
		if err := q.Schedules().Put(ctx, Schedule[string]{ID: fmt.Sprint("s", k), Cron: "* * * * * *", Task: Task[string]{Payload: fmt.Sprint(k), Tenant: "cron"}}); err != nil {
			t.Fatal(err)
		}
	}
	if err := q.Schedules().Put(ctx, Schedule[string]{ID: strings.Repeat("x", 108), Cron: "@daily"}); !errors.Is(err, firq.ErrInvalidTask) {
		t.Error(err)
	}
	var wg sync.WaitGroup
	for range 3 {
		client := open(t, Config[string]{DB: db})
		wg.Go(func() {
			if err := client.Schedules().Run(ctx); err != nil {
				t.Error(err)
			}
		})
	}
	seen := map[string]bool{}
	for len(seen) < 7 {
		it := must[*Item[string]](t)(q.Dequeue(ctx))
		if seen[it.ID] {
			t.Errorf("%s again", it.ID)
		}
		seen[it.ID] = true
		if err := q.Ack(ctx, it); err != nil {
			t.Error(err)
		}
	}
	cancel()
	wg.Wait()
	infos := must[[]ScheduleInfo[string]](t)(q.Schedules().List(bounded(t)))
	if len(infos) != 3 || infos[0].ID != "s0" || infos[0].LastDue.IsZero() || !infos[0].NextDue.After(infos[0].LastDue) {
		t.Errorf("%+v", infos)
	}
	exact(t, must[Stats](t)(q.Stats(bounded(t))))
}

// TestHealth: what holds back vacuum is named.
func TestHealth(t *testing.T) {
	t.Parallel()
	s := server(t, "autovacuum = off", "max_prepared_transactions = 5")
	db := poolOf(t, s.DSN("postgres"))
	ctx := bounded(t)
	if err := Migrate(ctx, db, ""); err != nil {
		t.Fatal(err)
	}
	q := open(t, Config[string]{DB: db})
	h := must[Health](t)(q.Health(ctx))
	all := strings.Join(h.Problems, "; ")
	if h.OK || !strings.Contains(all, "fsync is off") || !strings.Contains(all, "autovacuum is off") || !strings.HasPrefix(h.Server, "postgres ") {
		t.Errorf("%+v", h)
	}
	if want := "fsync off, synchronous_commit on"; h.Persistence != want || h.EvictionPolicy != "" || h.RTT <= 0 || h.ClockSkew.Abs() > time.Second {
		t.Errorf("%+v", h)
	}
}
