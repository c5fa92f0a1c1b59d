package firqnats

import (
	"errors"
	"fmt"
	"sync/atomic"
	"testing"

	"github.com/firq-go/firq"
	"github.com/firq-go/firq/actor"
)

func observe(t testing.TB, n *testNode) *Observer {
	t.Helper()
	return must(Observe(bounded(t), n.nc, n.o.Cluster))(t)
}

// An Observer sees what nodes and actors there are, and what they have saved, without being a node.
func TestObserver(t *testing.T) {
	o := options(t)
	o.Name, o.Place = "a", Local
	a := join(t, o)
	k := kind(t, a)
	o.Name = "b"
	b := join(t, o)
	kind(t, b)
	see(t, a, b)
	ctx := bounded(t)
	keys := []string{"x", "", "a key/with.all * of > it"}
	for i, key := range keys {
		must(keep.Call(ctx, k.Ref(key), i+1))(t)
	}
	must(add.Call(ctx, k.Ref("unsaved"), 1))(t)

	x := observe(t, b)
	if x.Lease() != o.Lease || x.Codec() != "firqnats.jsonCodec" {
		t.Errorf("lease %v, codec %s", x.Lease(), x.Codec())
	}
	names := map[string]Member{}
	for _, m := range must(x.Members(ctx))(t) {
		names[m.Name] = m
	}
	if m := names["a"]; len(names) != 2 || m.ID != a.ID() || fmt.Sprint(m.Kinds) != "[tally]" || m.Silent > patience || m.Leaving {
		t.Errorf("members %+v", names)
	}
	for i, key := range keys {
		id := actor.Identity{Kind: "tally", Key: key}
		if node := must(x.Where(ctx, id))(t); node != a.ID() {
			t.Errorf("%v is at %q", id, node)
		}
		if r := must(x.Record(ctx, id))(t); r.Identity != id || r.Node != a.ID() || !r.Saved || string(r.State) != fmt.Sprint(i+1) || r.Revision == 0 {
			t.Errorf("record %+v", r)
		}
	}
	if r := must(x.Record(ctx, actor.Identity{Kind: "tally", Key: "none"}))(t); r.Revision != 0 || r.Saved || r.Node != "" {
		t.Errorf("no record is %+v", r)
	}
	all, saved, active := 0, 0, 0
	for r, err := range x.Records(ctx, "") {
		if err != nil || r.Kind != "tally" {
			t.Fatal(r, err)
		}
		all++
		if r.Saved {
			saved++
		}
	}
	for i, err := range x.Actors(ctx, "tally") {
		if err != nil || i.Node != a.ID() {
			t.Fatal(i, err)
		}
		active++
	}
	for r, err := range x.Records(ctx, "other") {
		t.Errorf("record of a kind that is not there: %+v, %v", r, err)
	}
	if all != 4 || saved != 3 || active != 4 {
		t.Errorf("%d records, %d of them with a state; %d actors", all, saved, active)
	}
	if n := len(b.Members()); n != 2 {
		t.Errorf("the observer is a member: %d", n)
	}
	if _, err := Observe(ctx, a.nc, "nowhere"); !errors.Is(err, ErrNotFound) {
		t.Errorf("a cluster that is not there: %v", err)
	}
	if _, err := Observe(ctx, a.nc, "no.name"); !errors.Is(err, firq.ErrInvalidConfig) {
		t.Errorf("a name that is none: %v", err)
	}
}

// A node that died without a word leaves its record, and those of its actors, until others see it.
func TestObserverSeesDeath(t *testing.T) {
	t.Parallel()
	o := options(t)
	o.Place = Local
	a := join(t, o)
	must(keep.Call(bounded(t), kind(t, a).Ref("x"), 1))(t)
	id := a.ID()
	b := join(t, o)
	x := observe(t, b)
	a.nc.Close()
	ctx := bounded(t)
	eventually(t, "the node is gone", func() bool { return len(must(x.Members(ctx))(t)) == 1 })
	who := actor.Identity{Kind: "tally", Key: "x"}
	if node := must(x.Where(ctx, who))(t); node != "" {
		t.Errorf("an actor of a dead node is at %q", node)
	}
	if r := must(x.Record(ctx, who))(t); r.Node != id || string(r.State) != "1" {
		t.Errorf("the record says %q, not %q, and its state is %q", r.Node, id, r.State)
	}
}

// A node is drained under load: no call fails, from it or from elsewhere, none of its actors stays, and none
// comes.
func TestDrain(t *testing.T) {
	t.Parallel()
	o := options(t)
	a, b := join(t, o), join(t, o)
	ka, kb := kind(t, a), kind(t, b)
	see(t, a, b)
	ctx := bounded(t)
	var calls atomic.Int64
	stop, over := make(chan struct{}), make(chan error, 2)
	for _, k := range []*Kind[*tally]{ka, kb} {
		go func() {
			for i := 0; ; i++ {
				if _, err := keep.Call(ctx, k.Ref(fmt.Sprint(i%20)), 1); err != nil {
					over <- err
					return
				}
				calls.Add(1)
				select {
				case <-stop:
					over <- nil
					return
				default:
				}
			}
		}()
	}
	eventually(t, "both nodes have actors", func() bool {
		return a.Stats().Activations > 0 && b.Stats().Activations > 0 && calls.Load() > 100
	})
	x, begun := observe(t, b), 0
	if err := x.Drain(ctx, a.ID(), func(n int) { begun = n }); err != nil {
		t.Fatal(err)
	}
	if n := a.Stats().Activations; n != 0 || begun == 0 {
		t.Errorf("%d actors are left of %d", n, begun)
	}
	before := calls.Load()
	eventually(t, "calls go on", func() bool { return calls.Load() > before+200 })
	close(stop)
	for range 2 {
		if err := <-over; err != nil {
			t.Error(err)
		}
	}
	sum := 0
	for i := range 20 {
		sum += must(keep.Call(ctx, ka.Ref(fmt.Sprint(i)), 0))(t)
	}
	if int64(sum) != calls.Load() {
		t.Errorf("%d are saved of %d", sum, calls.Load())
	}
	if n := a.Stats().Activations; n != 0 {
		t.Errorf("%d actors came to the drained node", n)
	}
	for _, m := range must(x.Members(ctx))(t) {
		if m.Leaving != (m.ID == a.ID()) {
			t.Errorf("member %+v", m)
		}
	}
	if err := x.Drain(ctx, a.ID(), func(n int) { begun = n }); err != nil || begun != 0 {
		t.Errorf("the second time: %d actors, %v", begun, err)
	}
	if err := x.Drain(ctx, "nobody", nil); !errors.Is(err, ErrNotFound) {
		t.Errorf("a node that is not there: %v", err)
	}
	if err := a.Leave(ctx); err != nil {
		t.Error(err)
	}
	eventually(t, "it has left", func() bool { return len(must(x.Members(ctx))(t)) == 1 })
	if _, err := keep.Call(ctx, ka.Ref("0"), 1); !errors.Is(err, actor.ErrStopped) || !errors.Is(err, actor.ErrNotSent) {
		t.Errorf("after Leave: %v", err)
	}
}
