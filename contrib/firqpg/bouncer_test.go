package firqpg

import (
	"context"
	"fmt"
	"os"
	"os/exec"
	"path/filepath"
	"sync"
	"testing"
	"time"

	"github.com/jackc/pgx/v5"
	"github.com/jackc/pgx/v5/pgxpool"
)

// TestBouncer: with NoListen a queue works through PgBouncer, which gives a session of the server to one transaction only.
func TestBouncer(t *testing.T) {
	t.Parallel()
	bin, err := exec.LookPath("pgbouncer")
	s := server(t)
	switch {
	case err != nil && os.Getenv("CI") != "":
		t.Fatal(err)
	case err != nil:
		t.Skip(err)
	}
	config := filepath.Join(s.Dir, "pgbouncer.ini")
	text := fmt.Sprintf("[databases]\npostgres = host=%[1]s user=postgres\n[pgbouncer]\nlisten_addr =\nunix_socket_dir = %[1]s\nlisten_port = 6432\nauth_type = any\npool_mode = transaction\ndefault_pool_size = 5\n", s.Dir)
	if err := os.WriteFile(config, []byte(text), 0o644); err != nil {
		t.Fatal(err)
	}
	stop, err := s.Run(bin, config)
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(stop)
	ctx := bounded(t)
	c := must[*pgxpool.Config](t)(pgxpool.ParseConfig(s.DSN("postgres") + "&port=6432&pool_max_conns=20"))
	c.ConnConfig.DefaultQueryExecMode = pgx.QueryExecModeExec // no statements that are prepared in another session
	db := must[*pgxpool.Pool](t)(pgxpool.NewWithConfig(ctx, c))
	t.Cleanup(db.Close)
	for db.Ping(ctx) != nil {
		if !sleep(ctx, 10*time.Millisecond) {
			t.Fatal("pgbouncer does not answer")
		}
	}
	if err := Migrate(ctx, db, ""); err != nil {
		t.Fatal(err)
	}
	q := open(t, Config[string]{DB: db, NoListen: true, MaxInFlight: 50})
	running, end := context.WithCancel(ctx)
	defer end()
	var left, wg sync.WaitGroup
	left.Add(300)
	wg.Go(func() {
		if err := Run(running, q, func(ctx context.Context, it *Item[string]) error {
			defer left.Done()
			return pgx.BeginFunc(ctx, db, func(tx pgx.Tx) error { return AckTx(ctx, q, tx, it) })
		}, RunOptions[string]{Concurrency: 8}); err != nil {
			t.Error(err)
		}
	})
	for range 10 {
		wg.Go(func() {
			for k := range 30 {
				if err := pgx.BeginFunc(ctx, db, func(tx pgx.Tx) error {
					_, err := EnqueueTx(ctx, q, tx, Task[string]{Tenant: fmt.Sprint("t", k%7), Payload: "x", Headers: map[string]string{"a": "b"}})
					return err
				}); err != nil {
					t.Error(err)
				}
			}
		})
	}
	left.Wait()
	end()
	wg.Wait()
	st := must[Stats](t)(q.Stats(ctx))
	if exact(t, st); st.Acked != 300 {
		t.Errorf("%+v", st)
	}
}
