package firqnats

import (
	"fmt"
	"strings"
	"sync"
	"testing"

	"github.com/nats-io/nats-server/v2/server"
	"github.com/nats-io/nats.go"

	"github.com/firq-go/firq/actor"
)

// Any string is a key: of a call, of a saved state, of a posted message, and where an operator reads.
func TestKeys(t *testing.T) {
	o := options(t)
	host := join(t, o)
	kind(t, host)
	k := client(t, o)
	ctx := bounded(t)
	x := must(Observe(ctx, host.nc, o.Cluster))(t)
	for i, key := range []string{
		"", "a.b", "a b", "*", ">", "$SYS", "=", "=YQ", "~x", "a/b", "\x00\r\n", "\xff\xfe", "zażółć", "-", "_",
		strings.Repeat("x", 64), strings.Repeat("x", 65), strings.Repeat("y", 500), strings.Repeat("z.", 5_000), strings.Repeat("\xff", 10_240),
	} {
		short := fmt.Sprintf("%.20q", key)
		if got, err := keep.Call(ctx, k.Ref(key), 1); got != 1 || err != nil {
			t.Fatalf("%s: %d, %v", short, got, err)
		}
		if got, err := run.Call(ctx, k.Ref(key), program(t, fmt.Sprint(i), func(s *tally, _ *actor.Ctx) (string, error) {
			return fmt.Sprint(s.key == key), nil
		})); got != "true" || err != nil {
			t.Fatalf("%s: the actor has another key: %v", short, err)
		}
		if err := Post(ctx, k, key, keep, 1, PostOptions{Name: key, ID: key}); err != nil {
			t.Fatalf("%s: %v", short, err)
		}
		eventually(t, "the posted message is handled: "+short, func() bool { return must(keep.Call(ctx, k.Ref(key), 0))(t) == 2 })
		id := actor.Identity{Kind: "tally", Key: key}
		if at, err := k.n.Where(ctx, id); at != host.ID() || err != nil {
			t.Errorf("%s: it is at %q, %v", short, at, err)
		}
		if r, err := x.Record(ctx, id); r.Identity != id || string(r.State) != "2" || err != nil {
			t.Errorf("%s: its record: %+.200v, %v", short, r, err)
		}
		seen := false
		for r, err := range x.Records(ctx, "tally") {
			seen = seen || r.Identity == id
			if err != nil {
				t.Fatal(err)
			}
		}
		if !seen {
			t.Errorf("%s: not among the records", short)
		}
		must(end.Call(ctx, k.Ref(key), actor.Nothing{}))(t) // and gives the record back
		if got, err := keep.Call(ctx, k.Ref(key), 0); got != 2 || err != nil {
			t.Errorf("%s, once it is activated again: %d, %v", short, got, err)
		}
	}
	if n := host.nc.Stats().Reconnects + k.n.nc.Stats().Reconnects; n != 0 {
		t.Errorf("the server has thrown the nodes out, %d times", n)
	}
}

// A list of actors whose keys are long takes several messages.
func TestActorsWithLongKeys(t *testing.T) {
	t.Parallel()
	o := options(t)
	host := join(t, o)
	k := kind(t, host)
	ctx := bounded(t)
	const actors = 200
	for i := range actors {
		must(add.Call(ctx, k.Ref(fmt.Sprint(i)+strings.Repeat("x", 10_240)), 1))(t)
	}
	seen := 0
	for _, err := range host.Actors(ctx, "") {
		if err != nil {
			t.Fatal(err)
		}
		seen++
	}
	if seen != actors {
		t.Errorf("%d of %d actors", seen, actors)
	}
}

// A server that allows small messages only: what goes together is small too, and so are errors.
func TestSmallPayload(t *testing.T) {
	s := must(server.NewServer(&server.Options{Host: "127.0.0.1", Port: -1, JetStream: true, StoreDir: t.TempDir(), MaxPayload: 8 << 10, NoSigs: true, NoLog: true}))(t)
	s.Start()
	defer func() { s.Shutdown(); s.WaitForShutdown() }()
	if !s.ReadyForConnections(patience) {
		t.Fatal("the server does not start")
	}
	o := options(t)
	t.Run("", func(t *testing.T) { // the nodes leave before the server ends
		dial := func() *nats.Conn { return must(nats.Connect(s.ClientURL(), steady...))(t) }
		kind(t, joinBy(t, dial(), o))
		o.Client = true
		k := must(NewKind[*tally](joinBy(t, dial(), o).Node, "tally", nil, nil))(t)
		ctx := bounded(t)
		echo := program(t, strings.Repeat("x", 1000), func(*tally, *actor.Ctx) (string, error) { return strings.Repeat("y", 1000), nil })
		var wg sync.WaitGroup
		for i := range 128 {
			wg.Go(func() {
				if got, err := run.Call(ctx, k.Ref(fmt.Sprint(i%4)), echo); len(got) != 1000 || err != nil {
					t.Error(len(got), err)
				}
			})
		}
		wg.Wait()
		talks := program(t, "talks", func(*tally, *actor.Ctx) (string, error) {
			return "", fmt.Errorf("begin %s", strings.Repeat("z", 100_000))
		})
		if _, err := run.Call(ctx, k.Ref("1"), talks); err == nil || !strings.HasPrefix(err.Error(), "begin z") {
			t.Errorf("an error that is long: %.100v", err)
		}
	})
}
