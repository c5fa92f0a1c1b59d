package firqhttp

import (
	"errors"
	"math/rand/v2"
	"net/http"

	"github.com/firq-go/firq"
	"github.com/firq-go/firq/adapter"
	"github.com/firq-go/firq/compute"
)

// TooManyWaiters, 429, is a reason of RejectError alone: too many calls already wait
// for the execution of one key (compute.ErrTooManyWaiters).
const TooManyWaiters Reason = "too_many_waiters"

// tooManyWaiters is the detail of that.
const tooManyWaiters = "Too many requests wait for the same result."

// RejectError answers a request whose compute.Server.Do, or gate.Gate.Acquire, ended with
// err, if that is a refusal (firq.ErrRejected), the end of a context, or firq.ErrClosed:
// with the status, the reason and the problem document that Middleware has for it
// (WriteProblem), and for all but firq.ErrClosed with a Retry-After of 1 or 2 s, by chance.
// Any other error, and nil, is the handler's to answer: then it returns false, and has
// written nothing. That holds for a *compute.PanicError, whatever the panic was with. It
// holds nothing back, as Middleware and JSON do (Config.HoldBack).
func RejectError(w http.ResponseWriter, r *http.Request, err error) bool {
	rej, ok := refusal(err)
	if ok {
		WriteProblem(w, r, rej)
	}
	return ok
}

// refusal returns the answer of RejectError; false: the handler has to answer.
func refusal(err error) (rej Rejection, ok bool) {
	if p := (*compute.PanicError)(nil); err == nil || errors.As(err, &p) {
		return rej, false
	}
	rej.Err = err
	switch i := reasonOf(err); {
	case errors.Is(err, compute.ErrTooManyWaiters):
		rej.Reason, rej.Status = TooManyWaiters, http.StatusTooManyRequests
	case reasons[i].err != nil:
		rej.Reason, rej.Status = reasons[i].reason, reasons[i].status
	case errors.Is(err, firq.ErrRejected): // none that firq knows
		rej.Reason, rej.Status = GlobalFull, http.StatusServiceUnavailable
	default:
		return rej, false
	}
	if rej.Reason != Closed {
		rej.RetryAfter = adapter.SpreadSeconds(adapter.LeastRetry, rand.Float64()) //nolint:gosec // chance, not a secret
	}
	return rej, true
}

// CacheStatus says in the headers of a response where its content comes from: in
// Cache-Status (RFC 9211), for the cache of this name, and of what was kept in Age,
// whole seconds. What other caches have said in Cache-Status stays before it. Call it
// before the header is written. Of compute.None it says nothing.
func CacheStatus(h http.Header, name string, i compute.Info) {
	status, age := adapter.CacheStatus(name, i)
	if status != "" {
		h.Add("Cache-Status", status)
	}
	if age != "" {
		h.Set("Age", age)
	}
}
