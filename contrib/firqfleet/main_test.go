package firqfleet

import (
	"context"
	"flag"
	"fmt"
	"math/rand/v2"
	"net"
	"os"
	"os/exec"
	"strconv"
	"strings"
	"sync"
	"testing"
	"time"

	"github.com/alicebob/miniredis/v2"
	"github.com/redis/go-redis/v9"
	"go.uber.org/goleak"

	"github.com/firq-go/firq/gate"
)

// patience is how long a test may take before it fails by itself.
const patience = 20 * time.Second

// TestMain runs the tests, or one process of a fleet, and looks for goroutines that they left.
func TestMain(m *testing.M) {
	if os.Getenv(memberEnv) != "" {
		memberMain()
		return
	}
	flag.Parse()
	if f := flag.Lookup("test.parallel"); f.Value.String() == f.DefValue {
		_ = flag.Set("test.parallel", "8") // most of them wait
	}
	code := m.Run()
	for _, p := range shared {
		p.kill()
	}
	if code == 0 {
		if err := goleak.Find(); err != nil {
			fmt.Fprintln(os.Stderr, err)
			code = 1
		}
	}
	os.Exit(code)
}

// process is a server process.
type process struct {
	binary, dir string
	port        int
	args        []string
	cmd         *exec.Cmd
}

func (p *process) addr() string { return "127.0.0.1:" + strconv.Itoa(p.port) }

// start starts it, and waits until it answers.
func (p *process) start() error {
	args := append([]string{"--bind", "127.0.0.1", "--port", strconv.Itoa(p.port), "--dir", p.dir, "--save", "", "--loglevel", "warning"}, p.args...)
	p.cmd = exec.Command(p.binary, args...) //nolint:gosec // a name of ours
	if err := p.cmd.Start(); err != nil {
		return err
	}
	c := redis.NewClient(&redis.Options{Addr: p.addr()})
	defer func() { _ = c.Close() }()
	var err error
	for range 500 {
		if err = c.Ping(context.Background()).Err(); err == nil {
			return nil
		}
		time.Sleep(10 * time.Millisecond)
	}
	p.kill()
	return fmt.Errorf("%s on port %d: %w", p.binary, p.port, err)
}

// kill ends it as a crash does.
func (p *process) kill() {
	if p.cmd != nil {
		_ = p.cmd.Process.Kill()
		_ = p.cmd.Wait()
		p.cmd = nil
	}
}

func freePort() int {
	for {
		port := 20_000 + rand.IntN(25_000)
		if listens(port) && listens(port+10_000) {
			return port
		}
	}
}

func listens(port int) bool {
	l, err := net.Listen("tcp", "127.0.0.1:"+strconv.Itoa(port))
	if err == nil {
		_ = l.Close()
	}
	return err == nil
}

// own starts a server for one test. Where none is installed it skips the test, and in CI fails it.
func own(t testing.TB, binary string, args ...string) *process {
	t.Helper()
	if _, err := exec.LookPath(binary); err != nil {
		if os.Getenv("CI") == "true" {
			t.Fatal(err)
		}
		t.Skip(err)
	}
	p := &process{binary: binary, dir: t.TempDir(), port: freePort(), args: args}
	if err := p.start(); err != nil {
		t.Fatal(err)
	}
	t.Cleanup(p.kill)
	return p
}

var (
	sharedMu sync.Mutex
	shared   = map[string]*process{}
	fleets   int // names of fleets, so that tests may share a server
)

// addr returns the address of a server that tests share.
func addr(t testing.TB, binary string) string {
	t.Helper()
	sharedMu.Lock()
	defer sharedMu.Unlock()
	if p := shared[binary]; p != nil {
		return p.addr()
	}
	if _, err := exec.LookPath(binary); err != nil {
		if os.Getenv("CI") == "true" {
			t.Fatal(err)
		}
		t.Skip(err)
	}
	p := &process{binary: binary, dir: os.TempDir(), port: freePort()}
	if err := p.start(); err != nil {
		t.Fatal(err)
	}
	shared[binary] = p
	return p.addr()
}

// each runs a test on an embedded server, on Redis and on Valkey; short, only on Redis where there is Redis, else on
// the embedded server.
func each(t *testing.T, f func(t *testing.T, addr string)) {
	t.Helper()
	t.Parallel()
	_, missing := exec.LookPath("redis-server")
	if !testing.Short() || missing != nil {
		t.Run("embedded", func(t *testing.T) {
			t.Parallel()
			f(t, mini(t))
		})
	}
	for _, binary := range []string{"redis-server", "valkey-server"} {
		if testing.Short() && binary == "valkey-server" {
			continue
		}
		t.Run(binary, func(t *testing.T) {
			t.Parallel()
			f(t, addr(t, binary))
		})
	}
}

// mini starts a miniredis whose time passes.
func mini(t testing.TB) string {
	m := miniredis.NewMiniRedis()
	if err := m.Start(); err != nil {
		t.Fatal(err)
	}
	stop, done := make(chan struct{}), make(chan struct{})
	go func() {
		defer close(done)
		tick := time.NewTicker(10 * time.Millisecond)
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
	return m.Addr()
}

// client returns a client that is closed when the test ends.
func client(t testing.TB, addr string) *redis.Client {
	c := redis.NewClient(&redis.Options{Addr: addr, ReadTimeout: time.Second, MaxRetries: -1})
	t.Cleanup(func() { _ = c.Close() })
	return c
}

// name returns the name of a fleet that no other test has.
func name() string {
	sharedMu.Lock()
	defer sharedMu.Unlock()
	fleets++
	return fmt.Sprint("f", fleets)
}

// join makes a member, which is closed when the test ends.
func join(t testing.TB, addr string, limit int, cfg Config) *Gate {
	t.Helper()
	if cfg.Client == nil {
		cfg.Client = client(t, addr)
	}
	g, err := New(bounded(t), limit, cfg)
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() {
		_ = g.Close()
		select {
		case <-g.done:
		case <-time.After(5 * time.Second):
			t.Errorf("the member does not end: %+v", g.Stats())
		}
	})
	return g
}

func bounded(t testing.TB) context.Context {
	ctx, cancel := context.WithTimeout(context.Background(), patience)
	t.Cleanup(cancel)
	return ctx
}

// get acquires a permit that has to come, and is released when the test ends.
func get(t testing.TB, g gate.Acquirer[string], tenant string, req gate.Request) gate.Permit[string] {
	t.Helper()
	p, err := g.Acquire(bounded(t), tenant, req)
	if err != nil {
		t.Errorf("%s: %v", tenant, err)
	}
	t.Cleanup(p.Release) // a member ends when all are back
	return p
}

// until waits for a state that has to come.
func until(t testing.TB, what string, ok func() bool) {
	t.Helper()
	for end := time.Now().Add(patience); !ok(); time.Sleep(time.Millisecond) {
		if time.Now().After(end) {
			t.Fatalf("not after %v: %s", patience, what)
		}
	}
}

// fleet asks the server.
func fleet(t testing.TB, g *Gate) Fleet {
	t.Helper()
	f, err := g.Fleet(bounded(t))
	if err != nil {
		t.Fatal(err)
	}
	return f
}

// keys returns the server's keys of a fleet and a kind, without the prefix of the fleet.
func keys(t testing.TB, addr, name, kind string) []string {
	t.Helper()
	c := client(t, addr)
	list, err := c.Keys(bounded(t), "ff:{"+name+"}:"+kind+"*").Result()
	if err != nil {
		t.Fatal(err)
	}
	for i := range list {
		list[i] = strings.TrimPrefix(list[i], "ff:{"+name+"}:")
	}
	return list
}
