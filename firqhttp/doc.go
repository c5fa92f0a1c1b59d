// Package firqhttp is net/http middleware that shares a service fairly among its
// callers: at most so many requests are served at a time, and when more come, the
// tenants take turns (package gate), instead of whoever sends most.
//
//	g := gate.New[string](64, gate.Config[string]{MaxPerTenant: 100})
//	m := firqhttp.New(g, firqhttp.Config{Tenant: firqhttp.APIKey()})
//	http.ListenAndServe(addr, m.Handler(mux))
//
// # What a request goes through
//
// Its tenant is read from it, and so are its priority, its cost and its deadline,
// if Config says how. It waits for its turn. If its client goes away meanwhile,
// its place is free at once. If it cannot be served, it gets 429 or 503 with a
// Retry-After and a problem document (RFC 9457) that says why.
//
// It holds its slot until its handler has returned, or has panicked; streaming
// responses so hold it all along. A hijacked connection (a WebSocket, say) holds
// it until it is closed as well, if that is later: it has to be closed.
//
// # What it is not
//
// It does not authenticate anybody: a tenant is whom the request says it is, so
// what says it has to be verified, here or upstream. It does not limit rates: who
// is alone gets everything. It knows of one process only.
//
// # Routers
//
// Middleware.Handler has the signature that net/http, chi and many others want:
// r.Use(m.Handler). Echo has echo.WrapMiddleware; for Gin see the example in
// contrib/firqhttpexamples. All of them can also be wrapped as a whole.
package firqhttp
