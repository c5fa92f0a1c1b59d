// Package firqhttp is net/http middleware that shares a service fairly among its
// callers: it limits how many requests are served at a time, and when more come, the
// tenants take turns (package gate), so the tenant that sends most does not get most.
//
//	g := gate.New(64, gate.Config[string]{MaxPerTenant: 100, MaxInFlightPerTenant: 32})
//	m := firqhttp.New(g, firqhttp.Config{Tenant: firqhttp.FirstOf(
//		firqhttp.Known(firqhttp.APIKey(), customers.Has),
//		firqhttp.Remote{}.Tenant,
//	)})
//	server := &http.Server{Addr: addr, Handler: m.Handler(mux), ReadTimeout: time.Minute}
//
// Here customers is a set of KeyTenant(key) for each API key that there is: by that name
// the gate knows the owner of a key. The functions of gate.Config get it as well, so a key
// has its own weight by QuantumFor, and its own limits by MaxPerTenantFor and
// MaxInFlightFor (see the example Weights).
//
// # What a request goes through
//
// The middleware reads the request's tenant and, if Config says how, its priority, its
// cost and its deadline. If there is a Config.Rate, the request takes its cost from it. It reads the beginning of the body (Config.BufferBody), and
// the request waits for its turn. A request that cannot be served gets 429 or 503 with
// a Retry-After and a problem document (RFC 9457) that says why.
//
// A request holds its slot until its handler has returned, or has panicked, so a
// streaming response holds it all along. A hijacked connection (a WebSocket, say) holds
// the slot until it is closed, if that is later, so it has to be closed. (If a handler
// panics after it hijacked, no code may be left to close the connection, so the slot is
// freed.) http.TimeoutHandler belongs outside of the middleware: inside it returns at
// its timeout, which frees the slot, while the handler that it has started runs on, and
// more handlers run than the gate has slots.
//
// # Clients that go away
//
// If the client of a waiting request goes away, its place is free immediately, and its
// handler never runs. Over HTTP/1.1 net/http notices this only once the body was read
// to its end. So it does not notice while a request waits
//
//   - with a body that is longer than Config.BufferBody;
//   - with a body whose length is not known beforehand, without Config.BufferStreams;
//   - if Config.BufferBody is below 0.
//
// Only a deadline bounds how long these wait: gate.Config.MaxQueueAge, or
// Config.Deadline. HTTP/2 notices in every case. A client that closes only its half of
// the connection after it has sent its request counts as gone. This is net/http's rule.
//
// # How long a turn lasts
//
// Fairness is about turns: which tenant is next, and how often. It says nothing about
// how long a turn lasts, so clients that send or read slowly can occupy all slots, one
// turn each, and so can WebSockets.
//
//   - gate.Config.MaxInFlightPerTenant bounds how many slots one tenant holds, and so
//     keeps the others going.
//   - http.Server.ReadTimeout bounds how long a request takes to arrive. A body that
//     fits into Config.BufferBody holds no slot while it arrives. Where ReadTimeout is
//     too coarse, middleware outside can set a read deadline per request
//     (http.ResponseController.SetReadDeadline).
//   - http.Server.WriteTimeout, or a write deadline, bounds slow readers. Requests that
//     last for long on purpose, streams and WebSockets, are best exempted by
//     Config.Skip, or given their own gate.
//
// # What it is not
//
// The middleware does not authenticate clients: a tenant is the name in the request. A
// client that can choose a name freely has as many turns as names, and defeats
// fairness, so accept only names that were verified, here or upstream, or that are
// Known. A tenant that is alone gets everything, up to MaxInFlightPerTenant, unless
// Config.Rate limits what it uses per second. The middleware knows one process only, unless
// its gate and its rate know more (contrib/firqfleet).
//
// # Routers
//
// Middleware.Handler has the signature that net/http, chi and many other routers
// expect: r.Use(m.Handler). Echo has echo.WrapMiddleware; for Gin see the example in
// examples/routers. Any of these routers can also be wrapped as a whole.
package firqhttp
