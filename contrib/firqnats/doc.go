// Package firqnats runs actors of package actor on several machines, which NATS connects. An actor has an
// identity, which is its kind and its key; the first message for it starts it on one of the nodes, and at
// any time it is active on one node only.
//
//	var Add = actor.NewMethod("Add", (*Counter).Add)
//
//	sys, err := actor.New(actor.Config{})
//	node, err := firqnats.Join(ctx, nc, sys, firqnats.Options{})
//	counters, err := firqnats.NewKind(node, "counter", func(c *actor.Ctx, key string) (*Counter, error) {
//		st, err := firqnats.Load[int](c) // what an earlier activation has saved
//		return &Counter{st}, err
//	}, []actor.AnyMethod[*Counter]{Add})
//
//	n, err := Add.Call(ctx, counters.Ref("visits"), 2) // on whichever node it is
//
// Code that takes an actor.Ref does not know whether the actor is here: the Ref of a [Kind] works like any.
//
// # One activation
//
// A bucket holds a record of each actor: which node has it, and what it has saved. Taking it, saving and giving it
// back replace the revision that was read last, or fail. So of two activations at most one saves, whatever
// clocks, pauses and partitions do.
//
// A node is alive while it has a record in the bucket, which it renews each fifth of [Options.Lease]. Others
// delete the record when they were awake and connected for a Lease and heard nothing of the node. A node
// that could not renew for two thirds of a Lease accepts nothing new, its own messages included, and goes on
// when it can. If its record was deleted its actors end with [ErrFenced], and it begins a new life. So two
// activations handle messages at the same time only if more than a third of a Lease passes between a message's
// acceptance and its handler's end. What such a handler writes elsewhere can be guarded by [State.Fence].
//
// While the server is away nothing ends: nodes rest, and go on when it is back.
//
// # Messages
//
// A message is handled at most once, and those of a node to an actor in the order in which they were sent,
// also while the actor moves. A call is sent again only if it was certainly not handled. An error that also
// matches actor.ErrNotSent says that the message was not accepted; [ErrLost] says that it may have been
// handled. A Tell returns when the message is in the queue of this node; [Options.OnLost] hears of those
// that were then refused, or not confirmed.
//
// An error of a handler arrives as a [RemoteError], which matches the errors that are registered
// ([RegisterError]). A call that would wait for itself fails with actor.ErrDeadlock, over several nodes too.
// Two chains of calls that cross on several nodes end by their deadlines.
package firqnats
