package firqredis

import (
	"context"
	"flag"
	"fmt"
	"os"
	"testing"
	"time"

	"github.com/alicebob/miniredis/v2"
	"github.com/redis/go-redis/v9"
	"go.uber.org/goleak"

	"github.com/firq-go/firq/queue"
)

// TestMain starts the servers that are installed, runs the tests, and looks for goroutines that they left.
func TestMain(m *testing.M) {
	if os.Getenv(workerEnv) != "" {
		workerMain()
		return
	}
	flag.Parse()
	if f := flag.Lookup("test.parallel"); f.Value.String() == f.DefValue {
		_ = flag.Set("test.parallel", "8") // most of them wait
	}
	stop := startServers()
	code := m.Run()
	stop()
	if code == 0 {
		if err := goleak.Find(); err != nil {
			fmt.Fprintln(os.Stderr, err)
			code = 1
		}
	}
	os.Exit(code)
}

// server is what a test runs on.
type server struct {
	name  string
	addrs []string // several: a cluster
	err   error    // why there is none
}

var (
	redisServer   = &server{name: "redis"}
	valkeyServer  = &server{name: "valkey"}
	clusterServer = &server{name: "cluster"}
)

// each runs a test on its own embedded server, on Redis, on Valkey and on a cluster of three; short, it leaves out
// Valkey, and the embedded server where there is Redis.
func each(t *testing.T, f func(t *testing.T, s *server)) {
	t.Helper()
	t.Parallel()
	onEmbedded(t, f)
	for _, s := range []*server{redisServer, clusterServer, valkeyServer} {
		if s == valkeyServer && testing.Short() {
			continue
		}
		t.Run(s.name, func(t *testing.T) {
			t.Parallel()
			s.need(t)
			f(t, s)
		})
	}
}

// onEmbedded runs a test on its own embedded server; if it is to be short and there is Redis, not at all, as an
// interpreter of Lua under -race takes most of the time.
func onEmbedded(t *testing.T, f func(t *testing.T, s *server)) {
	t.Helper()
	if testing.Short() && redisServer.err == nil {
		return
	}
	t.Run("embedded", func(t *testing.T) {
		t.Parallel()
		f(t, embeddedServer(t))
	})
}

// fast runs a test on the embedded server and on Redis; short, on one of them.
func fast(t *testing.T, f func(t *testing.T, s *server)) {
	t.Helper()
	t.Parallel()
	onEmbedded(t, f)
	t.Run("redis", func(t *testing.T) {
		t.Parallel()
		redisServer.need(t)
		f(t, redisServer)
	})
}

// need skips the test if the server is not installed. Where tests are the gate that is a failure; but Valkey is
// not in every distribution.
func (s *server) need(t testing.TB) {
	t.Helper()
	if s.err == nil {
		return
	}
	if os.Getenv("CI") == "true" {
		t.Fatalf("%s: %v", s.name, s.err)
	}
	t.Skipf("%s: %v", s.name, s.err)
}

// embeddedServer starts a miniredis whose time passes.
func embeddedServer(t testing.TB) *server {
	m := miniredis.NewMiniRedis()
	if err := m.Start(); err != nil {
		t.Fatal(err)
	}
	stop, done := make(chan struct{}), make(chan struct{})
	go func() {
		defer close(done)
		tick := time.NewTicker(5 * time.Millisecond)
		defer tick.Stop()
		for last := time.Now(); ; {
			select {
			case <-stop:
				return
			case now := <-tick.C:
				m.FastForward(now.Sub(last))
				last = now
			}
		}
	}()
	t.Cleanup(func() {
		close(stop)
		<-done
		m.Close()
	})
	return &server{name: "embedded", addrs: []string{m.Addr()}}
}

// client returns a client that is closed when the test ends.
func (s *server) client(t testing.TB) redis.UniversalClient {
	c := redis.NewUniversalClient(&redis.UniversalOptions{Addrs: s.addrs, IsClusterMode: len(s.addrs) > 1, PoolSize: 16, ReadTimeout: patience})
	t.Cleanup(func() { _ = c.Close() })
	return c
}

// much is n, or less where things are slow, or short.
func (s *server) much(n int) int {
	if s.name == "embedded" || testing.Short() {
		return n / 3
	}
	return n
}

// patience is how long a test may take before it fails by itself.
const patience = 60 * time.Second

// bounded returns a context that ends after patience.
func bounded(t testing.TB) context.Context {
	ctx, cancel := context.WithTimeout(context.Background(), patience)
	t.Cleanup(cancel)
	return ctx
}

// closed reports whether a queue is.
func closed[T any](q *Queue[T]) bool {
	select {
	case <-q.Done():
		return true
	default:
		return false
	}
}

// at returns the engine of a queue.
func at[T any](q *Queue[T]) *engine { return q.Engine().(*engine) }

// wanted returns for how many tasks calls wait.
func (f *fetcher) wanted() int {
	f.mu.Lock()
	defer f.mu.Unlock()
	if !f.running {
		return 0
	}
	return f.want()
}

// source returns what a consumer of some tenants fetches from.
func source(c *Consumer[string]) *fetcher { return queue.SourceOf(c).(*fetcher) }

// lease names a delivery for the scripts.
func leaseFor(it *Item[string]) string {
	l := queue.LeaseOf(it)
	return leaseOf(&l)
}
