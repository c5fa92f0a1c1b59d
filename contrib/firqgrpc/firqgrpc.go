package firqgrpc

import (
	"context"
	"fmt"
	"reflect"
	"sync/atomic"
	"time"

	"google.golang.org/grpc"
	"google.golang.org/grpc/metadata"

	"github.com/firq-go/firq"
	"github.com/firq-go/firq/adapter"
	"github.com/firq-go/firq/gate"
)

// Interceptor lets calls into handlers as its gate says. Its Unary and Stream are
// what grpc.ChainUnaryInterceptor and grpc.ChainStreamInterceptor take. Make it
// with New or Open; safe for concurrent use. Several may share a gate.
type Interceptor struct {
	gate    gate.Acquirer[string]
	cfg     Config
	answers answers

	inFlight, waiting atomic.Int64
	served, skipped   atomic.Uint64
	rejected          [len(reasons)]atomic.Uint64 // by index of reasons
	estimator         adapter.Estimator
}

// New returns an interceptor over a gate, which stays the caller's: to change its
// limit, and to shut it down. To drain a server, grpc.Server.GracefulStop is
// enough: calls that wait are served; Close of the gate ends their wait. A nil
// gate, or a Domain that is not UTF-8, panics; see Open.
func New(g gate.Acquirer[string], cfg Config) *Interceptor {
	i, err := Open(g, cfg)
	if err != nil {
		panic(err.Error())
	}
	return i
}

// Open is New for what comes from outside the program: a nil gate is an error that
// matches firq.ErrInvalidArgument; a Domain that is not UTF-8, a nil pointer as Rate, and a
// negative RateWait are errors that match firq.ErrInvalidConfig.
func Open(g gate.Acquirer[string], cfg Config) (*Interceptor, error) {
	if err := adapter.CheckGate(g); err != nil {
		return nil, fmt.Errorf("%w: firqgrpc: %w", firq.ErrInvalidArgument, err)
	}
	if v := reflect.ValueOf(cfg.Rate); v.Kind() == reflect.Pointer && v.IsNil() {
		return nil, fmt.Errorf("%w: firqgrpc: Rate: a nil %T", firq.ErrInvalidConfig, cfg.Rate)
	}
	if cfg.RateWait < 0 {
		return nil, fmt.Errorf("%w: firqgrpc: RateWait: %v, must not be negative", firq.ErrInvalidConfig, cfg.RateWait)
	}
	cfg = cfg.defaults()
	i := &Interceptor{gate: g, cfg: cfg, answers: answers{domain: cfg.Domain}}
	if _, err := i.answers.answer(0, max(cfg.RetryDelay, 0)); err != nil {
		return nil, fmt.Errorf("%w: firqgrpc: Domain: %w", firq.ErrInvalidConfig, err)
	}
	return i, nil
}

// Unary is a grpc.UnaryServerInterceptor: the handler runs with a slot.
func (i *Interceptor) Unary(ctx context.Context, req any, info *grpc.UnaryServerInfo, handler grpc.UnaryHandler) (any, error) {
	call := &Call{Method: info.FullMethod, Request: req}
	if i.skip(ctx, call) {
		return handler(ctx, req)
	}
	if o := i.joins(ctx); o != nil {
		defer o.Leave()
		return handler(ctx, req)
	}
	s, err := i.acquire(ctx, call, func(md metadata.MD) { _ = grpc.SetTrailer(ctx, md) })
	if err != nil {
		return nil, err
	}
	returned := false
	defer func() { s.end(returned) }() // also if the handler panics
	out, err := handler(adapter.WithSlot(ctx, s), req)
	returned = true
	return out, err
}

// Stream is a grpc.StreamServerInterceptor: the handler runs with a slot, or with
// one for each message (Config.PerMessage).
func (i *Interceptor) Stream(srv any, ss grpc.ServerStream, info *grpc.StreamServerInfo, handler grpc.StreamHandler) (err error) {
	ctx := ss.Context()
	call := &Call{Method: info.FullMethod, ClientStream: info.IsClientStream, ServerStream: info.IsServerStream}
	if i.skip(ctx, call) {
		return handler(srv, ss)
	}
	if o := i.joins(ctx); o != nil {
		defer o.Leave()
		return handler(srv, ss)
	}
	returned := false
	if i.ask(ctx, call, i.cfg.PerMessage) {
		m := &messages{ServerStream: ss, in: i, call: *call, outer: adapter.SlotOf(ctx)}
		m.ctx = adapter.WithSlot(ctx, m)
		defer m.end(&returned)
		err = handler(srv, m)
		returned = true
		return err
	}
	s, err := i.acquire(ctx, call, ss.SetTrailer)
	if err != nil {
		return err
	}
	defer func() { s.end(returned) }()
	err = handler(srv, &stream{ss, adapter.WithSlot(ctx, s)})
	returned = true
	return err
}

func (i *Interceptor) skip(ctx context.Context, c *Call) bool {
	skip := i.ask(ctx, c, i.cfg.Skip)
	if skip {
		i.skipped.Add(1)
	}
	return skip
}

// joins returns the slot of the gate with which a call comes, joined; nil: it has none. With a slot
// it must not wait for a second one, which the first may be.
func (i *Interceptor) joins(ctx context.Context) adapter.Slot {
	o := adapter.JoinSlot(ctx, i.gate)
	if o != nil {
		i.skipped.Add(1)
	}
	return o
}

// ask asks a function of Config, which may panic.
func (i *Interceptor) ask(ctx context.Context, c *Call, f func(*Call) bool) bool {
	v := visit{i: i, ctx: ctx, call: c}
	defer v.end()
	yes := f(c)
	v.counted = true
	return yes
}

// acquire waits for the call's turn. Its error is a gRPC status.
func (i *Interceptor) acquire(ctx context.Context, c *Call, setTrailer func(metadata.MD)) (*slot, error) {
	v := visit{i: i, ctx: ctx, call: c}
	defer v.end()
	var ok bool
	if v.tenant, ok = i.cfg.Tenant(ctx, c); !ok {
		v.tenant = i.cfg.Anonymous
	}
	v.tenant = ShortName(v.tenant)
	p, err := v.wait(gate.Request{
		Flow:     i.cfg.Flow(ctx, c),
		Cost:     i.cfg.Cost(ctx, c),
		Priority: i.cfg.Priority(ctx, c),
		Deadline: i.cfg.Deadline(ctx, c),
	})
	if err != nil {
		return nil, i.reject(&v, err, setTrailer)
	}
	v.counted = true
	s := &slot{in: i, permit: p, tenant: v.tenant, outer: adapter.SlotOf(ctx)}
	s.holders.Add()
	if i.cfg.Observe != nil {
		s.watch = &watch{ctx, c, v.tenant, p.Waited(), time.Now()}
	}
	i.served.Add(1)
	i.inFlight.Add(1)
	return s, nil
}

// Stats is a snapshot of an Interceptor; of a stream that is gated by message,
// each message counts as a call. The gate has more (gate.Gate.Stats).
type Stats struct {
	InFlight int               // calls that hold a slot
	Waiting  int               // calls that wait for one, or for their rate
	Served   uint64            // calls that got one
	Skipped  uint64            // calls that Config.Skip let through, or that came with a slot of the gate
	Rejected map[Reason]uint64 // calls that got none, by reason; those that there were
}

// Stats returns a snapshot. Every call that came to its end is counted once, in
// Served, Skipped or Rejected; also if a function of Config or the handler panicked.
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
