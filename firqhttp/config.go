package firqhttp

import (
	"fmt"
	"net/http"
	"reflect"
	"time"

	"github.com/firq-go/firq"
	"github.com/firq-go/firq/adapter"
	"github.com/firq-go/firq/gate"
	"github.com/firq-go/firq/rate"
)

// DefaultBufferBody is the default of Config.BufferBody, in bytes.
const DefaultBufferBody = 64 << 10

// DefaultMaxReading is the default of Config.MaxReading.
const DefaultMaxReading = 4096

// maxBufferBody bounds Config.BufferBody: a larger one counts as this.
const maxBufferBody = 256 << 20

// Config says which requests belong to which tenant. The zero value is useful: a tenant per
// client address. Its functions are called by many goroutines concurrently, never with
// a lock held, in the order Skip, Tenant, Flow, Cost, Priority, Deadline, and for a
// request that is rejected RetryAfter and Reject; Observe comes last. They may panic, as a handler may: the panic goes
// to the server, the request gives back what it holds, and it is counted once, as
// rejected with Internal if it was neither served nor rejected yet.
type Config struct {
	// Tenant returns the tenant of a request. A name of more than 64 bytes is shortened
	// (ShortName). A name that is a slice of a longer text, such as a path or a cookie,
	// keeps all of that text in memory as long as the tenant is remembered:
	// strings.Clone it. (The functions of this package do.) nil: Remote{}.Tenant, the
	// client's address.
	Tenant TenantFunc
	// Anonymous is the tenant of the requests for which Tenant finds none: they share
	// one turn. The empty name is fine.
	Anonymous string
	// Flow returns a number for the user or route within the tenant, for example a hash
	// of the name. The flows of a tenant share what the tenant gets
	// (gate.Config.MaxFlows), so that one user cannot starve the others. nil: 0, all
	// are alike.
	Flow func(*http.Request) uint64
	// Cost in work units, for fairness: 0 counts as 1; negative answers 500. Where the
	// handler learns the real cost, Charge corrects it. nil: 1.
	Cost func(*http.Request) int64
	// Priority of the request among those of its tenant (or among all requests, as
	// gate.Config.PriorityScope says): 0 is firq.PriorityNormal; above
	// firq.PriorityCritical answers 500. nil: normal.
	Priority func(*http.Request) firq.Priority
	// Deadline is when the client stops waiting; the earlier of it and the
	// context's counts. A request that cannot be served by then is refused. nil:
	// only the context's. See TimeoutHeader, GRPCTimeout and Earliest.
	Deadline DeadlineFunc
	// Skip lets requests through that need no slot, health checks say. nil: none.
	Skip func(*http.Request) bool
	// Reject answers a request that is not served; it has to write the response.
	// nil: WriteProblem.
	Reject func(http.ResponseWriter, *http.Request, Rejection)
	// RetryAfter returns how long a rejected client should wait, in whole seconds,
	// rounded up; below 1 ns no Retry-After is sent. It is asked for the statuses
	// 429 and 503.
	//
	// nil: an estimate. The requests of this middleware that wait, divided by the
	// number that it let in per second lately, is when requests that wait now will have
	// been served; at least 1 s, at most 60 s, rounded up. By chance up to a half of
	// it is added, so that not all rejected clients come back together. Until it has
	// rejected requests for a second, it is 1 s or 2 s. With reason Closed there
	// is none; with RateLimited it is when a request of this cost will pass, at least 1 s.
	RetryAfter func(*http.Request, Rejection) time.Duration
	// HoldBack is the longest that a rejection is held back if its tenant gets more than
	// 100 a second, so that clients that come back immediately do not take the processors:
	// a rejection costs about as much as any small request. The rest waits, each tenant's
	// for itself (of some that share a place by hash, together), holding nothing but its
	// connection, and until the client goes away, http.Server.Shutdown, or HoldBack is over.
	// At most 4,096 are held at a time. What has waited already (reason Timeout) is not
	// held, nor Closed, Cancelled, and what makes no sense. 0: DefaultHoldBack, 1 s; below
	// 0: never, which is right behind a proxy whose connections to this server are few.
	HoldBack time.Duration
	// BufferBody is how many bytes of a request's body are read before the gate is
	// asked; the handler reads them from memory, and then the rest. So a client that
	// goes away while its request waits is noticed if all of its body was read
	// (HTTP/1.1 looks for it only then), and a client that sends slowly holds no slot
	// while it does. The requests that wait, and whose bodies are read, hold so much
	// memory each at most. 0: DefaultBufferBody, 64 KiB; at most 256 MiB. Below 0:
	// nothing is read, which is right for handlers that answer while they read.
	//
	// How long that may take is not limited here: set http.Server.ReadTimeout, or a
	// read deadline (http.ResponseController) in a middleware outside; a request whose
	// body has not come by then is rejected as Cancelled. How many bodies are read at a
	// time is MaxReading. Of an "Expect: 100-continue" nothing is read before it is sure
	// that the request is not rejected immediately, so that its body is not sent in vain; except
	// with a gate.Config.Policy that evicts, where a look at the queue might cost a waiting
	// request its place.
	BufferBody int
	// MaxReading is how many bodies are read (BufferBody) at a time, and
	// MaxReadingPerTenant how many of them are of one tenant, so that clients which send
	// slowly, or never, occupy only so much memory. Beyond these limits a request is
	// rejected without its body having been read: as TenantFull (429) or GlobalFull (503),
	// with an error that names the limit, and its connection (HTTP/2: its stream) is closed.
	// A body that has arrived already is read in no time, so only slow ones come to many. 0: DefaultMaxReading, 4,096, and for a tenant
	// a quarter of MaxReading. Below 0: no limit.
	MaxReading, MaxReadingPerTenant int
	// BufferStreams reads bodies as BufferBody says even if their length is not known
	// beforehand (chunked, or HTTP/2 without Content-Length). By default they are left
	// to the handler: they may be half of a conversation, or come slowly on purpose.
	BufferStreams bool
	// Rate limits what a tenant may use per second (package rate), in the unit of Cost: a
	// request takes its cost before its body is read and the gate is asked, and gets it
	// back if it is not served. Charge corrects it. What stands between a tenant and its
	// limit is in the headers RateLimit-Policy and RateLimit
	// (draft-ietf-httpapi-ratelimit-headers) of each response. Requests that Skip lets
	// through take nothing. nil: no limit.
	Rate rate.Taker[string]
	// RateWait is how long a request may wait for its rate; what would have to wait for
	// longer, or beyond its deadline, is rejected immediately as RateLimited. 0: nothing
	// waits.
	RateWait time.Duration
	// RateName is the name of the rate in those headers. Empty: "default".
	RateName string
	// Observe is called once for each request that was served or rejected, when its
	// slot is free again (or its rejection is written), by the goroutine that freed it,
	// which is not the handler's if that hijacked the connection. The request is the
	// one that the middleware was given. nil: no call, and no clock is read.
	Observe func(*http.Request, Outcome)
}

// check fills in the defaults.
func (c Config) check(g gate.Acquirer[string]) (Config, error) {
	if err := adapter.CheckGate(g); err != nil {
		return c, fmt.Errorf("%w: firqhttp: %w", firq.ErrInvalidArgument, err)
	}
	if v := reflect.ValueOf(c.Rate); v.Kind() == reflect.Pointer && v.IsNil() {
		return c, fmt.Errorf("%w: firqhttp: Rate: a nil %T", firq.ErrInvalidConfig, c.Rate)
	}
	if c.RateWait < 0 {
		return c, fmt.Errorf("%w: firqhttp: RateWait: %v, must not be negative", firq.ErrInvalidConfig, c.RateWait)
	}
	if c.RateName == "" {
		c.RateName = "default"
	}
	if c.Tenant == nil {
		c.Tenant = Remote{}.Tenant
	}
	if c.Reject == nil {
		c.Reject = WriteProblem
	}
	if c.BufferBody == 0 {
		c.BufferBody = DefaultBufferBody
	}
	c.BufferBody = min(c.BufferBody, maxBufferBody)
	if c.MaxReading == 0 {
		c.MaxReading = DefaultMaxReading
	}
	switch {
	case c.MaxReadingPerTenant != 0:
	case c.MaxReading < 0:
		c.MaxReadingPerTenant = c.MaxReading
	default:
		c.MaxReadingPerTenant = (c.MaxReading + 3) / 4
	}
	return c, nil
}
