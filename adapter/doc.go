// Package adapter helps to put a gate or a compute.Server in front of a kind of server that
// firqhttp and contrib/firqgrpc, which are made with it, do not serve.
//
//	tenant := adapter.ShortName(request.Key)          // a name of bounded length
//	p, err := g.Acquire(ctx, tenant, gate.Request{})  // of a gate.Gate[string]
//	after := estimator.Estimate(now, waiting, served) // when a refused client should come back
//
// [ShortName] bounds the name that a request gives its tenant. [Client] finds the address of a
// client behind proxies. [Estimator] says when a refused request should come back. [Slot] tells
// whether a request holds a slot already. [CacheStatus] names the origin of an answer, as HTTP does.
//
// # Concurrency properties
//
// Functions and the methods of Client may be called from any goroutine, as long as no goroutine
// changes the Client. An Estimator is safe for concurrent use, and its methods never wait.
package adapter
