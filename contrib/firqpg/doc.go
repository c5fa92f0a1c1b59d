// Package firqpg is a fair task queue in PostgreSQL: the queue of package firqredis, for programs that want a task to be enqueued
// in the transaction of their data, and settled in that of its work.
//
//	err := firqpg.Migrate(ctx, db, "")                                    // once, or by your own tool: MigrationSQL
//	q, err := firqpg.New(ctx, firqpg.Config[Mail]{DB: db, Name: "mails"})
//
//	tx, err := db.Begin(ctx)
//	_, err = tx.Exec(ctx, "insert into orders ...")
//	_, err = firqpg.EnqueueTx(ctx, q, tx, firqpg.Task[Mail]{Tenant: "acme", Payload: mail})
//	err = tx.Commit(ctx)                                                  // the order and its mail, or neither
//
//	err = firqpg.Run(ctx, q, handler, firqpg.RunOptions[Mail]{Concurrency: 16}) // in each worker
//
// # Fairness
//
// All processes together serve tenants by start-time fair queueing (Goyal, Vin and Cheng, SIGCOMM 1996), exactly: over any interval in which
// two tenants have tasks the costs served per weight differ by at most c/w + c'/w', c being the cost of the most expensive task.
//
// # Delivery
//
// At least once, by leases with tokens, as in firqredis. Work in this database is done exactly once if its transaction also has
// [AckTx]: either both are committed, or neither.
//
// # Transactions
//
// One writer at a time holds the fair order and the counters; everything else only appends. So a transaction that enqueues and stays open holds up neither
// other calls for the same tenant, nor deliveries. Its tasks come at the place of their Enqueue, once it commits. Deliveries are not synced to
// the disk, as one that is lost is made again; Enqueue and Ack are as durable as synchronous_commit says.
//
// # Waking
//
// A process that sleeps listens, and a call that enqueues notifies one that does. While no process sleeps, none notifies, as that would make commits
// wait for each other.
package firqpg
