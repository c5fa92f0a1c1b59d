package firqpg

import (
	"context"
	"sync"
	"testing"
	"time"

	"github.com/jackc/pgx/v5"
	"github.com/jackc/pgx/v5/pgxpool"
)

// sleepers returns how many processes hold a slot of the queue.
func sleepers(t testing.TB, db *pgxpool.Pool) (n int) {
	t.Helper()
	if err := db.QueryRow(bounded(t), `select count(*) from pg_locks where locktype = 'advisory' and database = (select oid from pg_database where datname = current_database())
		and classid = 'firq'::regnamespace::oid and objid::bigint % 8 < 4 and granted`).Scan(&n); err != nil {
		t.Fatal(err)
	}
	return n
}

func asleep(t testing.TB, db *pgxpool.Pool, n int) {
	t.Helper()
	for ctx := bounded(t); sleepers(t, db) != n; {
		if !sleep(ctx, time.Millisecond) {
			t.Fatalf("%d processes sleep, want %d", sleepers(t, db), n)
		}
	}
}

// TestWakes: a process that sleeps wakes in much less time than it would take to look again by itself.
func TestWakes(t *testing.T) {
	t.Parallel()
	q, db := queueOf(t, Config[string]{})
	ctx := bounded(t)
	got := make(chan time.Time)
	go func() {
		for {
			if _, err := q.Dequeue(ctx); err != nil {
				return
			}
			got <- time.Now()
		}
	}()
	soonest := time.Hour
	for range 5 {
		asleep(t, db, 1)
		time.Sleep(50 * time.Millisecond) // until no transaction is left that did not see it
		began := time.Now()
		must[string](t)(q.Enqueue(ctx, Task[string]{}))
		soonest = min(soonest, (<-got).Sub(began))
	}
	if soonest > longestSleep/4 {
		t.Errorf("woken after %v", soonest)
	}
	_ = q.Close()
}

// TestNoNotify: while none sleeps none is notified, as that would make commits wait for each other.
func TestNoNotify(t *testing.T) {
	t.Parallel()
	q, db := queueOf(t, Config[string]{})
	ctx := bounded(t)
	ear := must[*pgx.Conn](t)(pgx.ConnectConfig(ctx, db.Config().ConnConfig.Copy()))
	defer func() { _ = ear.Close(ctx) }()
	e := q.Engine().(*engine)
	for k := range slots {
		if _, err := ear.Exec(ctx, "listen "+quoted(channel(e, k))); err != nil {
			t.Fatal(err)
		}
	}
	for range 20 {
		must[string](t)(q.Enqueue(ctx, Task[string]{}))
	}
	its := must[[]*Item[string]](t)(q.DequeueBatch(ctx, 20))
	if err := q.Ack(ctx, its...); err != nil {
		t.Fatal(err)
	}
	short, cancel := context.WithTimeout(ctx, 100*time.Millisecond)
	defer cancel()
	if n, err := ear.WaitForNotification(short); err == nil {
		t.Errorf("notified: %+v", n)
	}
}

// TestCommitsLate: a process that fell asleep while a transaction was open hears of its commit.
func TestCommitsLate(t *testing.T) {
	t.Parallel()
	q, db := queueOf(t, Config[string]{})
	ctx := bounded(t)
	tx := begin(t, db, pgx.TxOptions{})
	must[[]Result](t)(EnqueueTx(ctx, q, tx, Task[string]{}))
	got := make(chan error)
	go func() {
		_, err := q.Dequeue(ctx)
		got <- err
	}()
	asleep(t, db, 1)
	time.Sleep(300 * time.Millisecond)
	began := time.Now()
	if err := tx.Commit(ctx); err != nil {
		t.Fatal(err)
	}
	if err := <-got; err != nil {
		t.Error(err)
	}
	if d := time.Since(began); d > longestSleep/2 {
		t.Errorf("heard after %v", d)
	}
}

// TestPasses: a wake-up that its receiver cannot use goes on to another process.
func TestPasses(t *testing.T) {
	t.Parallel()
	q, db := queueOf(t, Config[string]{})
	ctx := bounded(t)
	a, b := open(t, Config[string]{DB: db}), open(t, Config[string]{DB: db})
	got := make(chan error, 1)
	go func() {
		_, err := a.Dequeue(ctx)
		got <- err
	}()
	asleep(t, db, 1)
	for range 10 { // b takes a slot, and its caller leaves just when the wake-up may come
		short, cancel := context.WithTimeout(ctx, 20*time.Millisecond)
		done := make(chan struct{})
		go func() {
			defer close(done)
			if it, err := b.Dequeue(short); err == nil {
				_ = b.Ack(ctx, it)
			}
		}()
		<-short.Done()
		cancel()
		must[string](t)(q.Enqueue(ctx, Task[string]{}))
		<-done
		if err := <-got; err != nil {
			t.Fatal(err)
		}
		go func() {
			_, err := a.Dequeue(ctx)
			got <- err
		}()
	}
	must[string](t)(q.Enqueue(ctx, Task[string]{}))
	if err := <-got; err != nil {
		t.Error(err)
	}
}

// TestPools: a queue works with a pool of one connection, and with NoListen, and has no more connections than it says.
func TestPools(t *testing.T) {
	t.Parallel()
	for name, c := range map[string]Config[string]{"one": {}, "deaf": {NoListen: true}} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			db := migrated(t)
			config := db.Config()
			config.MaxConns = 1
			c.DB = must[*pgxpool.Pool](t)(pgxpool.NewWithConfig(bounded(t), config))
			t.Cleanup(c.DB.Close)
			q, _ := queueOf(t, c)
			ctx, cancel := context.WithCancel(bounded(t))
			defer cancel()
			var left sync.WaitGroup
			left.Add(200)
			var wg sync.WaitGroup
			wg.Go(func() {
				if err := Run(ctx, q, func(context.Context, *Item[string]) error {
					left.Done()
					return nil
				}, RunOptions[string]{Concurrency: 16}); err != nil {
					t.Error(err)
				}
			})
			for range 20 {
				for range 10 {
					wg.Go(func() {
						if _, err := q.Enqueue(ctx, Task[string]{}); err != nil {
							t.Error(err)
						}
					})
				}
				time.Sleep(5 * time.Millisecond)
			}
			left.Wait()
			var conns int
			if err := db.QueryRow(ctx, "select count(*) from pg_stat_activity where datname = current_database() and pid <> pg_backend_pid()").Scan(&conns); err != nil {
				t.Fatal(err)
			}
			if most := map[string]int{"one": 3, "deaf": 1}[name]; conns > most+1 { // and an idle one of db
				t.Errorf("%d connections, want at most %d", conns, most)
			}
			cancel()
			wg.Wait()
			exact(t, must[Stats](t)(q.Stats(bounded(t))))
		})
	}
}

// TestPops: a queue fetches on one separate connection, and not on those of the pool, each of which would have to plan the statements.
func TestPops(t *testing.T) {
	t.Parallel()
	db := migrated(t)
	ctx := bounded(t)
	q, _ := queueOf(t, Config[string]{DB: db})
	must[string](t)(q.Enqueue(ctx, Task[string]{}))
	must[*Item[string]](t)(q.Dequeue(ctx))
	held := db.Stat().TotalConns()
	var all, pops int
	if err := db.QueryRow(ctx, "select count(*), count(*) filter (where query like '%.pop(%') from pg_stat_activity where datname = current_database() and pid <> pg_backend_pid()").
		Scan(&all, &pops); err != nil {
		t.Fatal(err)
	}
	if pops != 1 || all != int(held) {
		t.Errorf("%d connections besides, %d fetch, want %d and 1", all, pops, held)
	}

	// What has a connection plan these changes nothing.
	before := must[Stats](t)(q.Stats(ctx))
	if _, err := db.Exec(ctx, "select * from firq.pop(-1, 1, 0, 0, 0, null, null)"); err != nil {
		t.Error(err)
	}
	var others int
	if err := db.QueryRow(ctx, "select (select count(*) from firq.state where queue < 0) + (select count(*) from firq.tenant where queue < 0)").Scan(&others); err != nil || others != 0 {
		t.Errorf("%d rows of the queue that does not exist, %v", others, err)
	}
	if after := must[Stats](t)(q.Stats(ctx)); after.Delivered != before.Delivered {
		t.Errorf("%d deliveries more", after.Delivered-before.Delivered)
	}
}

// TestTwoSchemas: queues of two schemas in one database, with the same numbers, do not see each other, nor wake each other.
func TestTwoSchemas(t *testing.T) {
	t.Parallel()
	db := migrated(t)
	ctx := bounded(t)
	if err := Migrate(ctx, db, "Other schema"); err != nil {
		t.Fatal(err)
	}
	a, b := open(t, Config[string]{DB: db}), open(t, Config[string]{DB: db, Schema: "Other schema"})
	got := make(chan string)
	for _, q := range []*Queue[string]{a, b} {
		go func() {
			it, err := q.Dequeue(ctx)
			if err != nil {
				t.Error(err)
				got <- ""
				return
			}
			got <- it.Payload
		}()
	}
	asleep(t, db, 1)
	must[string](t)(b.Enqueue(ctx, Task[string]{Payload: "b"}))
	if p := <-got; p != "b" {
		t.Errorf("got %q", p)
	}
	must[string](t)(a.Enqueue(ctx, Task[string]{Payload: "a"}))
	if p := <-got; p != "a" {
		t.Errorf("got %q", p)
	}
}
