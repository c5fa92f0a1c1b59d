package gate

// Traffic is what a server's middleware over a Gate counts of its requests
// (firqhttp.Middleware, firqgrpc.Interceptor), in one form for every protocol: for
// programs that export the numbers and must not depend on each protocol. While
// requests are in progress its fields need not be from the same instant.
type Traffic struct {
	InFlight int    // requests that hold a slot
	Waiting  int    // requests that wait for one
	Reading  int    // those of Waiting whose bodies are being read before they queue
	Served   uint64 // requests that got one
	Skipped  uint64 // requests that were let through without one
	// Rejected counts the requests that got none, by reason in lower case. It has every
	// reason, even those that have not occurred yet. The map belongs to the caller.
	Rejected map[string]uint64
}
