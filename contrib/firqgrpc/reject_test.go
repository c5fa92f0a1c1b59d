package firqgrpc_test

import (
	"context"
	"fmt"
	"maps"
	"slices"
	"sync"
	"testing"
	"time"

	"google.golang.org/genproto/googleapis/rpc/errdetails"
	"google.golang.org/grpc"
	"google.golang.org/grpc/codes"
	"google.golang.org/grpc/metadata"
	"google.golang.org/grpc/status"

	"github.com/firq-go/firq"
	"github.com/firq-go/firq/contrib/firqgrpc"
	"github.com/firq-go/firq/gate"
)

// TestReasons: each answer of the gate, with code, reason, delay and trailer.
func TestReasons(t *testing.T) {
	late := func(ctx context.Context, _ *firqgrpc.Call) time.Time {
		if md, _ := metadata.FromIncomingContext(ctx); md["tenant"][0] == "late" {
			return time.Now().Add(-time.Second)
		}
		return time.Time{}
	}
	for _, c := range []struct {
		cfg      gate.Config[string]
		waiters  []string // tenants that wait before
		tenant   string
		closed   bool
		code     codes.Code
		reason   string
		pushback []string
	}{
		{gate.Config[string]{MaxPerTenant: 1}, []string{"a"}, "a", false, codes.ResourceExhausted, "TENANT_FULL", []string{"1500"}},
		{gate.Config[string]{MaxGlobal: 10, DynamicThreshold: 0.1}, []string{"a"}, "a", false, codes.ResourceExhausted, "TENANT_THRESHOLD", []string{"1500"}},
		{gate.Config[string]{MaxTenants: 1}, []string{"a"}, "b", false, codes.ResourceExhausted, "TOO_MANY_TENANTS", []string{"1500"}},
		{gate.Config[string]{MaxGlobal: 1}, []string{"a"}, "b", false, codes.Unavailable, "GLOBAL_FULL", []string{"1500"}},
		{gate.Config[string]{}, nil, "late", false, codes.Unavailable, "TIMEOUT", []string{"1500"}},
		{gate.Config[string]{MaxQueueAge: time.Millisecond}, nil, "a", false, codes.Unavailable, "TIMEOUT", []string{"1500"}},
		{gate.Config[string]{}, nil, "a", true, codes.Unavailable, "CLOSED", nil},
	} {
		t.Run(c.reason, func(t *testing.T) {
			s, running, release := holder()
			g := gate.New(1, c.cfg)
			conn := serve(t, s, g, firqgrpc.Config{Deadline: late, RetryDelay: 1499_000_001, Domain: "shop.example"})
			held := hold(t, conn, "first", running)
			var wg sync.WaitGroup
			for i, tenant := range c.waiters {
				wg.Go(func() {
					if _, err := call(as(tenant), conn, "say"); err != nil {
						t.Errorf("one who waited: %v", err)
					}
				})
				waiting(t, g, i+1)
			}
			if c.closed {
				_ = g.Close()
			}
			var trailer metadata.MD
			_, err := call(as(c.tenant), conn, "say", grpc.Trailer(&trailer))
			refused(t, err, c.code, c.reason, len(c.pushback) > 0)
			if got := trailer["grpc-retry-pushback-ms"]; !slices.Equal(got, c.pushback) {
				t.Errorf("pushback %q, want %q", got, c.pushback)
			}
			close(release)
			held()
			wg.Wait()
		})
	}
}

// refused checks code and details of an error.
func refused(t *testing.T, err error, code codes.Code, reason string, retry bool) {
	t.Helper()
	st := status.Convert(err)
	if st.Code() != code {
		t.Errorf("code %v, want %v", st.Code(), code)
	}
	got, delayed := "", false
	for _, d := range st.Details() {
		switch d := d.(type) {
		case *errdetails.ErrorInfo:
			if got = d.Reason; d.Domain != "shop.example" {
				t.Errorf("domain %q", d.Domain)
			}
		case *errdetails.RetryInfo:
			if delayed = true; d.RetryDelay.AsDuration() != 1499_000_001 {
				t.Errorf("delay %v", d.RetryDelay.AsDuration())
			}
		}
	}
	if got != reason || delayed != retry {
		t.Errorf("reason %q, want %q; RetryInfo: %v, want %v", got, reason, delayed, retry)
	}
}

// TestEvicted: with DropOldest the newer call takes the older one's place.
func TestEvicted(t *testing.T) {
	s, running, release := holder()
	g := gate.New(1, gate.Config[string]{MaxPerTenant: 1, Policy: firq.DropOldest})
	conn := serve(t, s, g, firqgrpc.Config{RetryDelay: 1499_000_001, Domain: "shop.example"})
	held := hold(t, conn, "first", running)
	older, newer := make(chan error, 1), make(chan error, 1)
	go func() { _, err := call(as("a"), conn, "old"); older <- err }()
	waiting(t, g, 1)
	go func() { _, err := call(as("a"), conn, "new"); newer <- err }()
	refused(t, <-older, codes.ResourceExhausted, "EVICTED", true)
	close(release)
	held()
	if err := <-newer; err != nil {
		t.Errorf("the newer call: %v", err)
	}
}

// TestNoRetryDelay: below 0 there is neither RetryInfo nor a trailer.
func TestNoRetryDelay(t *testing.T) {
	s, _, _ := holder()
	g := gate.New(1, gate.Config[string]{})
	passed := func(context.Context, *firqgrpc.Call) time.Time { return time.Unix(1, 0) }
	conn := serve(t, s, g, firqgrpc.Config{RetryDelay: -1, Domain: "shop.example", Deadline: passed})
	var trailer metadata.MD
	_, err := call(as("a"), conn, "say", grpc.Trailer(&trailer))
	refused(t, err, codes.Unavailable, "TIMEOUT", false)
	if got, ok := trailer["grpc-retry-pushback-ms"]; ok {
		t.Errorf("pushback %q", got)
	}
}

// TestClientEnds: a client that cancels, or whose deadline passes, gets that
// code and frees its place in the queue immediately.
func TestClientEnds(t *testing.T) {
	s, running, release := holder()
	g := gate.New(1, gate.Config[string]{MaxPerTenant: 1})
	conn := serve(t, s, g, firqgrpc.Config{})
	held := hold(t, conn, "first", running)

	ctx, cancel := context.WithCancel(as("a"))
	over := make(chan error, 1)
	go func() { _, err := call(ctx, conn, "say"); over <- err }()
	waiting(t, g, 1)
	cancel()
	if err := <-over; status.Code(err) != codes.Canceled {
		t.Errorf("cancelled: %v", err)
	}
	waiting(t, g, 0)

	ctx, cancel = context.WithTimeout(as("a"), 5*time.Millisecond)
	defer cancel()
	if _, err := call(ctx, conn, "say"); status.Code(err) != codes.DeadlineExceeded {
		t.Errorf("deadline: %v", err)
	}
	waiting(t, g, 0)

	go func() { _, err := call(as("a"), conn, "say"); over <- err }() // MaxPerTenant: the place is free
	waiting(t, g, 1)
	close(release)
	held()
	if err := <-over; err != nil {
		t.Errorf("who came after them: %v", err)
	}
}

// TestServerSeesClientsEnd: what the server answers to a client that has ended is
// not seen by that client, so the interceptor is called directly.
func TestServerSeesClientsEnd(t *testing.T) {
	g := gate.New(1, gate.Config[string]{})
	defer g.Close()
	p, err := g.Acquire(t.Context(), "first", gate.Request{})
	if err != nil {
		t.Fatal(err)
	}
	defer p.Release()
	tenant := func(context.Context, *firqgrpc.Call) (string, bool) { return "a", true }
	in := firqgrpc.New(g, firqgrpc.Config{Tenant: tenant, Deadline: firqgrpc.DeadlineBefore(0)})
	handler := func(context.Context, any) (any, error) { t.Error("the handler ran"); return nil, nil }
	info := &grpc.UnaryServerInfo{FullMethod: do}

	ctx, cancel := context.WithCancel(t.Context())
	cancel()
	if _, err := in.Unary(ctx, nil, info, handler); status.Code(err) != codes.Canceled {
		t.Errorf("cancelled: %v", err)
	}
	// The gate's deadline and the context's are the same instant: whichever the gate
	// sees first, it was the client's.
	ctx, cancel = context.WithDeadline(t.Context(), time.Now().Add(-time.Second))
	defer cancel()
	if _, err := in.Unary(ctx, nil, info, handler); status.Code(err) != codes.DeadlineExceeded {
		t.Errorf("deadline: %v", err)
	}
	ended := endedLater{t.Context()}
	if _, err := in.Unary(ended, nil, info, handler); status.Code(err) != codes.DeadlineExceeded {
		t.Errorf("the gate noticed the deadline first: %v", err)
	}
	want := map[firqgrpc.Reason]uint64{firqgrpc.Cancelled: 1, firqgrpc.ClientDeadline: 2}
	if got := in.Stats().Rejected; !maps.Equal(got, want) {
		t.Errorf("rejected: %v, want %v", got, want)
	}
}

// endedLater has a deadline that passed, and is not done yet as its channel says.
type endedLater struct{ context.Context }

func (endedLater) Deadline() (time.Time, bool) { return time.Now().Add(-time.Second), true }
func (endedLater) Err() error                  { return context.DeadlineExceeded }

// away is a gate whose server cannot be reached.
type away struct{}

func (away) Acquire(context.Context, string, gate.Request) (gate.Permit[string], error) {
	return gate.Permit[string]{}, fmt.Errorf("%w: %w", gate.ErrUnavailable, context.DeadlineExceeded)
}

func (away) TryAcquire(string, gate.Request) (gate.Permit[string], bool) {
	return gate.Permit[string]{}, false
}

// TestUnavailable: another gate than gate.Gate, which cannot decide. It is not the client's deadline.
func TestUnavailable(t *testing.T) {
	in := firqgrpc.New(away{}, firqgrpc.Config{RetryDelay: 1499_000_001, Domain: "shop.example"})
	_, err := in.Unary(context.Background(), nil, &grpc.UnaryServerInfo{FullMethod: "/a/b"}, func(context.Context, any) (any, error) {
		t.Error("let in")
		return nil, nil
	})
	refused(t, err, codes.Unavailable, "UNAVAILABLE", true)
}
