// Package firqredis is a distributed fair task queue on Redis or Valkey: tenants share the workers of
// many processes by cost and weight, tasks are delivered at least once, and every task is settled
// exactly once.
//
//	q, err := firqredis.New(ctx, firqredis.Config[Mail]{Name: "mails", Client: client})
//	id, err := q.Enqueue(ctx, firqredis.Task[Mail]{Tenant: "acme", Payload: mail})
//	err = firqredis.Run(ctx, q, handler, firqredis.RunOptions[Mail]{Concurrency: 16}) // in each worker
//
// The types are those of package queue, which has their methods: go doc queue.Queue.
//
// # Fairness
//
// Within a partition the queue serves tenants by start-time fair queueing (Goyal, Vin
// and Cheng, SIGCOMM 1996): over any interval in which two tenants have tasks, and
// whatever workers come and go, the costs served per weight differ by at most c/w +
// c'/w', c being the cost of the most expensive task. An idle tenant saves nothing up,
// and a tenant that comes and goes gains nothing. Across partitions, a process serves
// the partition with the least virtual time first.
//
// # Delivery
//
// A delivery is a lease with a token. A worker that keeps its lease (Run sends
// heartbeats) has the task to itself. If the worker dies, the lease runs out and the
// task is delivered again. From then on the old worker's calls about the task return
// ErrLeaseLost and change nothing. So handlers may run twice, and have to be idempotent
// or hand Item.Token to their store; settling twice is impossible.
//
// # Concurrency
//
// All methods are safe for concurrent use. Enqueue and Ack calls made at the same time
// share scripts, and waiting Dequeue calls of a process share one script that fetches
// for all of them. Waiting does not poll: a consumer sleeps on a list to which
// producers of work write, with one connection per partition and process. A consumer of
// From, which takes from some tenants only, looks every 100 ms while others have tasks.
package firqredis
