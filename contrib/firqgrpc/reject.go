package firqgrpc

import (
	"context"
	"errors"
	"strconv"
	"time"

	"google.golang.org/genproto/googleapis/rpc/errdetails"
	"google.golang.org/grpc/codes"
	"google.golang.org/grpc/metadata"
	"google.golang.org/grpc/status"
	"google.golang.org/protobuf/protoadapt"
	"google.golang.org/protobuf/types/known/durationpb"

	"github.com/firq-go/firq"
	"github.com/firq-go/firq/gate"
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
	GlobalFull      Reason = "GLOBAL_FULL"      // UNAVAILABLE: as many wait as may (firq.ErrGlobalFull)
	Timeout         Reason = "TIMEOUT"          // UNAVAILABLE: Config.Deadline or gate.Config.MaxQueueAge passed
	Closed          Reason = "CLOSED"           // UNAVAILABLE: the gate is shut down
	ClientDeadline  Reason = "CLIENT_DEADLINE"  // DEADLINE_EXCEEDED, without details
	Cancelled       Reason = "CANCELLED"        // CANCELLED, without details
	Internal        Reason = "INTERNAL"         // INTERNAL, without details: a Cost or Priority that makes no sense
)

// reasons are in the order of the counters; the last one is any other error.
var reasons = [...]struct {
	reason Reason
	code   codes.Code
	err    error // what errors.Is is asked for
	detail string
	later  bool // it makes sense to try this server again
}{
	{TenantFull, codes.ResourceExhausted, firq.ErrTenantFull, "you have too many calls waiting", true},
	{TenantThreshold, codes.ResourceExhausted, firq.ErrTenantThreshold, "you have too many calls waiting for how busy the server is", true},
	{TooManyTenants, codes.ResourceExhausted, firq.ErrTooManyTenants, "too many clients are waiting", true},
	{Evicted, codes.ResourceExhausted, gate.ErrEvicted, "a later call of yours took the place of this one", true},
	{GlobalFull, codes.Unavailable, firq.ErrGlobalFull, "too many calls are waiting", true},
	{Timeout, codes.Unavailable, firq.ErrTimeout, "the call could not be served in time", true},
	{Closed, codes.Unavailable, firq.ErrClosed, "the server is shutting down", false},
	{ClientDeadline, codes.DeadlineExceeded, context.DeadlineExceeded, context.DeadlineExceeded.Error(), false},
	{Cancelled, codes.Canceled, context.Canceled, context.Canceled.Error(), false},
	{Internal, codes.Internal, nil, "", false}, // the detail is the error's
}

// reasonOf returns the index of an error's reason. Where the gate noticed first
// that time is up, and the client's is, it was the client's deadline.
func reasonOf(ctx context.Context, err error) int {
	if ended := ctx.Err(); ended != nil && errors.Is(err, firq.ErrTimeout) {
		err = ended
	}
	for i, r := range reasons {
		if r.err != nil && errors.Is(err, r.err) {
			return i
		}
	}
	return len(reasons) - 1
}

// pushback is the trailer of gRFC A6.
const pushback = "grpc-retry-pushback-ms"

// answer is what a refused call gets: made once, as refusing has to be cheap.
type answer struct {
	status  error       // immutable
	trailer metadata.MD // nil: none
}

// answers makes one for each of reasons, in the same order.
func answers(domain string, delay time.Duration) []answer {
	all := make([]answer, len(reasons))
	for i, r := range reasons {
		st := status.New(r.code, "firq: "+r.detail)
		if r.code == codes.ResourceExhausted || r.code == codes.Unavailable {
			details := []protoadapt.MessageV1{&errdetails.ErrorInfo{Reason: string(r.reason), Domain: domain}}
			if r.later && delay > 0 {
				details = append(details, &errdetails.RetryInfo{RetryDelay: durationpb.New(delay)})
				ms := (delay-1)/time.Millisecond + 1 // rounded up
				all[i].trailer = metadata.Pairs(pushback, strconv.FormatInt(int64(ms), 10))
			}
			var err error
			if st, err = st.WithDetails(details...); err != nil {
				panic("firq: firqgrpc: Domain: " + err.Error())
			}
		}
		all[i].status = st.Err()
	}
	return all
}

// reject counts the error of the gate and turns it into what the call returns.
func (i *Interceptor) reject(ctx context.Context, err error, setTrailer func(metadata.MD)) error {
	n := reasonOf(ctx, err)
	i.rejected[n].Add(1)
	if reasons[n].reason == Internal {
		return status.Error(codes.Internal, err.Error())
	}
	a := i.answers[n]
	if a.trailer != nil {
		setTrailer(a.trailer)
	}
	return a.status
}
