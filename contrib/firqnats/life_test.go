package firqnats

import (
	"context"
	"errors"
	"fmt"
	"runtime"
	"testing"
	"time"

	"github.com/nats-io/nats.go"

	"github.com/firq-go/firq/actor"
	"github.com/firq-go/firq/contrib/firqnats/embedded"
)

// crash ends a node as the death of its process would: it says nothing more.
func (n *testNode) crash() { n.nc.Close() }

func TestNodeDies(t *testing.T) {
	o := options(t)
	o.Lease = 500 * time.Millisecond
	lost := make(chan error, 10)
	a, b := join(t, o), join(t, o)
	kind(t, a)
	kind(t, b)
	see(t, a, b)
	o.OnLost = func(id actor.Identity, method string, err error) { lost <- fmt.Errorf("%v %s: %w", id, method, err) }
	k := client(t, o)
	ctx := bounded(t)
	for i := range 20 {
		must(keep.Call(ctx, k.Ref(fmt.Sprint(i)), 1))(t)
	}
	open := make(chan struct{})
	defer close(open)
	begun := make(chan struct{})
	block := program(t, "block", func(*tally, *actor.Ctx) (string, error) { close(begun); <-open; return "", nil })
	key := ""
	for i := range 20 {
		if at := must(a.Where(ctx, actor.Identity{Kind: "tally", Key: fmt.Sprint(i)}))(t); at == a.ID() {
			key = fmt.Sprint(i)
		}
	}
	f := run.Start(ctx, k.Ref(key), block)
	<-begun
	a.crash()
	if err := add.Tell(ctx, k.Ref(key), 0); err != nil {
		t.Fatal(err)
	}
	if _, err := f.Wait(ctx); !errors.Is(err, ErrLost) || errors.Is(err, actor.ErrNotSent) {
		t.Error("a call in progress:", err)
	}
	for i := range 20 {
		if got, err := keep.Call(ctx, k.Ref(fmt.Sprint(i)), 1); got != 2 || err != nil {
			t.Errorf("%d: %d, %v", i, got, err)
		}
	}
	if b.Stats().Activations != 20 {
		t.Errorf("%+v", b.Stats())
	}
	eventually(t, "the dead node is no member", func() bool { return len(b.Members()) == 2 })
}

// An activation has no goroutine: that would be most of its memory.
func TestActivationsHaveNoGoroutines(t *testing.T) {
	const actors = 200
	n := join(t, options(t))
	k := kind(t, n)
	ctx := bounded(t)
	must(add.Call(ctx, k.Ref("first"), 1))(t)
	before := runtime.NumGoroutine()
	for i := range actors {
		must(add.Call(ctx, k.Ref(fmt.Sprint(i)), 1))(t)
	}
	eventually(t, "the goroutines of the starts have ended", func() bool { return runtime.NumGoroutine() < before+actors/2 })
	if got := n.Stats().Activations; got != actors+1 {
		t.Errorf("%d activations", got)
	}
}

// A node that others took for dead ends its actors, and joins again.
func TestFenced(t *testing.T) {
	o := options(t)
	a := join(t, o)
	k := kind(t, a)
	ctx := bounded(t)
	must(keep.Call(ctx, k.Ref("x"), 1))(t)
	must(add.Call(ctx, k.Ref("y"), 1))(t)
	ref, ok := actor.Lookup[*tally](a.sys, "tally/x")
	if !ok {
		t.Fatal("no actor")
	}
	old := a.ID()
	a.renewing <- struct{}{}
	rev := a.life.Load().rev
	a.renewing.free()
	if err := a.remove(ctx, keyNode+old, rev); err != nil {
		a.renewing <- struct{}{} // it has renewed in between
		rev = a.life.Load().rev
		err = a.remove(ctx, keyNode+old, rev)
		a.renewing.free()
		if err != nil {
			t.Fatal(err)
		}
	}
	select {
	case <-ref.Done():
	case <-ctx.Done():
		t.Fatal("its actor does not end")
	}
	if !errors.Is(ref.Err(), ErrFenced) {
		t.Error("the actor's Err:", ref.Err())
	}
	eventually(t, "it has a new life", func() bool { return a.ID() != old && a.life.Load().holds() })
	if got, err := keep.Call(ctx, k.Ref("x"), 1); got != 2 || err != nil {
		t.Errorf("afterwards: %d, %v", got, err)
	}
	if s := a.Stats(); s.Fenced != 1 {
		t.Errorf("%+v", s)
	}
	if m := a.Members(); len(m) != 1 || m[0].ID != a.ID() || !m[0].Self {
		t.Errorf("%+v", m)
	}
}

// An activation that is none any more cannot save.
func TestZombie(t *testing.T) {
	o := options(t)
	a := join(t, o)
	k := kind(t, a)
	ctx := bounded(t)
	must(keep.Call(ctx, k.Ref("x"), 1))(t)
	ref, _ := actor.Lookup[*tally](a.sys, "tally/x")
	id := actor.Identity{Kind: "tally", Key: "x"}
	_, state, rev, err := a.readRecord(ctx, id)
	if err != nil {
		t.Fatal(err)
	}
	b, _ := head{Node: "other", Activation: "other/1", Saved: true}.record(state)
	if _, err := a.kv.Update(ctx, recordKey(id), b, rev); err != nil {
		t.Fatal(err)
	}
	if _, err := keep.Call(ctx, k.Ref("x"), 1); !errors.Is(err, ErrFenced) {
		t.Error("a save:", err)
	}
	select {
	case <-ref.Done():
	case <-time.After(patience / 3):
		t.Fatal("it does not end")
	}
	if !errors.Is(ref.Err(), ErrFenced) {
		t.Error(ref.Err())
	}
	if got, err := keep.Call(ctx, k.Ref("x"), 0); got != 1 || err != nil {
		t.Errorf("saved is %d, %v", got, err)
	}
}

// A node that cannot renew rests after two thirds of the lease, and goes on where it was.
func TestServerAway(t *testing.T) {
	dir := t.TempDir()
	srv := must(embedded.Start(embedded.Options{Dir: dir, Port: -1}))(t)
	t.Cleanup(func() { srv.Close() }) // the one that is last, after the nodes have left
	var port int
	if _, err := fmt.Sscanf(srv.URL()[len("nats://127.0.0.1:"):], "%d", &port); err != nil {
		t.Fatal(err)
	}
	o := options(t)
	o.Lease = 300 * time.Millisecond
	connect := func(o Options) *testNode {
		nc := must(nats.Connect(srv.URL(), nats.MaxReconnects(-1), nats.ReconnectWait(10*time.Millisecond)))(t)
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
	a, b := connect(o), connect(o)
	ka := kind(t, a)
	kind(t, b)
	see(t, a, b)
	ctx := bounded(t)
	for i := range 20 {
		must(keep.Call(ctx, ka.Ref(fmt.Sprint(i)), 1))(t)
	}
	before := a.Stats().Activated + b.Stats().Activated
	srv.Close()
	eventually(t, "the nodes rest", func() bool { return !a.life.Load().holds() && !b.life.Load().holds() })
	short, cancel := context.WithTimeout(ctx, 20*time.Millisecond)
	defer cancel()
	if _, err := add.Call(short, ka.Ref("0"), 1); !errors.Is(err, context.DeadlineExceeded) || !errors.Is(err, actor.ErrNotSent) {
		t.Error("a call to a node that rests:", err)
	}
	_ = nap(ctx, 2*o.Lease)
	srv = must(embedded.Start(embedded.Options{Dir: dir, Port: port}))(t)
	for i := range 20 {
		if got, err := keep.Call(ctx, ka.Ref(fmt.Sprint(i)), 1); got != 2 || err != nil {
			t.Errorf("%d: %d, %v", i, got, err)
		}
	}
	if after := a.Stats().Activated + b.Stats().Activated; after != before || a.Stats().Fenced+b.Stats().Fenced > 0 {
		t.Errorf("%d activations instead of %d; %+v, %+v", after, before, a.Stats(), b.Stats())
	}
}

func TestRebalance(t *testing.T) {
	o := options(t)
	o.Lease, o.Rebalance = 200*time.Millisecond, 1
	a := join(t, o)
	ka := kind(t, a)
	ctx := bounded(t)
	for i := range 200 {
		must(keep.Call(ctx, ka.Ref(fmt.Sprint(i)), 1))(t)
	}
	b := join(t, o)
	kind(t, b)
	see(t, a, b)
	eventually(t, "the new node has some", func() bool {
		for i := range 200 {
			must(keep.Call(ctx, ka.Ref(fmt.Sprint(i)), 0))(t)
		}
		return b.Stats().Activations >= 10
	})
	for i := range 200 {
		if got := must(keep.Call(ctx, ka.Ref(fmt.Sprint(i)), 0))(t); got != 1 {
			t.Errorf("%d: %d", i, got)
		}
	}
}
