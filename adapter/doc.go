// Package adapter has what an adapter of a gate or a compute.Server to a kind of server needs
// besides: the name that a request gives its tenant, bounded ([ShortName]); the address of a
// client behind proxies ([Client]); when a request that was refused should come back
// ([Estimator]); whether it holds a slot already ([Slot]); where an answer comes from, as HTTP says it ([CacheStatus]). firqhttp and
// contrib/firqgrpc are made with it; an adapter to another kind of server can be, too.
//
// # Concurrency properties
//
// Functions and the methods of Client may be called from any goroutine, as long as no goroutine
// changes the Client. An Estimator is safe for concurrent use, and its methods never wait.
package adapter
