// Package firqfleet shares the slots of a gate between all processes of a service, on Redis or Valkey: a limit that holds for
// all replicas together, fair by tenant and cost wherever the calls are.
//
//	g, err := firqfleet.New(ctx, 64, firqfleet.Config{Client: client, Name: "api"})
//	...
//	p, err := g.Acquire(ctx, tenant, gate.Request{})
//	if err != nil { ... }
//	defer p.Release()
//
// A Gate is a gate.Acquirer: firqhttp and firqgrpc take it in place of a gate.Gate.
//
// While no call waits anywhere, each process keeps a few free slots, and gives them out without asking the server. As soon as one
// waits, free slots go back, and the server gives turns: to the tenant that was served least by its weight (start-time fair queueing), on a
// slot that the tenant's calls in that process use one after another for up to Config.Slice.
//
// Each process has a lease, which its round trips renew. A process of which nothing is heard loses its slots to others when
// the lease ends, and knows that by its own clock: it gives out nothing more, unless Config.Down says otherwise. What holds
// when is in docs/fleet.md.
package firqfleet
