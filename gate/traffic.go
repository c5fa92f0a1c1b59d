package gate

// Traffic is what a server's middleware over a Gate counts of its requests
// (firqhttp.Middleware, firqgrpc.Interceptor), in one form for every protocol: for
// programs that export the numbers and must not depend on each protocol. While
// requests are in progress its fields need not be from the same instant.
type Traffic struct {
	InFlight int    // requests that hold a slot
	Waiting  int    // requests that wait for one
	Reading  int    // those of Waiting whose bodies are being read first, before they queue
	Served   uint64 // requests that got one
	Skipped  uint64 // requests that were let through without one
	// Rejected counts the requests that got none, by reason in lower case. It has
	// every reason there is, those too that have not occurred yet. It is the
	// reader's own.
	Rejected map[string]uint64
}
