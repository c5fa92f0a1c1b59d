package firqgrpc

import (
	"context"
	"time"

	"github.com/firq-go/firq"
	"github.com/firq-go/firq/rate"
)

// DefaultDomain is the default of Config.Domain.
const DefaultDomain = "firq"

// Call is what the functions of Config can look at, besides the context (metadata,
// peer). It must not be changed, nor kept after they return.
type Call struct {
	// Method is the full name, "/package.Service/Method".
	Method string
	// Request is the message of a unary call, or the one of a stream that is
	// gated by message; nil for a stream as a whole, which has none yet.
	Request any
	// ClientStream and ServerStream say which side sends a stream.
	ClientStream, ServerStream bool
}

// Config says which calls belong to which tenant. The zero value is useful: a tenant per
// client address. Its functions are called by many goroutines concurrently, never with
// a lock held. They may panic, as a handler may: the panic goes to the server, the
// call gives back what it holds, and it is counted once, as rejected with Internal
// if it was neither served nor rejected yet.
type Config struct {
	// Tenant says whose call it is. A name of more than 64 bytes is shortened
	// (ShortName). One that is cut out of a longer text keeps all of that in memory as
	// long as the tenant is remembered: strings.Clone it. nil: Peer, the client's
	// address.
	Tenant TenantFunc
	// Anonymous is the tenant of calls of which Tenant does not know whose they
	// are: they share one turn. Its zero value is a fine name.
	Anonymous string
	// Flow says whose call it is inside its tenant, by any number: a hash of the
	// user's name, or of the method. The flows of a tenant share what the tenant gets
	// (gate.Config.MaxFlows), so that one user cannot starve the others. nil: 0, all
	// are alike.
	Flow func(context.Context, *Call) uint64
	// Cost in work units, for fairness: 0 counts as 1; negative answers INTERNAL.
	// nil: 1.
	Cost func(context.Context, *Call) int64
	// Priority of the call among those of its tenant (or among all calls, as
	// gate.Config.PriorityScope says): 0 is firq.PriorityNormal; above
	// firq.PriorityCritical answers INTERNAL. nil: normal. See MetadataPriority.
	Priority func(context.Context, *Call) firq.Priority
	// Deadline after which the call is not let in any more; zero: none. The
	// context's own, which is the client's, counts in any case. nil: none. See
	// DeadlineBefore.
	Deadline func(context.Context, *Call) time.Time
	// Skip lets calls through that need no slot. nil: Infrastructure, which are
	// health checks and reflection.
	Skip func(*Call) bool
	// PerMessage says which streams take a slot for each message that they
	// receive, from its receipt until the handler receives the next one, or
	// returns, instead of one for all their life. While it waits for a message, and
	// after the last one (io.EOF), the stream then holds no slot; nor does what the
	// handler leaves to other goroutines. Cost and the others are asked for each
	// message. If there is no slot for a message, the handler's Recv returns the
	// error, and should return it. nil: none.
	PerMessage func(*Call) bool
	// Rate limits what a tenant may use per second (package rate), in the unit of Cost: a
	// call, or a message, takes its cost before the gate is asked, and gets it back if it
	// is not served. Charge corrects it. A call that is refused has RetryInfo. nil: no
	// limit.
	Rate rate.Taker[string]
	// RateWait is how long a call may wait for its rate; what would have to wait for
	// longer, or beyond its deadline, is rejected immediately. 0: nothing waits.
	RateWait time.Duration
	// RetryDelay returns how long a rejected client should wait; below 0: it is asked
	// nothing.
	//
	// 0: an estimate. The calls of this interceptor that wait, divided by the number
	// that it let in per second lately, is when the calls that wait now will have been
	// served; at least 1 s, at most 60 s. By chance up to a half of it is added, so
	// that not all rejected callers come back together. Until it has rejected calls
	// for a second, it is 1 s to 1.5 s. With RATE_LIMITED it is when a call of this cost
	// will pass.
	RetryDelay time.Duration
	// Observe is called for each call that was served or rejected (of a
	// stream that is gated by message: of each message): once, when its slot is free
	// again, or when it is rejected, by the goroutine that freed it. nil: nothing is
	// told, and no clock is read.
	Observe func(context.Context, *Call, Outcome)
	// Domain of the reasons in google.rpc.ErrorInfo; valid UTF-8. Empty: "firq".
	Domain string
}

// defaults returns the config with every default filled in.
func (c Config) defaults() Config {
	if c.Tenant == nil {
		c.Tenant = Peer
	}
	if c.Flow == nil {
		c.Flow = func(context.Context, *Call) uint64 { return 0 }
	}
	if c.Cost == nil {
		c.Cost = func(context.Context, *Call) int64 { return 0 }
	}
	if c.Priority == nil {
		c.Priority = func(context.Context, *Call) firq.Priority { return 0 }
	}
	if c.Deadline == nil {
		c.Deadline = func(context.Context, *Call) time.Time { return time.Time{} }
	}
	if c.Skip == nil {
		c.Skip = Infrastructure
	}
	if c.PerMessage == nil {
		c.PerMessage = func(*Call) bool { return false }
	}
	if c.Domain == "" {
		c.Domain = DefaultDomain
	}
	return c
}
