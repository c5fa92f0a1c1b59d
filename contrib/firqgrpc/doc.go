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
// Put it after authentication, so that nobody can use up another tenant's share,
// and before what costs much. Who can choose a name freely has as many turns as names,
// and beats fairness: let only names in that were verified, or that are Known.
//
// Fairness is about turns, not about how long a turn lasts: streams of one client can
// hold all slots. gate.Config.MaxInFlightPerTenant bounds how many one tenant holds.
//
// # What holds a slot
//
// A unary call holds one slot of the gate while its handler runs, a stream until
// its handler returns; also if the handler panics. A stream that is idle most of
// the time can hold a slot per message instead: Config.PerMessage. Health checks
// and reflection hold none, unless Config.Skip says otherwise: a server that is
// full is not a sick one. What a call really cost can be corrected with Charge.
//
// A client that gives up frees its place in the queue at once. The deadline that a
// client sets (grpc-timeout) is that of the context, and ends the wait.
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
//	TIMEOUT           UNAVAILABLE         firq.ErrTimeout: Config.Deadline, gate.Config.MaxQueueAge
//	CLOSED            UNAVAILABLE         firq.ErrClosed
//	CLIENT_DEADLINE   DEADLINE_EXCEEDED   the client's deadline passed
//	CANCELLED         CANCELLED           the client gave up
//	INTERNAL          INTERNAL            a Cost or Priority that makes no sense; or a
//	                                      function of Config panicked
//
// RESOURCE_EXHAUSTED says that this tenant asks for too much, UNAVAILABLE that the
// server cannot now, so that a client or proxy may try another one. Both carry
// google.rpc.ErrorInfo with the Reason, and all but CLOSED also google.rpc.RetryInfo
// and the trailer grpc-retry-pushback-ms, which clients with a retry policy obey
// (gRFC A6): how long to wait before the next try, by default an estimate
// (Config.RetryDelay). With CLOSED there is no use in waiting for this server.
//
// A client whose deadline passes says so by RST_STREAM, which is here a moment before
// this server's own timer as a rule. So a call that is cancelled within 10 ms of its
// deadline counts as CLIENT_DEADLINE.
//
// # Results of package compute
//
// A handler that asks a compute.Server turns its refusals, ends of contexts and
// firq.ErrClosed into the same answers by RejectError (and TOO_MANY_WAITERS,
// RESOURCE_EXHAUSTED, for compute.ErrTooManyWaiters), and says where a response comes from
// by CacheStatus.
//
// # Concurrency properties
//
// Every method may be called from anywhere. There is no goroutine. The functions of
// Config are called by the goroutine of the call, with no lock held.
//
// # What it is not
//
// It does not authenticate anybody, does not limit rates, and knows of one process
// only, as firqhttp.
package firqgrpc
