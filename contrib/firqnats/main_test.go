package firqnats

import (
	"context"
	"fmt"
	"log/slog"
	"os"
	"slices"
	"strings"
	"sync"
	"testing"
	"time"

	"github.com/nats-io/nats.go"
	"go.uber.org/goleak"

	"github.com/firq-go/firq/actor"
	"github.com/firq-go/firq/contrib/firqnats/embedded"
)

// TestMain runs the tests, and looks for goroutines that they left.
func TestMain(m *testing.M) {
	child()
	code := m.Run()
	if sharedServer != nil {
		sharedServer.Close()
	}
	if code == 0 {
		if err := goleak.Find(); err != nil {
			fmt.Fprintln(os.Stderr, err)
			code = 1
		}
	}
	os.Exit(code)
}

// patience is how long a test may take before it fails by itself.
const patience = 30 * time.Second

// bounded returns a context that ends after patience.
func bounded(t testing.TB) context.Context {
	ctx, cancel := context.WithTimeout(context.Background(), patience)
	t.Cleanup(cancel)
	return ctx
}

var (
	sharedServer *embedded.Server
	startShared  sync.Once
)

// shared returns the server of all tests that do not harm it.
func shared(t testing.TB) *embedded.Server {
	t.Helper()
	startShared.Do(func() { sharedServer = must(embedded.Start(embedded.Options{}))(t) })
	if sharedServer == nil {
		t.Fatal("the shared server did not start")
	}
	return sharedServer
}

// must returns a value whose error ends the test.
func must[V any](v V, err error) func(testing.TB) V {
	return func(t testing.TB) V {
		t.Helper()
		if err != nil {
			t.Fatal(err)
		}
		return v
	}
}

// testNode is a node of a test, with all that it stands on.
type testNode struct {
	*Node
	nc  *nats.Conn
	sys *actor.System
}

// options of a test's nodes: a cluster by itself.
func options(t testing.TB) Options {
	return Options{
		Cluster: strings.NewReplacer("/", "_", "#", "_", "=", "_").Replace(t.Name()), Lease: time.Second, Timeout: 10 * time.Second,
		Logger: slog.New(slog.NewTextHandler(testWriter{t}, nil)),
	}
}

type testWriter struct{ t testing.TB }

func (w testWriter) Write(b []byte) (int, error) {
	if testing.Verbose() {
		fmt.Fprintf(os.Stderr, "%s: %s", w.t.Name(), b)
	}
	return len(b), nil
}

// urlEnv is the address of a server that takes the place of the shared one.
const urlEnv = "FIRQNATS_TEST_URL"

func connect(srv *embedded.Server, opts ...nats.Option) (*nats.Conn, error) {
	if url := os.Getenv(urlEnv); url != "" && srv == sharedServer {
		return nats.Connect(url, opts...)
	}
	return srv.Connect(opts...)
}

// joinAt makes a node on a server. It leaves when the test ends.
func joinAt(t testing.TB, srv *embedded.Server, o Options, with ...nats.Option) *testNode {
	t.Helper()
	return joinBy(t, must(connect(srv, append(slices.Clone(steady), with...)...))(t), o)
}

// steady are the options of a node's connection.
var steady = []nats.Option{nats.MaxReconnects(-1), nats.ReconnectWait(20 * time.Millisecond)}

// joinBy makes a node of a connection, which it closes. It leaves when the test ends.
func joinBy(t testing.TB, nc *nats.Conn, o Options) *testNode {
	t.Helper()
	sys := must(actor.New(actor.Config{Logger: o.Logger}))(t)
	n := must(Join(bounded(t), nc, sys, o))(t)
	t.Cleanup(func() {
		ctx, cancel := context.WithTimeout(context.Background(), 5*time.Second)
		defer cancel()
		_ = n.Leave(ctx)
		_ = sys.Close()
		nc.Close()
	})
	return &testNode{n, nc, sys}
}

func join(t testing.TB, o Options) *testNode {
	t.Helper()
	return joinAt(t, shared(t), o)
}

// tally is the state of the tests' actors.
type tally struct {
	n   int
	key string
	st  *State[int]
}

var (
	add    = actor.NewMethod("Add", func(s *tally, _ *actor.Ctx, by int) (int, error) { s.n += by; return s.n, nil })
	keep   = actor.NewMethod("Keep", func(s *tally, c *actor.Ctx, by int) (int, error) { s.st.Value += by; return s.st.Value, s.st.Save(c) })
	clearM = actor.NewAction("Clear", func(s *tally, c *actor.Ctx, _ actor.Nothing) error { s.st.Value = 0; return s.st.Clear(c) })
	end    = actor.NewAction("End", func(_ *tally, c *actor.Ctx, _ actor.Nothing) error { c.Stop(nil); return nil })
	fail   = actor.NewAction("Fail", func(_ *tally, _ *actor.Ctx, how string) error { return failures[how]() })
	fence  = actor.NewMethod("Fence", func(s *tally, _ *actor.Ctx, _ actor.Nothing) (uint64, error) { return s.st.Fence(), nil })
	run    = actor.NewMethod("Run", func(s *tally, c *actor.Ctx, name string) (string, error) {
		f, ok := programs.Load(name)
		if !ok {
			return "", fmt.Errorf("no program %q", name)
		}
		return f.(func(*tally, *actor.Ctx) (string, error))(s, c)
	})
	methods = []actor.AnyMethod[*tally]{add, keep, clearM, end, fail, fence, run}
)

// programs of the method run, by name.
var programs sync.Map

// program makes a handler that run runs by a name that is returned.
func program(t testing.TB, name string, f func(*tally, *actor.Ctx) (string, error)) string {
	name = t.Name() + "/" + name
	programs.Store(name, f)
	t.Cleanup(func() { programs.Delete(name) })
	return name
}

// kind makes the tests' kind known to a node.
func kind(t testing.TB, n *testNode, opts ...actor.Option) *Kind[*tally] {
	t.Helper()
	return must(NewKind(n.Node, "tally", func(c *actor.Ctx, key string) (*tally, error) {
		st, err := Load[int](c)
		return &tally{st: st, key: key}, err
	}, methods, opts...))(t)
}

// client returns the kind of a node that holds no actors.
func client(t testing.TB, o Options) *Kind[*tally] {
	t.Helper()
	o.Client = true
	return must(NewKind[*tally](join(t, o).Node, "tally", nil, nil))(t)
}

// eventually waits until f returns true.
func eventually(t testing.TB, what string, f func() bool) {
	t.Helper()
	for ctx := bounded(t); !f(); {
		if nap(ctx, 2*time.Millisecond) != nil {
			t.Fatalf("not in %v: %s", patience, what)
		}
	}
}

// see waits until nodes know each other, and that they have the tests' kind.
func see(t testing.TB, nodes ...*testNode) {
	t.Helper()
	for _, n := range nodes {
		eventually(t, "all nodes are known", func() bool { return len(n.candidates("tally")) == len(nodes) })
	}
}
