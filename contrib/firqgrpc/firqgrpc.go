package firqgrpc

import (
	"context"
	"sync/atomic"

	"google.golang.org/grpc"
	"google.golang.org/grpc/metadata"

	"github.com/firq-go/firq/gate"
)

// Interceptor lets calls into handlers as its gate says. Its Unary and Stream are
// what grpc.ChainUnaryInterceptor and grpc.ChainStreamInterceptor take. Make it
// with New; safe for concurrent use. Several may share a gate.
type Interceptor struct {
	gate    *gate.Gate[string]
	cfg     Config
	answers []answer

	inFlight, waiting atomic.Int64
	served, skipped   atomic.Uint64
	rejected          [len(reasons)]atomic.Uint64 // by index of reasons
}

// New returns an interceptor over a gate, which stays the caller's: to change its
// limit, and to shut it down. To drain a server, grpc.Server.GracefulStop is
// enough: those who wait are served; Close of the gate ends their wait. A nil
// gate, or a Domain that is not UTF-8, panics.
func New(g *gate.Gate[string], cfg Config) *Interceptor {
	if g == nil {
		panic("firq: firqgrpc: gate is nil")
	}
	cfg = cfg.defaults()
	return &Interceptor{gate: g, cfg: cfg, answers: answers(cfg.Domain, cfg.RetryDelay)}
}

// Unary is a grpc.UnaryServerInterceptor: the handler runs with a slot.
func (i *Interceptor) Unary(ctx context.Context, req any, info *grpc.UnaryServerInfo, handler grpc.UnaryHandler) (any, error) {
	call := &Call{Method: info.FullMethod, Request: req}
	if i.skip(call) {
		return handler(ctx, req)
	}
	p, err := i.acquire(ctx, call, func(md metadata.MD) { _ = grpc.SetTrailer(ctx, md) })
	if err != nil {
		return nil, err
	}
	defer i.release(p) // also if the handler panics
	return handler(context.WithValue(ctx, key{}, charger(p)), req)
}

// Stream is a grpc.StreamServerInterceptor: the handler runs with a slot, or with
// one for each message (Config.PerMessage).
func (i *Interceptor) Stream(srv any, ss grpc.ServerStream, info *grpc.StreamServerInfo, handler grpc.StreamHandler) error {
	call := &Call{Method: info.FullMethod, ClientStream: info.IsClientStream, ServerStream: info.IsServerStream}
	if i.skip(call) {
		return handler(srv, ss)
	}
	if i.cfg.PerMessage(call) {
		m := &messages{ServerStream: ss, in: i, call: *call}
		m.ctx = context.WithValue(ss.Context(), key{}, charger(m))
		defer m.end()
		return handler(srv, m)
	}
	p, err := i.acquire(ss.Context(), call, ss.SetTrailer)
	if err != nil {
		return err
	}
	defer i.release(p)
	return handler(srv, &stream{ss, context.WithValue(ss.Context(), key{}, charger(p))})
}

func (i *Interceptor) skip(c *Call) bool {
	skip := i.cfg.Skip(c)
	if skip {
		i.skipped.Add(1)
	}
	return skip
}

// acquire waits for the call's turn. Its error is a gRPC status.
func (i *Interceptor) acquire(ctx context.Context, c *Call, setTrailer func(metadata.MD)) (gate.Permit[string], error) {
	tenant, ok := i.cfg.Tenant(ctx, c)
	if !ok {
		tenant = i.cfg.Anonymous
	}
	req := gate.Request{
		Cost:     i.cfg.Cost(ctx, c),
		Priority: i.cfg.Priority(ctx, c),
		Deadline: i.cfg.Deadline(ctx, c),
	}
	i.waiting.Add(1)
	defer i.waiting.Add(-1)
	p, err := i.gate.Acquire(ctx, tenant, req)
	if err != nil {
		return p, i.reject(ctx, err, setTrailer)
	}
	i.served.Add(1)
	i.inFlight.Add(1)
	return p, nil
}

func (i *Interceptor) release(p gate.Permit[string]) {
	i.inFlight.Add(-1)
	p.Release()
}

// Stats is a snapshot of an Interceptor; of a stream that is gated by message,
// each message counts as a call. The gate has more (gate.Gate.Stats).
type Stats struct {
	InFlight int               // calls that hold a slot
	Waiting  int               // calls that wait for one
	Served   uint64            // calls that got one
	Skipped  uint64            // calls that Config.Skip let through
	Rejected map[Reason]uint64 // calls that got none, by reason; those that there were
}

// Stats returns a snapshot. Every call that came to its end is counted once, in
// Served, Skipped or Rejected.
func (i *Interceptor) Stats() Stats {
	s := Stats{
		InFlight: int(i.inFlight.Load()),
		Waiting:  int(i.waiting.Load()),
		Served:   i.served.Load(),
		Skipped:  i.skipped.Load(),
		Rejected: map[Reason]uint64{},
	}
	for n := range reasons {
		if count := i.rejected[n].Load(); count > 0 {
			s.Rejected[reasons[n].reason] = count
		}
	}
	return s
}

// Charge says that the call that is being served cost delta more than Config.Cost
// said, or less (gate.Permit.Charge); of a stream that is gated by message, the
// message in progress. ctx is the call's. It reports whether ctx is that of a call
// behind an Interceptor; with several, the innermost counts.
func Charge(ctx context.Context, delta int64) bool {
	c, ok := ctx.Value(key{}).(charger)
	if ok {
		c.Charge(delta)
	}
	return ok
}

type key struct{}

type charger interface{ Charge(delta int64) }
