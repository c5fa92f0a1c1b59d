package firqgrpc_test

import (
	"context"
	"fmt"
	"sync"
	"testing"
	"testing/synctest"
	"time"

	"google.golang.org/grpc"
	"google.golang.org/grpc/codes"
	"google.golang.org/grpc/metadata"
	"google.golang.org/grpc/status"
	"google.golang.org/protobuf/types/known/durationpb"

	"github.com/firq-go/firq/contrib/firqgrpc"
	"github.com/firq-go/firq/gate"
)

// TestObserve: each call that was served or rejected is observed once, with how long it
// waited and held its slot.
func TestObserve(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		g := gate.New(1, gate.Config[string]{MaxPerTenant: 1})
		defer g.Close()
		var mu sync.Mutex
		seen := map[any]firqgrpc.Outcome{}
		in := firqgrpc.New(g, firqgrpc.Config{
			Tenant: firqgrpc.Metadata("tenant"),
			Observe: func(_ context.Context, c *firqgrpc.Call, o firqgrpc.Outcome) {
				mu.Lock()
				defer mu.Unlock()
				if _, twice := seen[c.Request]; twice {
					t.Errorf("%v is observed twice", c.Request)
				}
				seen[c.Request] = o
			},
		})
		waits := map[any]time.Duration{}
		var wg sync.WaitGroup
		send := func(ctx context.Context, tenant, name string) {
			wg.Go(func() {
				ctx := metadata.NewIncomingContext(ctx, metadata.Pairs("tenant", tenant))
				_, _ = in.Unary(ctx, name, &grpc.UnaryServerInfo{FullMethod: do}, func(ctx context.Context, name any) (any, error) {
					waited, ok := firqgrpc.Waited(ctx)
					if !ok {
						t.Error("Waited: no call")
					}
					time.Sleep(2 * time.Second)
					mu.Lock()
					defer mu.Unlock()
					waits[name] = waited
					return nil, nil
				})
			})
			synctest.Wait()
		}
		send(t.Context(), "a", "first")
		time.Sleep(time.Second)
		send(t.Context(), "a", "second")
		send(t.Context(), "a", "full")
		gone, cancel := context.WithCancel(t.Context())
		send(gone, "c", "gone")
		time.Sleep(700 * time.Millisecond)
		cancel()
		wg.Wait()
		const s = time.Second
		for name, want := range map[string]firqgrpc.Outcome{
			"first":  {Tenant: "a", Held: 2 * s},
			"second": {Tenant: "a", Waited: 1 * s, Held: 2 * s},
			"full":   {Tenant: "a", Reason: firqgrpc.TenantFull},
			"gone":   {Tenant: "c", Reason: firqgrpc.Cancelled, Waited: 700 * time.Millisecond},
		} {
			got := seen[name]
			if (got.Err != nil) != (want.Reason != "") {
				t.Errorf("%s: error %v", name, got.Err)
			}
			got.Err = nil
			if got != want {
				t.Errorf("%s: %+v, want %+v", name, got, want)
			}
		}
		if len(seen) != 4 || waits["first"] != 0 || waits["second"] != s {
			t.Errorf("%d are observed, want 4; Waited: %v", len(seen), waits)
		}
		if _, ok := firqgrpc.Waited(t.Context()); ok {
			t.Error("no call waited")
		}
	})
}

// TestObserveMessages: of a stream that is gated by message each message is observed,
// when the next one is received, or the stream ends.
func TestObserveMessages(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		g := gate.New(1, gate.Config[string]{})
		defer g.Close()
		var seen []firqgrpc.Outcome
		in := firqgrpc.New(g, firqgrpc.Config{
			Tenant:     firqgrpc.Method,
			PerMessage: func(*firqgrpc.Call) bool { return true },
			Observe: func(_ context.Context, _ *firqgrpc.Call, o firqgrpc.Outcome) {
				if g.InUse() != 0 {
					t.Error("it holds its slot")
				}
				seen = append(seen, o)
			},
		})
		ss := &script{ctx: t.Context(), recv: func() { time.Sleep(time.Minute) }}
		err := in.Stream(nil, ss, &grpc.StreamServerInfo{FullMethod: talk}, func(_ any, ss grpc.ServerStream) error {
			for i := range 3 {
				if len(seen) != max(i-1, 0) {
					t.Errorf("%d are observed", len(seen))
				}
				if err := ss.RecvMsg(nil); err != nil {
					return err
				}
				if waited, ok := firqgrpc.Waited(ss.Context()); waited != 0 || !ok {
					t.Errorf("Waited: %v, %t", waited, ok)
				}
				time.Sleep(time.Duration(i+1) * time.Second)
			}
			return nil
		})
		want := fmt.Sprint([]firqgrpc.Outcome{{Tenant: talk, Held: time.Second}, {Tenant: talk, Held: 2 * time.Second}, {Tenant: talk, Held: 3 * time.Second}})
		if fmt.Sprint(seen) != want || err != nil {
			t.Errorf("%v, want %v; %v", seen, want, err)
		}
	})
}

// TestClientDeadline: a client whose deadline passes says so by cancelling, and that
// is here a moment before the timer of the server.
func TestClientDeadline(t *testing.T) {
	for left, want := range map[time.Duration]codes.Code{
		time.Hour: codes.Canceled, 11 * time.Millisecond: codes.Canceled, 10 * time.Millisecond: codes.DeadlineExceeded,
		time.Millisecond: codes.DeadlineExceeded, 0: codes.DeadlineExceeded,
	} {
		synctest.Test(t, func(t *testing.T) {
			g := gate.New(1, gate.Config[string]{})
			defer g.Close()
			p, _ := g.TryAcquire("somebody", gate.Request{})
			defer p.Release()
			in := firqgrpc.New(g, firqgrpc.Config{})
			ctx, cancel := context.WithTimeout(t.Context(), 15*time.Millisecond+left)
			defer cancel()
			go func() {
				time.Sleep(15 * time.Millisecond)
				cancel()
			}()
			_, err := in.Unary(ctx, nil, &grpc.UnaryServerInfo{FullMethod: do}, nil)
			if status.Code(err) != want {
				t.Errorf("%v before the deadline: %v, want %v", left, err, want)
			}
		})
	}
}

// TestRetryDelay: by default an estimate, and not the same for all clients.
func TestRetryDelay(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		g := gate.New(2, gate.Config[string]{MaxGlobal: 40})
		in := firqgrpc.New(g, firqgrpc.Config{})
		var wg sync.WaitGroup
		send := func() (delay time.Duration, pushback string) {
			ss := &trailed{script: script{ctx: t.Context()}}
			wg.Go(func() { // 2 per second
				ss.err = in.Stream(nil, ss, &grpc.StreamServerInfo{FullMethod: talk}, func(any, grpc.ServerStream) error { time.Sleep(time.Second); return nil })
			})
			synctest.Wait()
			for _, d := range status.Convert(ss.err).Details() {
				if d, ok := d.(interface{ GetRetryDelay() *durationpb.Duration }); ok {
					delay = d.GetRetryDelay().AsDuration()
				}
			}
			return delay, fmt.Sprint(ss.md["grpc-retry-pushback-ms"])
		}
		only := func(when string, from, to time.Duration) {
			t.Helper()
			for g.Waiting() < 40 {
				send()
			}
			different := map[time.Duration]int{}
			for range 200 {
				delay, pushback := send()
				different[delay]++
				if delay < from || delay > to || pushback != fmt.Sprintf("[%d]", delay.Milliseconds()) {
					t.Errorf("%s: %v (%s), want %v to %v", when, delay, pushback, from, to)
				}
			}
			if len(different) < 3 {
				t.Errorf("%s: all come back together: %v", when, different)
			}
		}
		only("nothing is known", time.Second, 1500*time.Millisecond)
		time.Sleep(time.Second + time.Millisecond)
		only("40 wait, 2 per second", 20*time.Second, 31*time.Second)
		_ = g.Close()
		if delay, pushback := send(); delay != 0 || pushback != "[]" {
			t.Errorf("at the end: %v, %s", delay, pushback)
		}
		wg.Wait()
	})
}

// trailed is a script that keeps its trailer, and how its stream ended.
type trailed struct {
	script
	md  metadata.MD
	err error
}

func (s *trailed) SetTrailer(md metadata.MD) { s.md = md }
