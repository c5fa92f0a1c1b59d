// Package pgtest gives tests a PostgreSQL: for tests of handlers that enqueue in transactions.
package pgtest

import (
	"context"
	"crypto/rand"
	"fmt"
	"net/url"
	"os"
	"strings"
	"sync"
	"testing"
	"time"

	"github.com/jackc/pgx/v5/pgxpool"

	"github.com/firq-go/firq/contrib/firqpg/internal/pgserver"
)

// Env names the server to use instead of an own one: what pgx.ParseConfig reads. Its user has to have the right to make databases.
const Env = "FIRQ_TEST_POSTGRES"

// shared is the server of all tests of a process. It ends with the process.
var shared = sync.OnceValues(func() (*pgserver.Server, error) { return start(nil) })

// fast are the settings of servers without any: what a test has written need not survive the machine.
var fast = []string{"fsync = off"}

func start(settings []string) (*pgserver.Server, error) {
	if len(settings) == 0 {
		settings = fast
	}
	s, err := pgserver.New(settings...)
	if err == nil {
		err = s.Start()
	}
	return s, err
}

// Server returns an empty database, which the pool's ConnString names for programs that the test
// starts. It is on the server that FIRQ_TEST_POSTGRES names, or on an installed PostgreSQL, which it
// starts in a fresh folder. With settings, as lines of postgresql.conf ("max_connections = 20"),
// the server is this test's alone. Without settings all tests of a process share one, with fsync off.
// A test that finds no server is skipped; where CI is set it fails.
func Server(tb testing.TB, settings ...string) *pgxpool.Pool {
	tb.Helper()
	dsn := os.Getenv(Env)
	if dsn == "" || len(settings) > 0 {
		s, err := server(tb, settings)
		if err != nil {
			if os.Getenv("CI") != "" {
				tb.Fatalf("pgtest: %v", err)
			}
			tb.Skipf("pgtest: %v", err)
		}
		dsn = s.DSN("postgres")
	}
	pool, err := database(tb, dsn)
	if err != nil {
		tb.Fatalf("pgtest: %v", err)
	}
	return pool
}

func server(tb testing.TB, settings []string) (*pgserver.Server, error) {
	if len(settings) == 0 {
		return shared()
	}
	s, err := start(settings)
	if err == nil {
		tb.Cleanup(s.Stop)
	}
	return s, err
}

// within returns a DSN with another database.
func within(dsn, name string) string {
	if u, err := url.Parse(dsn); err == nil && strings.HasPrefix(u.Scheme, "postgres") {
		u.Path = "/" + name
		return u.String()
	}
	return dsn + " dbname=" + name // the last one holds
}

// database makes a database, which goes with the test.
func database(tb testing.TB, dsn string) (*pgxpool.Pool, error) {
	ctx, cancel := context.WithTimeout(context.Background(), time.Minute)
	defer cancel()
	admin, err := pgxpool.New(ctx, dsn)
	if err != nil {
		return nil, err
	}
	name := "firqtest_" + strings.ToLower(rand.Text())
	if _, err := admin.Exec(ctx, "create database "+name); err != nil {
		admin.Close()
		return nil, err
	}
	pool, err := pgxpool.New(ctx, within(dsn, name)) // so that its ConnString is the database's
	if err != nil {
		admin.Close()
		return nil, fmt.Errorf("database %s: %w", name, err)
	}
	tb.Cleanup(func() {
		pool.Close()
		ctx, cancel := context.WithTimeout(context.Background(), time.Minute)
		defer cancel()
		_, _ = admin.Exec(ctx, "drop database if exists "+name+" with (force)")
		admin.Close()
	})
	return pool, nil
}
