// Package firqgrpc puts a fair gate in front of a gRPC server: a call waits for
// its tenant's turn, and gets an error that clients understand if it cannot wait.
// It is the gRPC sibling of package firqhttp, over the same package gate.
//
// # Usage
//
//	g := gate.New(64, gate.Config[string]{MaxPerTenant: 100, MaxInFlightPerTenant: 32})
//	in := firqgrpc.New(g, firqgrpc.Config{Tenant: firqgrpc.FirstOf(
//		firqgrpc.Known(firqgrpc.Metadata("x-api-key"), customers.Has),
//		firqgrpc.Peer,
//	)})
//	srv := grpc.NewServer(
//		grpc.ChainUnaryInterceptor(authenticate, in.Unary),
//		grpc.ChainStreamInterceptor(authenticateStream, in.Stream),
//	)
//
// Put it after authentication, so that no client can use up another tenant's share, and
// before expensive interceptors. A client that can choose a name freely has as many
// turns as names, and defeats fairness: accept only names that were verified, or that
// are Known.
//
// Fairness is about turns, not about how long a turn lasts, so streams of one client
// can hold all slots. gate.Config.MaxInFlightPerTenant bounds how many one tenant
// holds.
//
// # What holds a slot
//
// A unary call holds one slot of the gate while its handler runs, a stream until its
// handler returns or panics. A stream that is idle most of the time can hold a slot per
// message instead: Config.PerMessage. Health checks and reflection hold none, unless
// Config.Skip says otherwise: a full server is not a sick one. Nor does a call that comes
// through an Interceptor, or a firqhttp.Middleware, of the same gate already: it goes by the
// slot that it has. Charge corrects the cost of a call to what it really was.
//
// A client that gives up frees its place in the queue immediately. The deadline that a
// client sets (grpc-timeout) becomes that of the context, and ends the wait.
//
// # Errors
//
//	Reason            code                why
//	TENANT_FULL       RESOURCE_EXHAUSTED  firq.ErrTenantFull
//	TENANT_THRESHOLD  RESOURCE_EXHAUSTED  firq.ErrTenantThreshold
//	TOO_MANY_TENANTS  RESOURCE_EXHAUSTED  firq.ErrTooManyTenants
//	EVICTED           RESOURCE_EXHAUSTED  gate.ErrEvicted
//	OVERLOAD          RESOURCE_EXHAUSTED  gate.ErrOverload: gate.Config.TargetWait
//	GLOBAL_FULL       UNAVAILABLE         firq.ErrGlobalFull
//	RATE_LIMITED      RESOURCE_EXHAUSTED  rate.ErrLimited: Config.Rate
//	UNAVAILABLE       UNAVAILABLE         gate.ErrUnavailable (a gate that a fleet shares)
//	TIMEOUT           UNAVAILABLE         firq.ErrTimeout: Config.Deadline, gate.Config.MaxQueueAge
//	CLOSED            UNAVAILABLE         firq.ErrClosed
//	CLIENT_DEADLINE   DEADLINE_EXCEEDED   the client's deadline passed
//	CANCELLED         CANCELLED           the client gave up
//	INTERNAL          INTERNAL            a Cost or Priority that makes no sense; or a
//	                                      function of Config panicked
//
// RESOURCE_EXHAUSTED says that this tenant asks for too much. UNAVAILABLE says that the
// server cannot serve the call now, so a client or proxy may try another server. Both
// carry google.rpc.ErrorInfo with the Reason, and all but CLOSED also
// google.rpc.RetryInfo and the trailer grpc-retry-pushback-ms, which clients with a
// retry policy obey (gRFC A6). Both say how long to wait before the next try, by
// default an estimate (Config.RetryDelay). With CLOSED there is no use in waiting for
// this server.
//
// A client whose deadline passes sends RST_STREAM, which as a rule arrives a moment
// before this server's own timer fires. So a call that is cancelled within 10 ms of its
// deadline counts as CLIENT_DEADLINE.
//
// # Results of package compute
//
// A handler that calls a compute.Server uses RejectError to turn refusals, ends of
// contexts and firq.ErrClosed into the same answers (and compute.ErrTooManyWaiters into
// TOO_MANY_WAITERS, RESOURCE_EXHAUSTED), and CacheStatus to say where a response comes
// from.
//
// # Concurrency properties
//
// Every method is safe for concurrent use. The package starts no goroutine. The
// goroutine of the call runs the functions of Config, with no lock held.
//
// # What it is not
//
// As firqhttp, it does not authenticate clients. It limits rates only if Config.Rate says so,
// and knows one process only, unless its gate and its rate know more (contrib/firqfleet).
package firqgrpc
