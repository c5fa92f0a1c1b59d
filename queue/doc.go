// Package queue is a distributed fair task queue: tenants share the workers of many processes by cost and weight, tasks are
// delivered at least once, and every task is settled exactly once. Where tasks are kept is an engine's business: contrib/firqredis
// has Redis and Valkey, contrib/firqpg has PostgreSQL. Their New makes a Queue.
//
// What handlers, producers and operators need is here, and is the same for all engines; so code that uses a queue need not know
// its engine:
//
//	func Register(ctx context.Context, q *queue.Queue[Mail]) error {
//		_, err := q.Enqueue(ctx, queue.Task[Mail]{Tenant: "acme", Payload: mail})
//		return err
//	}
//
// # Fairness
//
// The queue serves tenants by start-time fair queueing (Goyal, Vin and Cheng, SIGCOMM 1996): over any interval in which two
// tenants have tasks, and whatever workers come and go, the costs served per weight differ by at most c/w + c'/w', c being the
// cost of the most expensive task. An idle tenant saves nothing up, and a tenant that comes and goes gains nothing.
//
// # Delivery
//
// A delivery is a lease with a token. A worker that keeps its lease (Run sends heartbeats) has the task to itself. If the worker
// dies, the lease runs out and the task is delivered again. From then on the old worker's calls about the task return
// ErrLeaseLost and change nothing. So handlers may run twice, and have to be idempotent or hand Item.Token to their store;
// settling twice is impossible.
//
// # Rates
//
// A tenant with a rate (Config.RatePerTenant, TenantSettings.Rate) has a token bucket, as package rate describes it, by the server's
// clock: in any interval of t seconds the costs of its deliveries add up to at most Burst + PerSecond x t. Its next task waits until
// there is enough; one that costs more than Burst waits for a whole bucket, and leaves a debt. So none waits for ever. While a
// tenant waits it is not in the order, and saves nothing up there; the others go on. It comes back as one that becomes active does.
//
// Every delivery is charged, that of a retry too, and one whose worker died: a rate protects what the handlers call. Release gives
// back what its delivery was charged, and Item.Charge corrects it.
//
// # Concurrency
//
// All methods are safe for concurrent use. Enqueue and Ack calls made at the same time share round trips, and waiting Dequeue
// calls of a process share one goroutine that fetches for all of them. Waiting does not poll.
package queue
