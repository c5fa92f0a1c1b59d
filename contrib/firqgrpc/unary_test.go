package firqgrpc_test

import (
	"context"
	"maps"
	"slices"
	"strings"
	"sync"
	"testing"

	"google.golang.org/grpc"
	"google.golang.org/grpc/codes"
	"google.golang.org/grpc/health"
	"google.golang.org/grpc/health/grpc_health_v1"
	"google.golang.org/grpc/metadata"
	"google.golang.org/grpc/status"

	"github.com/firq-go/firq"
	"github.com/firq-go/firq/contrib/firqgrpc"
	"github.com/firq-go/firq/gate"
)

// holder is a service whose call "hold" says that it runs and returns when it is
// told to; every other call returns what it was given.
func holder() (s *service, running chan string, release chan bool) {
	running, release = make(chan string, 1000), make(chan bool)
	return &service{do: func(ctx context.Context, say string) (string, error) {
		if strings.HasPrefix(say, "hold") {
			running <- say
			select {
			case <-release:
			case <-ctx.Done():
			}
		}
		return say, nil
	}}, running, release
}

// hold begins a call that holds a slot, and returns when it does.
func hold(t *testing.T, conn *grpc.ClientConn, tenant string, running chan string) (wait func()) {
	t.Helper()
	over := make(chan error, 1)
	go func() {
		_, err := call(as(tenant), conn, "hold")
		over <- err
	}()
	<-running
	return func() {
		if err := <-over; err != nil {
			t.Errorf("the call that held the slot: %v", err)
		}
	}
}

// TestNoisyAndQuiet: a quiet tenant's call is served right after the one in
// progress and one more of the noisy tenant, not after its backlog.
func TestNoisyAndQuiet(t *testing.T) {
	s, running, release := holder()
	g := gate.New(1, gate.Config[string]{})
	conn := serve(t, s, g, firqgrpc.Config{})
	held := hold(t, conn, "noisy", running)
	var wg sync.WaitGroup
	say := func(tenant, what string) {
		wg.Go(func() {
			if _, err := call(as(tenant), conn, what); err != nil {
				t.Error(err)
			}
		})
	}
	for i := range 20 {
		say("noisy", "hold noisy")
		waiting(t, g, i+1)
	}
	say("quiet", "hold quiet")
	waiting(t, g, 21)
	var order []string
	for range 21 {
		release <- true
		order = append(order, <-running)
	}
	release <- true
	held()
	wg.Wait()
	if at := slices.Index(order, "hold quiet"); at < 0 || at > 1 {
		t.Errorf("the quiet tenant's call came %dth of %d", at+1, len(order))
	}
}

// TestFlow: a quiet user's call is served right after the one in progress and one more
// of the noisy user of the same tenant.
func TestFlow(t *testing.T) {
	s, running, release := holder()
	g := gate.New(1, gate.Config[string]{})
	conn := serve(t, s, g, firqgrpc.Config{
		Tenant: func(context.Context, *firqgrpc.Call) (string, bool) { return "all", true },
		Flow: func(ctx context.Context, _ *firqgrpc.Call) uint64 {
			md, _ := metadata.FromIncomingContext(ctx)
			return uint64(len(md.Get("tenant")[0]))
		},
	})
	held := hold(t, conn, "noisy", running)
	var wg sync.WaitGroup
	for i := range 11 {
		wg.Go(func() {
			user := "noisy"
			if i == 10 {
				user = "shy"
			}
			if _, err := call(as(user), conn, "hold "+user); err != nil {
				t.Error(err)
			}
		})
		waiting(t, g, i+1)
	}
	var order []string
	for range 11 {
		release <- true
		order = append(order, <-running)
	}
	release <- true
	held()
	wg.Wait()
	if at := slices.Index(order, "hold shy"); at < 0 || at > 1 {
		t.Errorf("the quiet user's call came %dth of %d", at+1, len(order))
	}
}

func TestPanicReleases(t *testing.T) {
	s := &service{
		do:   func(context.Context, string) (string, error) { panic("broken") },
		talk: func(grpc.ServerStream) error { panic("broken") },
	}
	g := gate.New(1, gate.Config[string]{})
	conn := serve(t, s, g, firqgrpc.Config{})
	for range 3 {
		if _, err := call(as("a"), conn, "say"); status.Code(err) != codes.Unknown {
			t.Fatalf("a handler that panics: %v", err)
		}
		st, err := conn.NewStream(as("a"), &talkDesc, talk)
		if err != nil {
			t.Fatal(err)
		}
		if err := st.RecvMsg(new(text)); status.Code(err) != codes.Unknown {
			t.Fatalf("a handler that panics: %v", err)
		}
	}
	inUse(t, g, 0)
}

// TestBadCall: a Cost or Priority that makes no sense.
func TestBadCall(t *testing.T) {
	for want, o := range map[string]firqgrpc.Config{
		"Cost is -1":    {Cost: func(context.Context, *firqgrpc.Call) int64 { return -1 }},
		"Priority is 7": {Priority: func(context.Context, *firqgrpc.Call) firq.Priority { return 7 }},
	} {
		s, _, _ := holder()
		conn := serve(t, s, gate.New(1, gate.Config[string]{}), o)
		_, err := call(as("a"), conn, "say")
		if status.Code(err) != codes.Internal || !strings.Contains(err.Error(), want) {
			t.Errorf("got %v, want INTERNAL, %s", err, want)
		}
	}
}

// TestAnonymous: calls without a known tenant share a tenant.
func TestAnonymous(t *testing.T) {
	s, running, release := holder()
	g := gate.New(1, gate.Config[string]{MaxPerTenant: 1})
	conn := serve(t, s, g, firqgrpc.Config{Tenant: firqgrpc.Metadata("x-none"), Anonymous: "nobody"})
	held := hold(t, conn, "a", running)
	over := make(chan error, 1)
	go func() { _, err := call(as("b"), conn, "say"); over <- err }()
	waiting(t, g, 1)
	if _, err := call(as("c"), conn, "say"); status.Code(err) != codes.ResourceExhausted {
		t.Errorf("another call without a tenant: %v", err)
	}
	close(release)
	held()
	if err := <-over; err != nil {
		t.Error(err)
	}
	if top := g.Stats().Queue.TopTenants; len(top) != 1 || top[0].Tenant != "nobody" {
		t.Errorf("tenants: %v", top)
	}
}

// TestStats: every call is counted once.
func TestStats(t *testing.T) {
	g := gate.New(1, gate.Config[string]{})
	in := firqgrpc.New(g, firqgrpc.Config{}) // Peer knows nothing: Anonymous
	run := func(method string) error {
		_, err := in.Unary(t.Context(), nil, &grpc.UnaryServerInfo{FullMethod: method}, func(context.Context, any) (any, error) {
			if st := in.Stats(); method == do && st.InFlight != 1 {
				t.Errorf("a call is in progress: %+v", st)
			}
			if tr := in.Traffic(); method == do && (tr.InFlight != 1 || tr.Waiting != 0) {
				t.Errorf("a call is in progress: %+v", tr)
			}
			return nil, nil
		})
		return err
	}
	for range 3 {
		if err := run(do); err != nil {
			t.Error(err)
		}
	}
	_ = g.Close()
	for range 2 {
		if err := run(do); err == nil {
			t.Error("a call of a closed gate")
		}
		if err := run("/grpc.health.v1.Health/Check"); err != nil {
			t.Error(err)
		}
	}
	st := in.Stats()
	if st.Served != 3 || st.Skipped != 2 || st.InFlight != 0 || st.Waiting != 0 ||
		!maps.Equal(st.Rejected, map[firqgrpc.Reason]uint64{firqgrpc.Closed: 2}) {
		t.Errorf("%+v", st)
	}
	tr := in.Traffic()
	if tr.Served != 3 || tr.Skipped != 2 || tr.InFlight != 0 || tr.Waiting != 0 || tr.Rejected["closed"] != 2 {
		t.Errorf("%+v, want as %+v", tr, st)
	}
	for _, reason := range []string{
		"tenant_full", "tenant_threshold", "too_many_tenants", "evicted", "global_full", "timeout", "client_deadline", "cancelled", "internal",
	} {
		if n, ok := tr.Rejected[reason]; !ok || n != 0 {
			t.Errorf("rejected %s: %d, %v", reason, n, ok)
		}
	}
}

// TestSkip: the health service answers while every slot is taken; if it is not
// let through it has to wait like all others.
func TestSkip(t *testing.T) {
	register := func(s *grpc.Server) { grpc_health_v1.RegisterHealthServer(s, health.NewServer()) }
	for name, o := range map[string]firqgrpc.Config{
		"by default":      {},
		"by its name":     {Skip: firqgrpc.Services("test.Other", "grpc.health.v1.Health")},
		"not let through": {Skip: firqgrpc.Services()},
	} {
		t.Run(name, func(t *testing.T) {
			s, running, release := holder()
			g := gate.New(1, gate.Config[string]{})
			conn := serve(t, s, g, o, register)
			held := hold(t, conn, "first", running)
			over := make(chan error, 1)
			go func() {
				_, err := grpc_health_v1.NewHealthClient(conn).Check(as("probe"), new(grpc_health_v1.HealthCheckRequest))
				over <- err
			}()
			if name == "not let through" {
				waiting(t, g, 1)
				close(release)
			}
			if err := <-over; err != nil {
				t.Errorf("health: %v", err)
			}
			if name != "not let through" {
				watch, err := grpc_health_v1.NewHealthClient(conn).Watch(t.Context(), new(grpc_health_v1.HealthCheckRequest))
				if err != nil {
					t.Fatal(err)
				}
				if _, err := watch.Recv(); err != nil {
					t.Errorf("health, as a stream: %v", err)
				}
				close(release)
			}
			held()
		})
	}
}

// TestCharge: a tenant whose first call turns out to be costly waits for its next
// turn until the others have had theirs. Without Charge they would take turns.
func TestCharge(t *testing.T) {
	s, running, release := holder()
	plain := s.do
	var once sync.Once
	s.do = func(ctx context.Context, say string) (string, error) {
		out, err := plain(ctx, say)
		if say == "hold a" {
			once.Do(func() {
				if !firqgrpc.Charge(ctx, 4) {
					t.Error("Charge: no call")
				}
			})
		}
		return out, err
	}
	g := gate.New(1, gate.Config[string]{})
	conn := serve(t, s, g, firqgrpc.Config{})
	held := hold(t, conn, "first", running)
	var wg sync.WaitGroup
	for i := range 6 {
		tenant := string("ab"[i%2])
		wg.Go(func() {
			if _, err := call(as(tenant), conn, "hold "+tenant); err != nil {
				t.Error(err)
			}
		})
		waiting(t, g, i+1)
	}
	var order []string
	for range 6 {
		release <- true
		order = append(order, strings.TrimPrefix(<-running, "hold "))
	}
	release <- true
	held()
	wg.Wait()
	if last := order[4:]; !slices.Equal(last, []string{"a", "a"}) {
		t.Errorf("served: %v; a is in debt after its first", order)
	}
	if firqgrpc.Charge(t.Context(), 1) {
		t.Error("Charge of no call")
	}
}
