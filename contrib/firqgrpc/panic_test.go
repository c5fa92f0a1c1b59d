package firqgrpc_test

import (
	"context"
	"net/http"
	"os"
	"runtime"
	"sync"
	"testing"
	"time"

	"google.golang.org/grpc"
	"google.golang.org/grpc/metadata"

	"github.com/firq-go/firq"
	"github.com/firq-go/firq/contrib/firqgrpc"
	"github.com/firq-go/firq/gate"
)

// script is a ServerStream: what its RecvMsg and SetTrailer do.
type script struct {
	grpc.ServerStream
	ctx           context.Context
	recv, trailer func()
}

func (s *script) Context() context.Context { return s.ctx }

func (s *script) RecvMsg(any) error {
	if s.recv != nil {
		s.recv()
	}
	return nil
}

func (s *script) SetTrailer(metadata.MD) {
	if s.trailer != nil {
		s.trailer()
	}
}

// ways in which a function ends the goroutine that called it.
var ways = map[string]func(){
	"panics":  func() { panic("broken") },
	"exits":   func() { runtime.Goexit() },
	"aborts":  func() { panic(http.ErrAbortHandler) },
	"crashes": func() { _ = []int{}[len(os.Args)] },
}

type plan struct {
	cfg           firqgrpc.Config
	gate          gate.Config[string]
	ctx           func(context.Context) context.Context
	handler       func()
	recv, trailer func()
}

// plants are the functions that may end a call; what it then counts as where it
// would be served, and where it would be rejected: "-" is Served, "0" nothing.
var plants = map[string]struct {
	in             func(p *plan, do func())
	served, reject firqgrpc.Reason
	waits          firqgrpc.Reason // where it would be served, but has to wait; empty: as served
	only           string          // this kind of call
}{
	"Skip":       {in: func(p *plan, do func()) { p.cfg.Skip = func(*firqgrpc.Call) bool { do(); return false } }, served: firqgrpc.Internal, reject: firqgrpc.Internal},
	"PerMessage": {in: func(p *plan, do func()) { p.cfg.PerMessage = func(*firqgrpc.Call) bool { do(); return true } }, served: firqgrpc.Internal, reject: firqgrpc.Internal, only: "stream"},
	"Tenant": {in: func(p *plan, do func()) {
		p.cfg.Tenant = func(context.Context, *firqgrpc.Call) (string, bool) { do(); return "", true }
	}, served: firqgrpc.Internal, reject: firqgrpc.Internal},
	"Known": {in: func(p *plan, do func()) {
		p.cfg.Tenant = firqgrpc.Known(firqgrpc.Method, func(string) bool { do(); return true })
	}, served: firqgrpc.Internal, reject: firqgrpc.Internal},
	"Flow": {in: func(p *plan, do func()) {
		p.cfg.Flow = func(context.Context, *firqgrpc.Call) uint64 { do(); return 0 }
	}, served: firqgrpc.Internal, reject: firqgrpc.Internal},
	"Cost": {in: func(p *plan, do func()) {
		p.cfg.Cost = func(context.Context, *firqgrpc.Call) int64 { do(); return 0 }
	}, served: firqgrpc.Internal, reject: firqgrpc.Internal},
	"Priority": {in: func(p *plan, do func()) {
		p.cfg.Priority = func(context.Context, *firqgrpc.Call) firq.Priority { do(); return 0 }
	}, served: firqgrpc.Internal, reject: firqgrpc.Internal},
	"Deadline": {in: func(p *plan, do func()) {
		p.cfg.Deadline = func(context.Context, *firqgrpc.Call) time.Time { do(); return time.Time{} }
	}, served: firqgrpc.Internal, reject: firqgrpc.Internal},
	"QuantumFor": {in: func(p *plan, do func()) {
		p.gate.MaxInFlightPerTenant = 1 // so that it is asked in any case
		p.gate.QuantumFor = func(k string) int64 { mine(k, do); return 1 }
	}, served: firqgrpc.Internal, reject: firqgrpc.Closed},
	"PolicyFor": {in: func(p *plan, do func()) {
		p.gate.MaxInFlightPerTenant, p.gate.MaxTenants = 1, 1 // the tenant that holds the slot is that one
		p.gate.PolicyFor = func(k string) firq.Policy { mine(k, do); return firq.Reject }
	}, served: "-", waits: firqgrpc.Internal, reject: firqgrpc.Closed},
	"the context": {in: func(p *plan, do func()) {
		p.ctx = func(ctx context.Context) context.Context { return badContext{ctx, do} }
	}, served: firqgrpc.Internal, reject: firqgrpc.Internal},
	"the handler": {in: func(p *plan, do func()) { p.handler = do }, served: "-", reject: firqgrpc.Closed},
	"RecvMsg":     {in: func(p *plan, do func()) { p.recv = do }, served: "0", reject: "0", only: "message"},
	"Observe": {in: func(p *plan, do func()) {
		observe := p.cfg.Observe
		p.cfg.Observe = func(ctx context.Context, c *firqgrpc.Call, o firqgrpc.Outcome) { observe(ctx, c, o); do() }
	}, served: "-", reject: firqgrpc.Closed},
}

// TestFunctionsMayPanic: whichever function ends the call, wherever that is, and
// however: no slot is lost, no call is counted as waiting, each call counts once, and
// is observed once.
func TestFunctionsMayPanic(t *testing.T) {
	for name, plant := range plants {
		for way, do := range ways {
			for _, kind := range []string{"unary", "stream", "message"} {
				for _, where := range []string{"served", "waits", "rejected"} {
					if plant.only != "" && plant.only != kind {
						continue
					}
					t.Run(name+" "+way+", "+kind+", "+where, func(t *testing.T) {
						want := plant.served
						switch {
						case where == "rejected":
							want = plant.reject
						case where == "waits" && plant.waits != "":
							want = plant.waits
						}
						mayPanic(t, func(p *plan) { plant.in(p, do) }, kind, where, want)
					})
				}
			}
		}
	}
}

// mine does something for the tenant of the calls.
func mine(tenant string, do func()) {
	if tenant == "me" {
		do()
	}
}

// badContext does something when it is asked whether it is done.
type badContext struct {
	context.Context
	do func()
}

func (c badContext) Done() <-chan struct{} { c.do(); return nil }

func mayPanic(t *testing.T, plant func(*plan), kind, where string, want firqgrpc.Reason) {
	var mu sync.Mutex
	var seen []firqgrpc.Outcome
	p := plan{handler: func() {}, ctx: func(ctx context.Context) context.Context { return ctx }, cfg: firqgrpc.Config{
		Tenant:     func(context.Context, *firqgrpc.Call) (string, bool) { return "me", true },
		PerMessage: func(*firqgrpc.Call) bool { return kind == "message" },
		Observe: func(_ context.Context, _ *firqgrpc.Call, o firqgrpc.Outcome) {
			mu.Lock()
			defer mu.Unlock()
			seen = append(seen, o)
		},
	}}
	plant(&p)
	g := gate.New(1, p.gate)
	in := firqgrpc.New(g, p.cfg)
	var permit gate.Permit[string]
	switch where {
	case "waits":
		permit, _ = g.TryAcquire("somebody", gate.Request{})
	case "rejected":
		_ = g.Close()
	}
	ended := make(chan bool)
	go func() {
		defer close(ended)
		defer func() { _ = recover() }()
		if kind == "unary" {
			_, _ = in.Unary(p.ctx(t.Context()), nil, &grpc.UnaryServerInfo{FullMethod: do}, func(context.Context, any) (any, error) { p.handler(); return nil, nil })
			return
		}
		ss := &script{ctx: p.ctx(t.Context()), recv: p.recv, trailer: p.trailer}
		_ = in.Stream(nil, ss, &grpc.StreamServerInfo{FullMethod: talk}, func(_ any, ss grpc.ServerStream) error {
			if kind == "message" {
				if err := ss.RecvMsg(nil); err != nil {
					return err
				}
			}
			p.handler()
			return nil
		})
	}()
	if where == "waits" {
		wait(t, "it waits, or has ended", func() bool {
			select {
			case <-ended:
				return true
			default:
				return g.Stats().Queue.QueueLen == 1
			}
		})
		permit.Release()
	}
	select {
	case <-ended:
	case <-time.After(enough):
		t.Fatal("it never ends")
	}
	st := in.Stats()
	if g.InUse() != 0 || g.Waiting() != 0 || st.InFlight != 0 || st.Waiting != 0 {
		t.Errorf("%d slots are taken, %d wait; %+v", g.InUse(), g.Waiting(), st)
	}
	served, rejected, observed := uint64(0), uint64(0), 1
	switch want {
	case "-":
		served = 1
	case "0":
		observed = 0
	default:
		rejected = 1
	}
	if st.Served != served || st.Rejected[want] != rejected || len(st.Rejected) != int(rejected) {
		t.Errorf("%+v, want one %s", st, want)
	}
	mu.Lock()
	defer mu.Unlock()
	if len(seen) != observed || observed > 0 && (seen[0].Reason != "" && seen[0].Reason != want || (seen[0].Err == nil) != (want == "-")) {
		t.Errorf("observed %+v, want one %s", seen, want)
	}
	if where != "rejected" { // the slot is there
		if p, ok := g.TryAcquire("a", gate.Request{}); !ok {
			t.Error("the slot is lost")
		} else {
			p.Release()
		}
	}
}

// TestTrailerPanics: what a refused stream's transport does to us is no reason to
// count it twice.
func TestTrailerPanics(t *testing.T) {
	for way, do := range ways {
		g := gate.New(1, gate.Config[string]{MaxGlobal: 1})
		var seen []firqgrpc.Outcome
		in := firqgrpc.New(g, firqgrpc.Config{
			Deadline: func(context.Context, *firqgrpc.Call) time.Time { return time.Unix(1, 0) },
			Observe:  func(_ context.Context, _ *firqgrpc.Call, o firqgrpc.Outcome) { seen = append(seen, o) },
		})
		ended := make(chan bool)
		go func() {
			defer close(ended)
			defer func() { _ = recover() }()
			_ = in.Stream(nil, &script{ctx: t.Context(), trailer: do}, &grpc.StreamServerInfo{FullMethod: talk}, nil)
		}()
		<-ended
		if st := in.Stats(); len(st.Rejected) != 1 || st.Rejected[firqgrpc.Timeout] != 1 || len(seen) != 1 || !seen[0].Aborted {
			t.Errorf("%s: %+v, observed %+v", way, st, seen)
		}
	}
}
