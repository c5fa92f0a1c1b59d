package firqhttp

import (
	"errors"
	"math/rand/v2"
	"net/http"
	"strconv"
	"strings"
	"time"

	"github.com/firq-go/firq"
	"github.com/firq-go/firq/compute"
	"github.com/firq-go/firq/internal/retry"
)

// TooManyWaiters, 429, is a reason of RejectError alone: as many calls wait for the
// execution of one key as may (compute.ErrTooManyWaiters).
const TooManyWaiters Reason = "too_many_waiters"

// tooManyWaiters is the detail of that.
const tooManyWaiters = "Too many requests wait for the same result."

// RejectError answers a request whose compute.Server.Do, or gate.Gate.Acquire, ended with
// err, if that is a refusal (firq.ErrRejected), the end of a context, or firq.ErrClosed:
// with the status, the reason and the problem document that Middleware has for it
// (WriteProblem), and for all but firq.ErrClosed with a Retry-After of 1 or 2 s, by chance.
// Any other error, and nil, is the handler's to answer: then it returns false, and has
// written nothing. That holds for a *compute.PanicError, whatever the panic was with.
func RejectError(w http.ResponseWriter, r *http.Request, err error) bool {
	if err == nil {
		return false
	}
	if p := (*compute.PanicError)(nil); errors.As(err, &p) {
		return false
	}
	rej := Rejection{Err: err}
	switch i := reasonOf(err); {
	case errors.Is(err, compute.ErrTooManyWaiters):
		rej.Reason, rej.Status = TooManyWaiters, http.StatusTooManyRequests
	case reasons[i].err != nil:
		rej.Reason, rej.Status = reasons[i].reason, reasons[i].status
	case errors.Is(err, firq.ErrRejected): // none that firq knows
		rej.Reason, rej.Status = GlobalFull, http.StatusServiceUnavailable
	default:
		return false
	}
	if rej.Reason != Closed {
		rej.RetryAfter = retry.Seconds(retry.Least, rand.Float64()) //nolint:gosec // chance, not a secret
	}
	WriteProblem(w, r, rej)
	return true
}

// CacheStatus says in the headers of a response where its content comes from: in
// Cache-Status (RFC 9211), for the cache of this name, and of what was kept in Age,
// whole seconds. What other caches have said in Cache-Status stays before it. Call it
// before the header is written. Of compute.None it says nothing.
func CacheStatus(h http.Header, name string, i compute.Info) {
	text := item(name)
	switch i.Source {
	case compute.Hit:
		text += "; hit"
	case compute.Stale:
		text += "; hit; detail=stale"
	case compute.Coalesced:
		text += "; fwd=miss; collapsed"
	case compute.Executed:
		text += "; fwd=miss"
	case compute.None:
		return
	default:
		return
	}
	h.Add("Cache-Status", text)
	if i.Source == compute.Hit || i.Source == compute.Stale {
		h.Set("Age", strconv.FormatInt(int64(max(i.Age, 0)/time.Second), 10))
	}
}

// item returns a name as a structured field has it (RFC 9651): a token if it can be one,
// else a string, in which what is not printable ASCII becomes a question mark.
func item(name string) string {
	token := name != ""
	for i, c := range name {
		letter := c >= 'a' && c <= 'z' || c >= 'A' && c <= 'Z' || c == '*'
		if !letter && (i == 0 || (c < '0' || c > '9') && !strings.ContainsRune("!#$%&'+-.^_`|~:/", c)) {
			token = false
		}
	}
	if token {
		return name
	}
	var b strings.Builder
	b.WriteByte('"')
	for _, c := range name {
		switch {
		case c < ' ' || c > '~':
			c = '?'
		case c == '"' || c == '\\':
			b.WriteByte('\\')
		}
		b.WriteRune(c)
	}
	b.WriteByte('"')
	return b.String()
}
