package firqgrpc

import (
	"context"
	"errors"
	"math/rand/v2"

	"google.golang.org/grpc"
	"google.golang.org/grpc/codes"
	"google.golang.org/grpc/metadata"

	"github.com/firq-go/firq"
	"github.com/firq-go/firq/adapter"
	"github.com/firq-go/firq/compute"
)

// TooManyWaiters, RESOURCE_EXHAUSTED, is a reason of RejectError alone: as many calls wait
// for the execution of one key as may (compute.ErrTooManyWaiters).
const TooManyWaiters Reason = "TOO_MANY_WAITERS"

// tooManyWaiters is not among reasons, as no interceptor counts it.
var tooManyWaiters = why{TooManyWaiters, codes.ResourceExhausted, compute.ErrTooManyWaiters, "too many calls wait for the same result", true}

// RejectError returns the error for a handler to return whose compute.Server.Do, or
// gate.Gate.Acquire, ended with err, if that is a refusal (firq.ErrRejected), the end of a
// context, or firq.ErrClosed: the status that an Interceptor has for it, with the domain
// DefaultDomain. For all but firq.ErrClosed and ends of contexts it has RetryInfo, of 1 to
// 1.5 s, by chance, and the trailer grpc-retry-pushback-ms is set. For any other error, and
// nil, which are the handler's to answer, it returns nil, and has set nothing. That holds for
// a *compute.PanicError, whatever the panic was with. ctx is that of the handler.
//
//	page, err := s.Do(ctx, tenant, query)
//	if st := firqgrpc.RejectError(ctx, err); st != nil {
//		return nil, st
//	}
func RejectError(ctx context.Context, err error) error {
	if p := (*compute.PanicError)(nil); err == nil || errors.As(err, &p) {
		return nil
	}
	r := &tooManyWaiters
	if !errors.Is(err, r.err) {
		n := reasonOf(ctx, err)
		if n == internal {
			if !errors.Is(err, firq.ErrRejected) {
				return nil
			}
			n = globalFull // none that firq knows
		}
		r = &reasons[n]
	}
	delay := adapter.Spread(adapter.LeastRetry, rand.Float64()) //nolint:gosec // chance, not a secret
	if !r.later {
		delay = 0
	}
	a, err := r.answer(DefaultDomain, delay)
	if err != nil {
		panic("firq: firqgrpc: " + err.Error()) // DefaultDomain is UTF-8
	}
	if a.trailer != nil {
		_ = grpc.SetTrailer(ctx, a.trailer) // it fails outside a handler, where there is no trailer
	}
	return a.status
}

// globalFull is the index of GlobalFull in reasons.
const globalFull = 5

// CacheStatus returns metadata that say where a response comes from: in cache-status, as
// RFC 9211 has it for HTTP, for the cache of this name, and of what was kept in age, whole
// seconds. It is for grpc.SetHeader. Of compute.None it is nil, which grpc.SetHeader
// leaves as it is.
func CacheStatus(name string, i compute.Info) metadata.MD {
	status, age := adapter.CacheStatus(name, i)
	if status == "" {
		return nil
	}
	md := metadata.Pairs("cache-status", status)
	if age != "" {
		md.Set("age", age)
	}
	return md
}

// Do is s.DoInfo for a handler of gRPC: it sets the header metadata of CacheStatus, and an
// error that RejectError has a status for becomes that. Any other error is returned as it is.
// A result is shared by all calls that get it, so the handler must not change it, unless
// compute.Config.Clone copies.
//
//	func (s *service) Price(ctx context.Context, r *pb.PriceRequest) (*pb.Price, error) {
//		return firqgrpc.Do(ctx, s.prices, "prices", tenantOf(ctx), r.GetItem())
//	}
func Do[T, K comparable, V any](ctx context.Context, s *compute.Server[T, K, V], name string, tenant T, key K, o ...compute.DoOption) (V, error) {
	v, info, err := s.DoInfo(ctx, tenant, key, o...)
	if ctx != nil {
		_ = grpc.SetHeader(ctx, CacheStatus(name, info)) // it fails outside a handler, where there is no header
		if st := RejectError(ctx, err); st != nil {
			err = st
		}
	}
	return v, err
}
