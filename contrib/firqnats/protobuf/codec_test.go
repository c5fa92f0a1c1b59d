package protobuf_test

import (
	"context"
	"errors"
	"log/slog"
	"reflect"
	"strings"
	"testing"
	"time"

	"go.uber.org/goleak"
	"google.golang.org/protobuf/proto"
	"google.golang.org/protobuf/types/known/durationpb"
	"google.golang.org/protobuf/types/known/wrapperspb"

	"github.com/firq-go/firq/actor"
	"github.com/firq-go/firq/contrib/firqnats"
	"github.com/firq-go/firq/contrib/firqnats/embedded"
	"github.com/firq-go/firq/contrib/firqnats/protobuf"
)

func TestMain(m *testing.M) { goleak.VerifyTestMain(m) }

func must[V any](v V, err error) func(testing.TB) V {
	return func(t testing.TB) V {
		t.Helper()
		if err != nil {
			t.Fatal(err)
		}
		return v
	}
}

func TestCodec(t *testing.T) {
	c := protobuf.Codec{}
	sent := wrapperspb.String("a")
	b := must(c.Encode(sent))(t)
	if want := must(proto.Marshal(sent))(t); string(b) != string(want) {
		t.Errorf("encoded as %q, the message is %q", b, want)
	}
	var pointer *wrapperspb.StringValue // as for a method of *wrapperspb.StringValue
	if err := c.Decode(b, &pointer); err != nil || !proto.Equal(pointer, sent) {
		t.Errorf("pointer: %v, %v", pointer, err)
	}
	into := wrapperspb.String("b")
	if err := c.Decode(b, into); err != nil || !proto.Equal(into, sent) {
		t.Errorf("message: %v, %v", into, err)
	}
	var none *wrapperspb.StringValue
	if b, err := c.Encode(none); err != nil || c.Decode(b, &pointer) != nil || pointer == nil || pointer.Value != "" {
		t.Errorf("nil is %q, %v, and arrives as %v", b, err, pointer)
	}
	for _, v := range []any{1, "x", []string{"a"}, map[string]int{"a": 1}, struct{ A *int }{}, nil} {
		b := must(c.Encode(v))(t)
		if v == nil {
			continue
		}
		got := reflect.New(reflect.TypeOf(v))
		if err := c.Decode(b, got.Interface()); err != nil || !reflect.DeepEqual(got.Elem().Interface(), v) {
			t.Errorf("%v: as %s, decoded as %v, %v", v, b, got.Elem(), err)
		}
	}
	value := reflect.ValueOf(sent).Elem().Interface() // the linter forbids to copy it
	if _, err := c.Encode(value); err == nil || !strings.Contains(err.Error(), "use a pointer") {
		t.Errorf("a message by value: %v", err)
	}
	var any proto.Message
	if err := c.Decode(b, &any); err == nil || !strings.Contains(err.Error(), "which message") {
		t.Errorf("any message: %v", err)
	}
	if err := c.Decode([]byte{0xff}, &pointer); err == nil {
		t.Error("what is no message is decoded")
	}
}

// timer is an actor whose requests, replies and state are messages.
type timer struct {
	total *firqnats.State[*durationpb.Duration]
}

var (
	add = actor.NewMethod("Add", func(a *timer, c *actor.Ctx, d *durationpb.Duration) (*durationpb.Duration, error) {
		a.total.Value = durationpb.New(a.total.Value.AsDuration() + d.AsDuration())
		return a.total.Value, a.total.Save(c)
	})
	end  = actor.NewAction("End", func(_ *timer, c *actor.Ctx, _ actor.Nothing) error { c.Stop(nil); return nil })
	name = actor.NewMethod("Name", func(_ *timer, c *actor.Ctx, prefix string) (string, error) { return prefix + c.Name(), nil })
)

// Messages, what is none, and states go between nodes; a node with another Codec is refused.
func TestCluster(t *testing.T) {
	srv := must(embedded.Start(embedded.Options{}))(t)
	t.Cleanup(srv.Close)
	ctx, cancel := context.WithTimeout(context.Background(), 30*time.Second)
	defer cancel()
	join := func(o firqnats.Options) (*firqnats.Node, error) {
		o.Lease, o.Logger = time.Second, slog.New(slog.DiscardHandler)
		nc := must(srv.Connect())(t)
		sys := must(actor.New(actor.Config{}))(t)
		n, err := firqnats.Join(ctx, nc, sys, o)
		t.Cleanup(func() {
			if n != nil {
				ctx, cancel := context.WithTimeout(context.Background(), 5*time.Second)
				defer cancel()
				_ = n.Leave(ctx)
			}
			_ = sys.Close()
			nc.Close()
		})
		return n, err
	}
	host := must(join(firqnats.Options{Codec: protobuf.Codec{}}))(t)
	_ = must(firqnats.NewKind(host, "timer", func(c *actor.Ctx, _ string) (*timer, error) {
		total, err := firqnats.Load[*durationpb.Duration](c)
		return &timer{total}, err
	}, []actor.AnyMethod[*timer]{add, end, name}))(t)
	client := must(join(firqnats.Options{Codec: protobuf.Codec{}, Client: true}))(t)
	ref := must(firqnats.NewKind[*timer](client, "timer", nil, nil))(t).Ref("x")
	for i := 1; i <= 3; i++ {
		if d := must(add.Call(ctx, ref, durationpb.New(time.Minute)))(t); d.AsDuration() != time.Duration(i)*time.Minute {
			t.Errorf("call %d: %v", i, d)
		}
		if _, err := end.Call(ctx, ref, actor.Nothing{}); err != nil { // the next one has the saved state
			t.Fatal(err)
		}
	}
	if s := must(name.Call(ctx, ref, "> "))(t); s != "> timer/x" {
		t.Errorf("as JSON: %q", s)
	}
	if n, err := join(firqnats.Options{}); !errors.Is(err, firqnats.ErrMismatch) || n != nil {
		t.Errorf("another Codec: %v", err)
	}
}
