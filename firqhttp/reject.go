package firqhttp

import (
	"context"
	"encoding/json"
	"errors"
	"net/http"
	"reflect"
	"strconv"
	"time"

	"github.com/firq-go/firq"
	"github.com/firq-go/firq/gate"
	"github.com/firq-go/firq/rate"
)

// Reason says in one word why a request was not served. The words are stable.
type Reason string

// The reasons, and the status that each is answered with.
const (
	TenantFull      Reason = "tenant_full"      // 429: the tenant's queue is full (firq.ErrTenantFull), or Config.MaxReadingPerTenant is reached
	TenantThreshold Reason = "tenant_threshold" // 429: firq.ErrTenantThreshold
	TooManyTenants  Reason = "too_many_tenants" // 429: firq.ErrTooManyTenants
	Evicted         Reason = "evicted"          // 429: a later one of the tenant took its place (gate.ErrEvicted)
	Overload        Reason = "overload"         // 429: those of the tenant have waited for too long (gate.ErrOverload)
	GlobalFull      Reason = "global_full"      // 503: the queue of all tenants is full (firq.ErrGlobalFull), or Config.MaxReading is reached
	RateLimited     Reason = "rate_limited"     // 429: the tenant has used its rate (rate.ErrLimited; Config.Rate)
	Unavailable     Reason = "unavailable"      // 503: what decides cannot be reached (gate.ErrUnavailable)
	Timeout         Reason = "timeout"          // 503: its deadline, the context's, or MaxQueueAge passed
	Closed          Reason = "closed"           // 503: the gate is shut down
	Cancelled       Reason = "cancelled"        // 503: the context was cancelled (the client has gone, as a rule), or the body did not come in time
	BadRequest      Reason = "bad_request"      // 400: Config.Deadline returned an error
	Internal        Reason = "internal"         // 500: a Cost or Priority that makes no sense; or a function of Config panicked
)

// reasons are in the order of the counters.
var reasons = [...]struct {
	reason Reason
	status int
	err    error // by which errors.Is recognizes it
	detail string
}{
	{TenantFull, http.StatusTooManyRequests, firq.ErrTenantFull, "You have too many requests waiting."},
	{TenantThreshold, http.StatusTooManyRequests, firq.ErrTenantThreshold, "You have too many requests waiting for how busy the service is."},
	{TooManyTenants, http.StatusTooManyRequests, firq.ErrTooManyTenants, "Too many clients are waiting."},
	{Evicted, http.StatusTooManyRequests, gate.ErrEvicted, "A later request of yours took the place of this one."},
	{Overload, http.StatusTooManyRequests, gate.ErrOverload, "Your requests have been waiting for too long."},
	{GlobalFull, http.StatusServiceUnavailable, firq.ErrGlobalFull, "Too many requests are waiting."},
	{RateLimited, http.StatusTooManyRequests, rate.ErrLimited, "You have used what you may use per second."},
	{Unavailable, http.StatusServiceUnavailable, gate.ErrUnavailable, "The service cannot decide now whether it may serve the request."}, // first: it may wrap an expired context
	{Timeout, http.StatusServiceUnavailable, firq.ErrTimeout, "The request could not be served in time."},
	{Timeout, http.StatusServiceUnavailable, context.DeadlineExceeded, "The request could not be served in time."},
	{Closed, http.StatusServiceUnavailable, firq.ErrClosed, "The service is shutting down."},
	{Cancelled, http.StatusServiceUnavailable, context.Canceled, "The request was cancelled."},
	{BadRequest, http.StatusBadRequest, nil, ""}, // the detail is the error's
	{Internal, http.StatusInternalServerError, nil, ""},
}

// The last of reasons.
const (
	badRequested = len(reasons) - 2
	internal     = len(reasons) - 1
)

// reasonOf returns the index of an error's reason.
func reasonOf(err error) int {
	for i := range reasons {
		if reasons[i].err != nil && errors.Is(err, reasons[i].err) {
			return i
		}
	}
	if bad := (*badRequest)(nil); errors.As(err, &bad) {
		return badRequested
	}
	return internal
}

// badRequest is the error of Config.Deadline.
type badRequest struct{ error }

func (b *badRequest) Unwrap() error { return b.error }

// Rejection says why a request is not served.
type Rejection struct {
	// Reason is the reason in one word.
	Reason Reason
	// Status is the status that belongs to it.
	Status int
	// RetryAfter is the result of Config.RetryAfter; 0: none, always with a status other
	// than 429 and 503. That function itself finds here, with reason RateLimited, when a
	// request of this cost will pass.
	RetryAfter time.Duration
	// Tenant is the request's tenant, as the gate knows it: a long name is shortened
	// (ShortName).
	Tenant string
	// Err is the gate's error, or says which limit of Config was reached, or is that of
	// Config.Deadline, or of reading the body.
	Err error
}

// problem is a problem document, RFC 9457, with one extension.
type problem struct {
	Title  string `json:"title"` // the status in words, as about:blank wants it
	Status int    `json:"status"`
	Detail string `json:"detail,omitempty"`
	Reason Reason `json:"reason"`
}

// WriteProblem answers with a problem document (RFC 9457): of type about:blank, so
// its title is the status in words, and with the member reason. It says nothing
// of the tenant. With reason Closed it asks the client to close the connection.
//
// Headers that middleware outside has set for another answer are removed:
// Content-Length, ETag, Last-Modified, and Content-Encoding if w is net/http's own (or
// httptest's); a wrapper around it may be compressing.
func WriteProblem(w http.ResponseWriter, _ *http.Request, rej Rejection) {
	body := problem{Title: http.StatusText(rej.Status), Status: rej.Status, Reason: rej.Reason}
	if i := reasonOf(rej.Err); reasons[i].reason == rej.Reason {
		body.Detail = reasons[i].detail
	}
	switch rej.Reason {
	case BadRequest:
		if rej.Err != nil {
			body.Detail = rej.Err.Error()
		}
	case TooManyWaiters:
		body.Detail = tooManyWaiters
	}
	text, err := json.Marshal(body)
	if err != nil {
		panic("firq: firqhttp: " + err.Error()) // strings and a number
	}
	h := w.Header()
	h.Set("Content-Type", "application/problem+json")
	h.Set("Cache-Control", "no-store")
	h.Set("X-Content-Type-Options", "nosniff")
	h.Del("Content-Length")
	h.Del("Etag")
	h.Del("Last-Modified")
	if h.Get("Content-Encoding") != "" && bare(w) {
		h.Del("Content-Encoding")
	}
	if rej.Reason == Closed {
		h.Set("Connection", "close") // HTTP/2: GOAWAY
	}
	if rej.RetryAfter > 0 {
		seconds := (rej.RetryAfter-1)/time.Second + 1 // rounded up
		h.Set("Retry-After", strconv.FormatInt(int64(seconds), 10))
	}
	w.WriteHeader(rej.Status)
	_, _ = w.Write(text) // the client may have gone
}

// bare reports whether no writer stands between w and the connection.
func bare(w http.ResponseWriter) bool {
	t := reflect.TypeOf(w)
	if t.Kind() != reflect.Pointer {
		return false
	}
	switch t.Elem().PkgPath() {
	case "net/http", "net/http/httptest", "golang.org/x/net/http2":
		return true
	}
	return false
}
