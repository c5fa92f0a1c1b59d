// Package firqredis is a distributed fair task queue on Redis or Valkey: tenants share the workers of
// many processes by cost and weight, tasks are delivered at least once, and every task is settled
// exactly once.
//
// # Fairness
//
// Within a partition tenants are served by start-time fair queueing (Goyal, Vin and Cheng, SIGCOMM
// 1996): over any interval in which two tenants have tasks, and whatever workers come and go, the
// costs served per weight differ by at most c/w + c'/w', c being the most expensive task. A tenant
// that is idle saves nothing up, and one that comes and goes gains nothing. Across partitions a
// process serves the one with the least virtual time first.
//
// # Delivery
//
// A delivery is a lease with a token. A worker that keeps it (Run sends heartbeats) has the task to
// itself; if it dies, the lease runs out and the task is delivered again. What the old worker says
// about it from then on is ErrLeaseLost and changes nothing. So handlers may run twice, and have to
// be idempotent or hand Item.Token to their store; settling twice is impossible.
//
// # Concurrency
//
// All methods may be called by any number of goroutines. Enqueue and Ack calls that are made at the
// same time share scripts, and waiting Dequeue calls of a process share one that fetches for all of
// them. Waiting does not poll: a consumer sleeps on a list that whoever brings work writes to, one
// connection per partition and process. Consumers of From, which take from some tenants only, look
// every 100 ms.
package firqredis
