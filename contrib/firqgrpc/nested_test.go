package firqgrpc_test

import (
	"context"
	"net/http"
	"net/http/httptest"
	"testing"
	"time"

	"google.golang.org/grpc"

	"github.com/firq-go/firq/contrib/firqgrpc"
	"github.com/firq-go/firq/firqhttp"
	"github.com/firq-go/firq/gate"
)

// received is a stream on which one message has come.
type received struct {
	grpc.ServerStream
	ctx context.Context
}

func (r received) Context() context.Context { return r.ctx }
func (received) RecvMsg(any) error          { return nil }

func byMessage(*firqgrpc.Call) bool { return true }

// A call that comes with a slot of the gate waits for no second one, however many interceptors
// are around its handler: of which gates, and whichever of them gate a stream by message.
func TestSameGateTwice(t *testing.T) {
	one, other := gate.New(1, gate.Config[string]{}), gate.New(1, gate.Config[string]{MaxInFlightPerTenant: 1})
	a, b, m := firqgrpc.New(one, firqgrpc.Config{}), firqgrpc.New(one, firqgrpc.Config{}), firqgrpc.New(one, firqgrpc.Config{PerMessage: byMessage})
	between := firqgrpc.New(other, firqgrpc.Config{})
	for name, c := range map[string]struct {
		around    []*firqgrpc.Interceptor // from the outside
		skipped   int                     // by those of one
		otherUsed int
	}{
		"once":                    {[]*firqgrpc.Interceptor{a}, 0, 0},
		"the same interceptor":    {[]*firqgrpc.Interceptor{a, a}, 1, 0},
		"another interceptor":     {[]*firqgrpc.Interceptor{a, b, a}, 2, 0},
		"another gate between":    {[]*firqgrpc.Interceptor{a, between, b, between}, 1, 1},
		"by message, inside":      {[]*firqgrpc.Interceptor{a, m}, 1, 0},
		"by message, outside":     {[]*firqgrpc.Interceptor{m, a}, 1, 0},
		"by message, both":        {[]*firqgrpc.Interceptor{m, m}, 1, 0},
		"by message, and between": {[]*firqgrpc.Interceptor{m, between, a}, 1, 1},
	} {
		check := func(t *testing.T, call func(context.Context, func(context.Context)) error) {
			ctx, cancel := context.WithTimeout(context.Background(), 10*time.Second)
			defer cancel()
			count := func() (served, skipped int) {
				for _, i := range []*firqgrpc.Interceptor{a, b, m} {
					served, skipped = served+int(i.Stats().Served), skipped+int(i.Stats().Skipped)
				}
				return served, skipped
			}
			served, skipped := count()
			ran := false
			err := call(ctx, func(ctx context.Context) {
				ran = true
				if one.InUse() != 1 || other.InUse() != c.otherUsed {
					t.Errorf("%d and %d slots are taken", one.InUse(), other.InUse())
				}
				if !firqgrpc.Charge(ctx, 1) {
					t.Error("it cannot be charged")
				}
			})
			nowServed, nowSkipped := count()
			if err != nil || !ran || nowServed-served != 1 || nowSkipped-skipped != c.skipped {
				t.Errorf("%v, ran %v; %d served, %d skipped", err, ran, nowServed-served, nowSkipped-skipped)
			}
			if one.InUse()+other.InUse()+one.Waiting()+other.Waiting() != 0 {
				t.Error("a slot is left behind")
			}
		}
		t.Run(name+", unary", func(t *testing.T) {
			check(t, func(ctx context.Context, in func(context.Context)) error {
				h := func(ctx context.Context, _ any) (any, error) { in(ctx); return nil, nil }
				for n := len(c.around) - 1; n >= 0; n-- {
					inner := h
					h = func(ctx context.Context, req any) (any, error) {
						return c.around[n].Unary(ctx, req, &grpc.UnaryServerInfo{FullMethod: do}, inner)
					}
				}
				_, err := h(ctx, nil)
				return err
			})
		})
		t.Run(name+", stream", func(t *testing.T) {
			check(t, func(ctx context.Context, in func(context.Context)) error {
				h := func(_ any, ss grpc.ServerStream) error {
					err := ss.RecvMsg(nil)
					in(ss.Context())
					return err
				}
				for n := len(c.around) - 1; n >= 0; n-- {
					inner := h
					h = func(srv any, ss grpc.ServerStream) error {
						return c.around[n].Stream(srv, ss, &grpc.StreamServerInfo{FullMethod: talk}, inner)
					}
				}
				return h(nil, received{ctx: ctx})
			})
		})
	}
}

// A call that comes with a slot from package firqhttp (grpc.Server is an http.Handler) needs no
// second one either.
func TestSameGateHTTP(t *testing.T) {
	g := gate.New(1, gate.Config[string]{})
	in, m := firqgrpc.New(g, firqgrpc.Config{}), firqhttp.New(g, firqhttp.Config{})
	ran := false
	h := m.Handler(http.HandlerFunc(func(_ http.ResponseWriter, r *http.Request) {
		_, _ = in.Unary(r.Context(), nil, &grpc.UnaryServerInfo{FullMethod: do}, func(ctx context.Context, _ any) (any, error) {
			ran = firqhttp.Charge(ctx, 1) && g.InUse() == 1
			return nil, nil
		})
	}))
	ctx, cancel := context.WithTimeout(context.Background(), 10*time.Second)
	defer cancel()
	h.ServeHTTP(httptest.NewRecorder(), httptest.NewRequestWithContext(ctx, "POST", "/", nil))
	if !ran || in.Stats().Skipped != 1 || g.InUse() != 0 {
		t.Errorf("ran %v, %+v, %d slots in use", ran, in.Stats(), g.InUse())
	}
}

// The context of a call that is over lets no call through; a handler that panics keeps no slot.
func TestSameGateLater(t *testing.T) {
	g := gate.New(1, gate.Config[string]{})
	for name, c := range map[string]firqgrpc.Config{"stream": {}, "by message": {PerMessage: byMessage}} {
		in := firqgrpc.New(g, c)
		var late context.Context
		func() {
			defer func() { _ = recover() }()
			_ = in.Stream(nil, received{ctx: context.Background()}, &grpc.StreamServerInfo{FullMethod: talk}, func(_ any, ss grpc.ServerStream) error {
				late = ss.Context()
				return in.Stream(nil, ss, &grpc.StreamServerInfo{FullMethod: talk}, func(any, grpc.ServerStream) error { panic("inside") })
			})
		}()
		if g.InUse() != 0 {
			t.Fatalf("%s: the slot is not free", name)
		}
		p, _ := g.TryAcquire("", gate.Request{})
		ctx, cancel := context.WithTimeout(late, 20*time.Millisecond)
		_, err := in.Unary(ctx, nil, &grpc.UnaryServerInfo{FullMethod: do}, func(context.Context, any) (any, error) {
			t.Errorf("%s: it was served", name)
			return nil, nil
		})
		if cancel(); err == nil {
			t.Errorf("%s: no error", name)
		}
		p.Release()
	}
}
