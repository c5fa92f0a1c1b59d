package firqpg

import (
	"context"
	"flag"
	"fmt"
	"os"
	"testing"
	"time"

	"github.com/jackc/pgx/v5/pgxpool"
	"go.uber.org/goleak"

	"github.com/firq-go/firq/contrib/firqpg/pgtest"
)

// TestMain runs the tests, and looks for goroutines that they left.
func TestMain(m *testing.M) {
	if os.Getenv(workerEnv) != "" {
		workerMain()
		return
	}
	flag.Parse()
	if f := flag.Lookup("test.parallel"); f.Value.String() == f.DefValue {
		_ = flag.Set("test.parallel", "8") // most of them wait
	}
	code := m.Run()
	if code == 0 {
		if err := goleak.Find(); err != nil {
			fmt.Fprintln(os.Stderr, err)
			code = 1
		}
	}
	os.Exit(code)
}

// patience is how long a test may take before it fails by itself.
const patience = 60 * time.Second

// bounded returns a context that ends after patience.
func bounded(t testing.TB) context.Context {
	ctx, cancel := context.WithTimeout(context.Background(), patience)
	t.Cleanup(cancel)
	return ctx
}

// migrated returns a database with the schema.
func migrated(t testing.TB, settings ...string) *pgxpool.Pool {
	t.Helper()
	db := pgtest.Server(t, settings...)
	if err := Migrate(bounded(t), db, ""); err != nil {
		t.Fatal(err)
	}
	return db
}

// open returns a client that is closed when the test ends.
func open[T any](t testing.TB, c Config[T]) *Queue[T] {
	t.Helper()
	q, err := New(bounded(t), c)
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() { _ = q.Close() })
	return q
}

// queueOf returns a queue on a fresh database.
func queueOf[T any](t testing.TB, c Config[T]) (*Queue[T], *pgxpool.Pool) {
	t.Helper()
	if c.DB == nil {
		c.DB = migrated(t)
	}
	return open(t, c), c.DB
}

// must returns a value whose error ends the test.
func must[V any](t testing.TB) func(v V, err error) V {
	return func(v V, err error) V {
		t.Helper()
		if err != nil {
			t.Fatal(err)
		}
		return v
	}
}

// exact checks the three equations of Stats.
func exact(t testing.TB, s Stats) {
	t.Helper()
	if in, out := s.Enqueued+s.Requeued, s.Acked+s.Cancelled+s.Expired+s.Dead+uint64(s.Queued+s.Delayed+s.InFlight); in != out {
		t.Errorf("Enqueued + Requeued is %d, and what has become of them %d: %+v", in, out, s)
	}
	if in, out := s.Delivered, s.Acked+s.Nacked+s.Released+s.LeaseExpired+uint64(s.InFlight); in != out {
		t.Errorf("Delivered is %d, and what has become of them %d: %+v", in, out, s)
	}
	if now := s.Dead - s.Requeued - s.Purged; uint64(s.DeadLetters) != now {
		t.Errorf("DeadLetters is %d, and should be %d: %+v", s.DeadLetters, now, s)
	}
}
