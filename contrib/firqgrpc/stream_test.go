package firqgrpc_test

import (
	"context"
	"errors"
	"io"
	"testing"

	"google.golang.org/grpc"
	"google.golang.org/grpc/codes"
	"google.golang.org/grpc/status"
	"google.golang.org/protobuf/types/known/wrapperspb"

	"github.com/firq-go/firq/contrib/firqgrpc"
	"github.com/firq-go/firq/gate"
)

// echo answers each message with itself, until the client is done; "hold" is
// answered twice, before and after release says so.
func echo(release chan bool) func(grpc.ServerStream) error {
	return func(ss grpc.ServerStream) error {
		for {
			var in text
			if err := ss.RecvMsg(&in); err != nil {
				if errors.Is(err, io.EOF) {
					return nil
				}
				return err
			}
			if err := ss.SendMsg(&in); err != nil {
				return err
			}
			if in.Value != "hold" {
				continue
			}
			<-release
			if err := ss.SendMsg(&in); err != nil {
				return err
			}
		}
	}
}

// client is the client's end of Talk.
type client struct {
	grpc.ClientStream
	t *testing.T
}

func open(t *testing.T, conn *grpc.ClientConn, tenant string) client {
	t.Helper()
	ctx, cancel := context.WithCancel(as(tenant))
	t.Cleanup(cancel)
	cs, err := conn.NewStream(ctx, &talkDesc, talk)
	if err != nil {
		t.Fatal(err)
	}
	return client{cs, t}
}

func (c client) say(s string) {
	c.t.Helper()
	if err := c.SendMsg(wrapperspb.String(s)); err != nil {
		c.t.Fatal(err)
	}
}

func (c client) hear(want string) {
	c.t.Helper()
	var out text
	if err := c.RecvMsg(&out); err != nil || out.Value != want {
		c.t.Fatalf("heard %q, %v; want %q", out.Value, err, want)
	}
}

func (c client) end() {
	c.t.Helper()
	if err := c.CloseSend(); err != nil {
		c.t.Fatal(err)
	}
	if err := c.RecvMsg(new(text)); !errors.Is(err, io.EOF) {
		c.t.Fatalf("the end: %v", err)
	}
}

// TestStreamHoldsSlot: from the first message to the end, idle or not.
func TestStreamHoldsSlot(t *testing.T) {
	s := &service{talk: echo(nil), do: func(_ context.Context, say string) (string, error) { return say, nil }}
	g := gate.New(1, gate.Config[string]{})
	conn := serve(t, s, g, firqgrpc.Config{})
	c := open(t, conn, "a")
	c.say("one")
	c.hear("one")
	inUse(t, g, 1)
	over := make(chan error, 1)
	go func() { _, err := call(as("b"), conn, "say"); over <- err }()
	waiting(t, g, 1)
	c.say("two")
	c.hear("two")
	if g.InUse() != 1 || g.Waiting() != 1 || len(over) > 0 {
		t.Errorf("%d slots taken, %d wait, while the stream goes on", g.InUse(), g.Waiting())
	}
	c.end()
	if err := <-over; err != nil {
		t.Errorf("who waited for the stream's end: %v", err)
	}
}

// TestStreamRefused: a stream that is not let in never reaches its handler.
func TestStreamRefused(t *testing.T) {
	s := &service{talk: func(grpc.ServerStream) error { t.Error("the handler ran"); return nil }}
	g := gate.New(1, gate.Config[string]{})
	conn := serve(t, s, g, firqgrpc.Config{Domain: "shop.example", RetryDelay: 1499_000_001})
	_ = g.Close()
	c := open(t, conn, "a")
	refused(t, c.RecvMsg(new(text)), codes.Unavailable, "CLOSED", false)

	s = &service{talk: func(grpc.ServerStream) error { t.Error("the handler ran"); return nil }}
	g = gate.New(1, gate.Config[string]{MaxPerTenant: 1})
	conn = serve(t, s, g, firqgrpc.Config{Domain: "shop.example", RetryDelay: 1499_000_001})
	p, err := g.Acquire(t.Context(), "first", gate.Request{})
	if err != nil {
		t.Fatal(err)
	}
	ctx, cancel := context.WithCancel(as("a"))
	waiter, err := conn.NewStream(ctx, &talkDesc, talk)
	if err != nil {
		t.Fatal(err)
	}
	waiting(t, g, 1)
	c = open(t, conn, "a")
	refused(t, c.RecvMsg(new(text)), codes.ResourceExhausted, "TENANT_FULL", true)
	if got := c.Trailer()["grpc-retry-pushback-ms"]; len(got) != 1 || got[0] != "1500" {
		t.Errorf("pushback %q", got)
	}
	cancel()
	if err := waiter.RecvMsg(new(text)); status.Code(err) != codes.Canceled {
		t.Errorf("who cancelled: %v", err)
	}
	waiting(t, g, 0)
	p.Release()
}

// TestPerMessage: a slot while a message is worked on, none while the stream is
// idle; the functions of Config see each message.
func TestPerMessage(t *testing.T) {
	release := make(chan bool)
	costs := make(chan string, 10)
	g := gate.New(1, gate.Config[string]{MaxGlobal: 1})
	conn := serve(t, &service{talk: echo(release)}, g, firqgrpc.Config{
		PerMessage: func(c *firqgrpc.Call) bool {
			return c.Method == talk && c.Request == nil && c.ClientStream && c.ServerStream
		},
		Cost: func(_ context.Context, c *firqgrpc.Call) int64 {
			costs <- c.Request.(*text).Value
			return 1
		},
	})
	a, b := open(t, conn, "a"), open(t, conn, "b")
	for _, c := range []client{a, b, a} { // both streams go on, with one slot
		c.say("one")
		c.hear("one")
		inUse(t, g, 0)
	}
	a.say("hold")
	a.hear("hold")
	inUse(t, g, 1)
	b.say("two")
	waiting(t, g, 1)
	third := open(t, conn, "c") // MaxGlobal
	third.say("three")
	if err := third.RecvMsg(new(text)); status.Code(err) != codes.Unavailable {
		t.Errorf("a message for which there is no place: %v", err)
	}
	release <- true
	a.hear("hold")
	b.hear("two")
	a.end()
	b.end()
	inUse(t, g, 0)
	close(costs)
	var seen []string
	for s := range costs {
		seen = append(seen, s)
	}
	if len(seen) != 6 || seen[3] != "hold" || seen[5] != "three" {
		t.Errorf("Cost was asked for %q", seen)
	}
}

// TestPerMessageCharge: the tenant of a message that turns out to be costly waits for
// its next turn until the other one, which came later, has had three.
func TestPerMessageCharge(t *testing.T) {
	charged, release := make(chan bool), make(chan bool)
	s := &service{talk: func(ss grpc.ServerStream) error {
		if err := ss.RecvMsg(new(text)); err != nil {
			return err
		}
		if !firqgrpc.Charge(ss.Context(), 4) {
			t.Error("Charge: no call")
		}
		charged <- true
		<-release
		return nil
	}}
	g := gate.New(1, gate.Config[string]{})
	conn := serve(t, s, g, firqgrpc.Config{PerMessage: func(*firqgrpc.Call) bool { return true }})
	first, err := g.Acquire(t.Context(), "first", gate.Request{})
	if err != nil {
		t.Fatal(err)
	}
	c := open(t, conn, "a")
	c.say("costly")
	waiting(t, g, 1) // so that it is paid from a's share
	first.Release()
	<-charged

	order := make(chan string, 4)
	for i, tenant := range []string{"a", "b", "b", "b"} {
		go func() {
			p, err := g.Acquire(t.Context(), tenant, gate.Request{})
			if err != nil {
				t.Error(err)
			}
			order <- tenant
			p.Release()
		}()
		waiting(t, g, i+1)
	}
	close(release)
	c.end()
	got := <-order + <-order + <-order + <-order
	if got != "bbba" {
		t.Errorf("served: %s, want bbba", got)
	}
	inUse(t, g, 0)
}

// TestPerMessageEnds: the handler returns with a slot, and a goroutine that it
// left behind gets another message.
func TestPerMessageEnds(t *testing.T) {
	left := make(chan error, 1)
	var g *gate.Gate[string]
	s := &service{talk: func(ss grpc.ServerStream) error {
		if err := ss.RecvMsg(new(text)); err != nil {
			return err
		}
		if !firqgrpc.Charge(ss.Context(), 3) {
			t.Error("Charge: no call")
		}
		if g.InUse() != 1 {
			t.Errorf("%d slots taken by a message", g.InUse())
		}
		return nil
	}}
	g = gate.New(1, gate.Config[string]{})
	always := func(*firqgrpc.Call) bool { return true }
	conn := serve(t, s, g, firqgrpc.Config{PerMessage: always})
	c := open(t, conn, "a")
	c.say("one")
	c.end()
	inUse(t, g, 0)

	in := firqgrpc.New(g, firqgrpc.Config{Tenant: firqgrpc.Method, PerMessage: always})
	arrive := make(chan bool)
	info := &grpc.StreamServerInfo{FullMethod: talk}
	err := in.Stream(nil, fakeStream{ctx: t.Context(), arrive: arrive}, info, func(_ any, ss grpc.ServerStream) error {
		go func() { left <- ss.RecvMsg(nil) }()
		<-arrive // it is in RecvMsg
		return nil
	})
	if err != nil {
		t.Fatal(err)
	}
	arrive <- true // the message comes after the end
	if err := <-left; err != nil {
		t.Fatal(err)
	}
	if st := in.Stats(); g.InUse() != 0 || st.InFlight != 0 || st.Served != 1 {
		t.Error("a message that came after the end keeps its slot")
	}
}

// fakeStream receives one message: it announces that it waits, and waits.
type fakeStream struct {
	grpc.ServerStream // nil: nothing else is called
	ctx               context.Context
	arrive            chan bool
}

func (f fakeStream) RecvMsg(any) error {
	f.arrive <- true
	<-f.arrive
	return nil
}

func (f fakeStream) Context() context.Context { return f.ctx }
