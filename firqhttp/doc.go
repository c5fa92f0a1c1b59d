// Package firqhttp is net/http middleware that shares a service fairly among its
// callers: at most so many requests are served at a time, and when more come, the
// tenants take turns (package gate), instead of whoever sends most.
//
//	g := gate.New(64, gate.Config[string]{MaxPerTenant: 100, MaxInFlightPerTenant: 32})
//	m := firqhttp.New(g, firqhttp.Config{Tenant: firqhttp.FirstOf(
//		firqhttp.Known(firqhttp.APIKey(), customers.Has),
//		firqhttp.Remote{}.Tenant,
//	)})
//	server := &http.Server{Addr: addr, Handler: m.Handler(mux), ReadTimeout: time.Minute}
//
// # What a request goes through
//
// Its tenant is read from it, and so are its priority, its cost and its deadline,
// if Config says how. The beginning of its body is read (Config.BufferBody), and it
// waits for its turn. If it cannot be served, it gets 429 or 503 with a Retry-After
// and a problem document (RFC 9457) that says why.
//
// It holds its slot until its handler has returned, or has panicked; streaming
// responses so hold it all along. A hijacked connection (a WebSocket, say) holds
// it until it is closed as well, if that is later: it has to be closed. (If the
// handler panics after it hijacked, nobody may be left to close it, so the slot is
// free.) http.TimeoutHandler belongs outside of the middleware: inside it returns at
// its timeout, which frees the slot, while the handler that it has started runs on,
// and more handlers run than the gate has slots.
//
// # Clients that go away
//
// If the client of a request that waits goes away, its place is free at once, and
// its handler never runs. Over HTTP/1.1 net/http notices that only once the body was
// read to its end. So it is not noticed while a request waits
//
//   - with a body that is longer than Config.BufferBody;
//   - with a body whose length is not known beforehand, without Config.BufferStreams;
//   - if Config.BufferBody is below 0.
//
// Only a deadline bounds how long these wait: gate.Config.MaxQueueAge, or
// Config.Deadline. HTTP/2 notices in every case. A client that closes only its half
// of the connection after it has sent its request counts as gone; that is net/http's
// rule.
//
// # How long a turn lasts
//
// Fairness is about turns: who is next, and how often. It says nothing about how
// long a turn lasts, so clients that send or read slowly can occupy all slots, one
// turn each, and so can WebSockets.
//
//   - gate.Config.MaxInFlightPerTenant bounds how many slots one tenant holds. It is
//     what keeps the others going.
//   - http.Server.ReadTimeout bounds how long a request takes to arrive. A body that
//     fits into Config.BufferBody holds no slot while it arrives. Where ReadTimeout is
//     too coarse, middleware outside can set a read deadline per request
//     (http.ResponseController.SetReadDeadline).
//   - http.Server.WriteTimeout, or a write deadline, bounds slow readers. Requests
//     that last for long on purpose, streams and WebSockets, are best let through by
//     Config.Skip, or given a gate of their own.
//
// # What it is not
//
// It does not authenticate anybody: a tenant is whom the request says it is. Who can
// choose a name freely has as many turns as names, and beats fairness: let only names
// in that were verified, here or upstream, or that are Known. It does not limit
// rates: who is alone gets everything, up to MaxInFlightPerTenant. It knows of one
// process only.
//
// # Routers
//
// Middleware.Handler has the signature that net/http, chi and many others want:
// r.Use(m.Handler). Echo has echo.WrapMiddleware; for Gin see the example in
// contrib/firqhttpexamples. All of them can also be wrapped as a whole.
package firqhttp
