package firqgrpc_test

import (
	"context"
	"errors"
	"slices"
	"strings"
	"testing"
	"time"

	"google.golang.org/genproto/googleapis/rpc/errdetails"
	"google.golang.org/grpc"
	"google.golang.org/grpc/codes"
	"google.golang.org/grpc/metadata"
	"google.golang.org/grpc/status"
	"google.golang.org/protobuf/types/known/wrapperspb"

	"github.com/firq-go/firq"
	"github.com/firq-go/firq/contrib/firqgrpc"
	"github.com/firq-go/firq/gate"
	"github.com/firq-go/firq/rate"
)

// limiter is a rate of 10 per second by a clock that stands.
func limiter(burst int64) *rate.Limiter[string] {
	now := time.Now()
	return rate.New(rate.Config[string]{Limit: rate.Limit{PerSecond: 10, Burst: burst}, Now: func() time.Time { return now }})
}

// left fails unless so much is left of a tenant's burst.
func left(t *testing.T, l rate.Taker[string], tenant string, want int64) {
	t.Helper()
	if r, _ := l.Take(context.Background(), tenant, 0, 0); r.Remaining != want {
		t.Errorf("%d left, want %d", r.Remaining, want)
	}
}

// limited fails unless the call was refused by its rate, for so long.
func limited(t *testing.T, err error, after time.Duration) {
	t.Helper()
	st := status.Convert(err)
	reason, delay := "", time.Duration(0)
	for _, d := range st.Details() {
		switch d := d.(type) {
		case *errdetails.ErrorInfo:
			reason = d.Reason
		case *errdetails.RetryInfo:
			delay = d.RetryDelay.AsDuration()
		}
	}
	if st.Code() != codes.ResourceExhausted || reason != "RATE_LIMITED" || delay != after {
		t.Errorf("%v %q, delay %v, want %v", st, reason, delay, after)
	}
}

func TestRate(t *testing.T) {
	g, l := gate.New(1, gate.Config[string]{}), limiter(25)
	var late context.Context
	s := &service{do: func(ctx context.Context, say string) (string, error) {
		late = ctx
		firqgrpc.Charge(ctx, 3)
		return say, nil
	}}
	conn := serve(t, s, g, firqgrpc.Config{Rate: l, Cost: func(_ context.Context, c *firqgrpc.Call) int64 {
		return int64(len(c.Request.(*text).Value))
	}})
	if _, err := call(as("a"), conn, strings.Repeat("x", 20)); err != nil {
		t.Fatal(err)
	}
	left(t, l, "a", 2)
	firqgrpc.Charge(late, -1) // it has ended
	left(t, l, "a", 3)
	var trailer metadata.MD
	_, err := call(as("a"), conn, "four", grpc.Trailer(&trailer))
	limited(t, err, 100*time.Millisecond)
	if got := trailer["grpc-retry-pushback-ms"]; !slices.Equal(got, []string{"100"}) {
		t.Errorf("pushback %q", got)
	}
	left(t, l, "a", 3)
	if _, err := call(as("a"), conn, ""); err != nil { // costs 1, and then 3
		t.Fatal(err)
	}
	_, err = call(as("a"), conn, "")
	limited(t, err, 200*time.Millisecond)

	held, ok := g.TryAcquire("b", gate.Request{})
	if !ok {
		t.Fatal("no slot")
	}
	defer held.Release()
	ctx, cancel := context.WithCancel(as("b"))
	done := make(chan error)
	go func() {
		_, err := call(ctx, conn, "ten letter")
		done <- err
	}()
	waiting(t, g, 1)
	left(t, l, "b", 15)
	cancel()
	if err := <-done; status.Code(err) != codes.Canceled {
		t.Error(err)
	}
	wait(t, "the tokens go back", func() bool {
		r, _ := l.Take(context.Background(), "b", 0, 0)
		return r.Remaining == 25
	})
}

// TestRateOfMessages: each message takes its cost.
func TestRateOfMessages(t *testing.T) {
	g, l := gate.New(1, gate.Config[string]{}), limiter(2)
	ended := make(chan error, 1)
	s := &service{talk: func(ss grpc.ServerStream) error {
		for {
			if err := ss.RecvMsg(new(text)); err != nil {
				ended <- err
				return err
			}
		}
	}}
	conn := serve(t, s, g, firqgrpc.Config{Rate: l, PerMessage: func(*firqgrpc.Call) bool { return true }})
	cs, err := conn.NewStream(as("a"), &talkDesc, talk)
	if err != nil {
		t.Fatal(err)
	}
	for range 3 {
		_ = cs.SendMsg(wrapperspb.String("say"))
	}
	limited(t, <-ended, 100*time.Millisecond)
	limited(t, cs.RecvMsg(new(text)), 100*time.Millisecond)
}

// TestRateGivesBack: a gate that panics, or refuses, gives the tokens back.
func TestRateGivesBack(t *testing.T) {
	l := limiter(5)
	for name, g := range map[string]gate.Acquirer[string]{"away": away{}, "panics": gatePanics{}} {
		func() {
			defer func() { _ = recover() }()
			in := firqgrpc.New(g, firqgrpc.Config{Rate: l, Tenant: func(context.Context, *firqgrpc.Call) (string, bool) { return "a", true }})
			_, err := in.Unary(context.Background(), nil, &grpc.UnaryServerInfo{FullMethod: "/a/b"}, nil)
			if status.Code(err) != codes.Unavailable {
				t.Error(name, err)
			}
		}()
		left(t, l, "a", 5)
	}
}

type gatePanics struct{ away }

func (gatePanics) Acquire(context.Context, string, gate.Request) (gate.Permit[string], error) {
	panic("broken")
}

func TestRateConfig(t *testing.T) {
	g := gate.New(1, gate.Config[string]{})
	for field, cfg := range map[string]firqgrpc.Config{
		"Rate:":     {Rate: (*rate.Limiter[string])(nil)},
		"RateWait:": {RateWait: -1},
	} {
		if _, err := firqgrpc.Open(g, cfg); !errors.Is(err, firq.ErrInvalidConfig) || !strings.Contains(err.Error(), field) {
			t.Errorf("%s %v", field, err)
		}
	}
}
