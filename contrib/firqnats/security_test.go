package firqnats

import (
	"context"
	"errors"
	"os"
	"path/filepath"
	"regexp"
	"strings"
	"sync"
	"testing"
	"time"

	"github.com/nats-io/nats-server/v2/server"
	"github.com/nats-io/nats.go"

	"github.com/firq-go/firq/actor"
)

// documented is the server's configuration in docs/cluster.md, and the port 0 that it does not have.
func documented(t *testing.T) *server.Options {
	t.Helper()
	text, err := os.ReadFile(filepath.Join("..", "..", "docs", "cluster.md"))
	if errors.Is(err, os.ErrNotExist) {
		t.Skip("the documentation is not here")
	}
	conf := regexp.MustCompile("(?s)```text\n(accounts .*?)```").FindSubmatch(must(text, err)(t))
	if conf == nil {
		t.Fatal("docs/cluster.md has no configuration")
	}
	name := filepath.Join(t.TempDir(), "nats.conf")
	text = []byte(strings.ReplaceAll(string(conf[1]), "shop", options(t).Cluster))
	if err := os.WriteFile(name, text, 0o600); err != nil {
		t.Fatal(err)
	}
	o := must(server.ProcessConfigFile(name))(t)
	o.Host, o.Port, o.StoreDir, o.NoSigs, o.NoLog = "127.0.0.1", -1, t.TempDir(), true, true
	return o
}

// user is a node with the rights of a user. refused are the subjects that it was refused.
func user(t *testing.T, url, name string, o Options) (n *testNode, refused func() []string) {
	t.Helper()
	var mu sync.Mutex
	var list []string
	nc := must(nats.Connect(url, nats.UserInfo(name, name+"-secret"), nats.ErrorHandler(func(_ *nats.Conn, _ *nats.Subscription, err error) {
		mu.Lock()
		defer mu.Unlock()
		list = append(list, err.Error())
	})))(t)
	sys := must(actor.New(actor.Config{Logger: o.Logger}))(t)
	n = &testNode{must(Join(bounded(t), nc, sys, o))(t), nc, sys}
	t.Cleanup(func() {
		_ = n.Leave(bounded(t))
		_ = sys.Close()
		nc.Close()
	})
	return n, func() []string { mu.Lock(); defer mu.Unlock(); return list }
}

// With the rights of the documentation a node does all that it needs, and a sender calls the kind that it
// may, and no other, and writes no state.
func TestPermissions(t *testing.T) {
	t.Parallel()
	srv := must(server.NewServer(documented(t)))(t)
	srv.Start()
	t.Cleanup(func() { srv.Shutdown(); srv.WaitForShutdown() })
	if !srv.ReadyForConnections(patience) {
		t.Fatal("the server is not ready")
	}
	ctx, o := bounded(t), options(t)
	a, refusedA := user(t, srv.ClientURL(), "node", o)
	b, refusedB := user(t, srv.ClientURL(), "node", o)
	var last *Kind[*tally] // of carts, at b
	for _, n := range []*testNode{a, b} {
		for _, name := range []string{"invoice", "cart"} {
			last = must(NewKind(n.Node, name, func(c *actor.Ctx, key string) (*tally, error) {
				st, err := Load[int](c)
				return &tally{st: st, key: key}, err
			}, methods))(t)
		}
	}
	o.Client = true
	web, refused := user(t, srv.ClientURL(), "web", o)
	carts := must(NewKind[*tally](web.Node, "cart", nil, nil))(t)
	invoices := must(NewKind[*tally](web.Node, "invoice", nil, nil))(t)
	eventually(t, "all are known to all", func() bool {
		return len(a.Members()) == 3 && len(b.Members()) == 3 && len(web.candidates("cart")) == 2
	})
	for i, key := range []string{"x", "y", "z", "x"} {
		if got, err := keep.Call(ctx, carts.Ref(key), 1); got != 1+i/3 || err != nil {
			t.Fatal(got, err)
		}
	}
	actors := 0
	for _, err := range a.Actors(ctx, "cart") { // all answer, the sender too
		if actors++; err != nil {
			t.Error(err)
		}
	}
	if actors != 3 {
		t.Errorf("%d actors", actors)
	}
	if err := Post(ctx, last, "posted", keep, 5, PostOptions{Name: "five"}); err != nil {
		t.Error(err)
	}
	eventually(t, "what was posted is handled", func() bool {
		got, err := keep.Call(ctx, carts.Ref("posted"), 0)
		return got == 5 && err == nil
	})
	if err := b.Leave(ctx); err != nil { // what it had goes to the other node
		t.Error(err)
	}
	if got, err := keep.Call(ctx, carts.Ref("x"), 1); got != 3 || err != nil {
		t.Error(got, err)
	}
	if all := append(append(refusedA(), refusedB()...), refused()...); len(all) > 0 {
		t.Errorf("something was refused that is needed: %q", all)
	}

	short, cancel := context.WithTimeout(ctx, 300*time.Millisecond)
	defer cancel()
	if _, err := keep.Call(short, invoices.Ref("x"), 1); !errors.Is(err, context.DeadlineExceeded) {
		t.Errorf("a call of a kind that it may not call: %v", err)
	}
	for _, subject := range []string{"$KV.firq_" + o.Cluster + ".a.cart.x", "$JS.API.STREAM.DELETE.KV_firq_" + o.Cluster, "$JS.API.STREAM.PURGE.KV_firq_" + o.Cluster} {
		if m, err := web.nc.Request(subject, []byte("{}"), 100*time.Millisecond); err == nil {
			t.Errorf("%s was answered: %s", subject, m.Data)
		}
	}
	eventually(t, "it hears that four subjects are refused", func() bool { return len(refused()) >= 4 })
	if at, err := a.Where(ctx, actor.Identity{Kind: "invoice", Key: "x"}); at != "" || err != nil {
		t.Errorf("the actor that was called without the right to is at %q, %v", at, err)
	}
	if got, err := keep.Call(ctx, carts.Ref("x"), 0); got != 3 || err != nil {
		t.Error(got, err)
	}
}

// Join needs no deadline.
func TestJoinWithoutDeadline(t *testing.T) {
	ctx, cancel := context.WithCancel(context.Background())
	defer time.AfterFunc(patience, cancel).Stop()
	defer cancel()
	nc := must(shared(t).Connect())(t)
	defer nc.Close()
	sys := must(actor.New(actor.Config{}))(t)
	defer func() { _ = sys.Close() }()
	n := must(Join(ctx, nc, sys, options(t)))(t)
	if list := n.Members(); len(list) != 1 || list[0].ID != n.ID() {
		t.Errorf("%+v", list)
	}
	if err := n.Leave(ctx); err != nil {
		t.Error(err)
	}
}

// A connection without the rights: Join says what it was refused.
func TestJoinWithoutRights(t *testing.T) {
	no := &server.Permissions{Publish: &server.SubjectPermission{Deny: []string{"$JS.API.>"}}}
	s := must(server.NewServer(&server.Options{Host: "127.0.0.1", Port: -1, JetStream: true, StoreDir: t.TempDir(), NoSigs: true, NoLog: true,
		Users: []*server.User{{Username: "web", Password: "secret", Permissions: no}}}))(t)
	s.Start()
	defer func() { s.Shutdown(); s.WaitForShutdown() }()
	if !s.ReadyForConnections(patience) {
		t.Fatal("the server does not start")
	}
	nc := must(nats.Connect(s.ClientURL(), nats.UserInfo("web", "secret"), nats.ErrorHandler(func(*nats.Conn, *nats.Subscription, error) {})))(t)
	defer nc.Close()
	sys := must(actor.New(actor.Config{}))(t)
	defer func() { _ = sys.Close() }()
	ctx, end := context.WithTimeout(bounded(t), 300*time.Millisecond)
	defer end()
	if _, err := Join(ctx, nc, sys, options(t)); !errors.Is(err, nats.ErrPermissionViolation) || !errors.Is(err, context.DeadlineExceeded) || !strings.Contains(err.Error(), "$JS.API.") {
		t.Error(err)
	}
}
