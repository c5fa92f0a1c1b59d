package firqgrpc

import (
	"context"
	"errors"
	"math/rand/v2"
	"strconv"
	"sync"
	"time"

	"google.golang.org/genproto/googleapis/rpc/errdetails"
	"google.golang.org/grpc/codes"
	"google.golang.org/grpc/metadata"
	"google.golang.org/grpc/status"
	"google.golang.org/protobuf/protoadapt"
	"google.golang.org/protobuf/types/known/durationpb"

	"github.com/firq-go/firq"
	"github.com/firq-go/firq/adapter"
	"github.com/firq-go/firq/gate"
	"github.com/firq-go/firq/rate"
)

// Reason says in one word why a call was not let in. The words are stable; those
// that google.rpc.ErrorInfo carries are as AIP-193 wants them.
type Reason string

// The reasons, and the code that each is answered with.
const (
	TenantFull      Reason = "TENANT_FULL"      // RESOURCE_EXHAUSTED: as many of the tenant's wait as may (firq.ErrTenantFull)
	TenantThreshold Reason = "TENANT_THRESHOLD" // RESOURCE_EXHAUSTED: firq.ErrTenantThreshold
	TooManyTenants  Reason = "TOO_MANY_TENANTS" // RESOURCE_EXHAUSTED: firq.ErrTooManyTenants
	Evicted         Reason = "EVICTED"          // RESOURCE_EXHAUSTED: a later one of the tenant took its place (gate.ErrEvicted)
	Overload        Reason = "OVERLOAD"         // RESOURCE_EXHAUSTED: those of the tenant have waited for too long (gate.ErrOverload)
	GlobalFull      Reason = "GLOBAL_FULL"      // UNAVAILABLE: as many wait as may (firq.ErrGlobalFull)
	RateLimited     Reason = "RATE_LIMITED"     // RESOURCE_EXHAUSTED: the tenant has used its rate (rate.ErrLimited; Config.Rate)
	Unavailable     Reason = "UNAVAILABLE"      // UNAVAILABLE: what decides cannot be reached (gate.ErrUnavailable)
	Timeout         Reason = "TIMEOUT"          // UNAVAILABLE: Config.Deadline or gate.Config.MaxQueueAge passed
	Closed          Reason = "CLOSED"           // UNAVAILABLE: the gate is shut down
	ClientDeadline  Reason = "CLIENT_DEADLINE"  // DEADLINE_EXCEEDED, without details
	Cancelled       Reason = "CANCELLED"        // CANCELLED, without details
	Internal        Reason = "INTERNAL"         // INTERNAL, without details: a Cost or Priority that makes no sense; or a function of Config panicked
)

// why is a reason, with its answer.
type why struct {
	reason Reason
	code   codes.Code
	err    error // by which errors.Is recognizes it
	detail string
	later  bool // it makes sense to try this server again
}

// reasons are in the order of the counters; the last one is any other error.
var reasons = [...]why{
	{TenantFull, codes.ResourceExhausted, firq.ErrTenantFull, "you have too many calls waiting", true},
	{TenantThreshold, codes.ResourceExhausted, firq.ErrTenantThreshold, "you have too many calls waiting for how busy the server is", true},
	{TooManyTenants, codes.ResourceExhausted, firq.ErrTooManyTenants, "too many clients are waiting", true},
	{Evicted, codes.ResourceExhausted, gate.ErrEvicted, "a later call of yours took the place of this one", true},
	{Overload, codes.ResourceExhausted, gate.ErrOverload, "your calls have been waiting for too long", true},
	{GlobalFull, codes.Unavailable, firq.ErrGlobalFull, "too many calls are waiting", true},
	{RateLimited, codes.ResourceExhausted, rate.ErrLimited, "you have used what you may use per second", true},
	{Unavailable, codes.Unavailable, gate.ErrUnavailable, "the server cannot decide now whether it may serve the call", true}, // before DEADLINE_EXCEEDED, which it may wrap
	{Timeout, codes.Unavailable, firq.ErrTimeout, "the call could not be served in time", true},
	{Closed, codes.Unavailable, firq.ErrClosed, "the server is shutting down", false},
	{ClientDeadline, codes.DeadlineExceeded, context.DeadlineExceeded, context.DeadlineExceeded.Error(), false},
	{Cancelled, codes.Canceled, context.Canceled, context.Canceled.Error(), false},
	{Internal, codes.Internal, nil, "", false}, // the detail is the error's
}

// internal is the last of reasons.
const internal = len(reasons) - 1

// transport is how much earlier than the deadline, as this server knows it, the
// client's own deadline can be: it began to count when it sent the call, this server
// when it had received it. A client whose deadline passes says so immediately, by
// RST_STREAM, which ends the context as cancelled; usually that is here before the
// timer of this server.
const transport = 10 * time.Millisecond

// reasonOf returns the index of an error's reason. Where the gate noticed first
// that time is up, and the client's is, it was the client's deadline; also where the
// client gave up when its deadline was there, or all but.
func reasonOf(ctx context.Context, err error) int {
	if ended := ctx.Err(); ended != nil && errors.Is(err, firq.ErrTimeout) {
		err = ended
	}
	if errors.Is(err, context.Canceled) {
		if d, ok := ctx.Deadline(); ok && time.Until(d) <= transport {
			err = context.DeadlineExceeded
		}
	}
	for i, r := range reasons {
		if r.err != nil && errors.Is(err, r.err) {
			return i
		}
	}
	return internal
}

// pushback is the trailer of gRFC A6.
const pushback = "grpc-retry-pushback-ms"

// answer is the status and trailer of a refused call. Answers are shared, because refusing has to be cheap.
type answer struct {
	status  error       // immutable
	trailer metadata.MD // nil: none
}

// answers holds the answers of an Interceptor; each is made when it is
// needed first. There are few: a delay that is estimated is one of about 170.
type answers struct {
	domain string
	made   sync.Map // of asked, *answer
}

// asked is the key of an answer.
type asked struct {
	reason int           // index of reasons
	delay  time.Duration // below 1: none is asked for
}

// answer returns the answer for a reason and a delay.
func (a *answers) answer(reason int, delay time.Duration) (*answer, error) {
	key := asked{reason, delay}
	if !reasons[reason].later {
		key.delay = 0
	}
	if made, ok := a.made.Load(key); ok {
		return made.(*answer), nil
	}
	made, err := a.build(key)
	if err == nil && reasons[reason].reason != RateLimited { // whose delays are too many to keep
		a.made.Store(key, made)
	}
	return made, err
}

// build makes one. It fails if the domain is not UTF-8.
func (a *answers) build(key asked) (*answer, error) {
	return reasons[key.reason].answer(a.domain, key.delay)
}

// answer makes one.
func (r *why) answer(domain string, delay time.Duration) (*answer, error) {
	made := &answer{}
	st := status.New(r.code, "firq: "+r.detail)
	if r.code == codes.ResourceExhausted || r.code == codes.Unavailable {
		details := []protoadapt.MessageV1{&errdetails.ErrorInfo{Reason: string(r.reason), Domain: domain}}
		if delay > 0 {
			details = append(details, &errdetails.RetryInfo{RetryDelay: durationpb.New(delay)})
			ms := (delay-1)/time.Millisecond + 1 // rounded up
			made.trailer = metadata.Pairs(pushback, strconv.FormatInt(int64(ms), 10))
		}
		var err error
		if st, err = st.WithDetails(details...); err != nil {
			return nil, err
		}
	}
	made.status = st.Err()
	return made, nil
}

// reject counts the error of the gate and turns it into what the call returns.
func (i *Interceptor) reject(v *visit, err error, setTrailer func(metadata.MD)) error {
	n := reasonOf(v.ctx, err)
	v.counted = true
	i.rejected[n].Add(1)
	answered := false
	if i.cfg.Observe != nil {
		o := Outcome{Tenant: v.tenant, Reason: reasons[n].reason, Err: err, Waited: v.waited()}
		defer func() {
			o.Aborted = !answered
			i.cfg.Observe(v.ctx, v.call, o)
		}()
	}
	st := status.Error(codes.Internal, err.Error())
	if n != internal {
		a, err := i.answers.answer(n, i.delay(n, v.after))
		if err != nil {
			panic("firq: firqgrpc: " + err.Error()) // Open has tried one
		}
		if a.trailer != nil {
			setTrailer(a.trailer)
		}
		st = a.status
	}
	answered = true
	return st
}

// delay returns how long a rejected client should wait; below 1: no delay is named. after is
// what the rate says.
func (i *Interceptor) delay(reason int, after time.Duration) time.Duration {
	if i.cfg.RetryDelay != 0 || !reasons[reason].later {
		return i.cfg.RetryDelay
	}
	if reasons[reason].reason == RateLimited {
		return max(after, 1)
	}
	now := time.Now()
	return adapter.Spread(i.estimator.Estimate(now, int(i.waiting.Load()), i.served.Load()), rand.Float64()) //nolint:gosec // chance, not a secret
}
