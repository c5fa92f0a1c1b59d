// Package lincheck records what concurrent calls of a scheduler answer, and checks
// with porcupine that some order of them explains it. Tests alone import it.
//
// # The model
//
// A sequential scheduler in slices and loops, written from the contract and not
// from the cores: a queue per tenant, counts of places, and with one shard the
// active list of deficit round robin. Each call is cut into steps, each of which
// happens at one instant between the call's start and its end.
//
// It forbids, for any schedule: a task admitted beyond a limit, also one that
// SetMaxGlobal or SetLimit has just set; a refusal unless
// the limit was reached, and if both were, for ErrTenantFull, at an instant with
// global room too; "nothing" from TryDequeue, a Dequeue that gives up, or with one
// shard a short batch, without an instant at which nothing was deliverable; with
// one shard any order of service but that of deficit round robin, costs, quanta,
// priorities and in-flight limits included; with several, any order within one
// tenant but oldest first of the highest priority; a Cancel that is true without
// taking the task out, or false while it is queued; a task that ends twice, or not
// at all; a delivery after Close, and tasks that Close forgets; a Shutdown that is
// finished while a place is out; an eviction with room, or of the wrong task;
// counters in Stats that were never true at one instant of a shard.
//
// # Relaxation
//
// First a history is tried with each call, or each task of a batch, as one step.
// Nearly all pass. What does not is tried with what the contract leaves open:
//
//   - EnqueueBatch and DequeueBatch are one call after another, in order; with
//     Relaxation.Batches an EnqueueBatch may take the places of several tasks in one step.
//   - Enqueue takes its places at one instant and shows the task at a later one;
//     the call that takes a task out gives back the tenant's place later, and the global one
//     later still. Len counts such places, and those on the way between stripes.
//   - A call that is refused with ErrClosed may have held a global place for a
//     while. A refusal that overlaps with the end may name any limit.
//   - Close drops what is queued task by task; each can be cancelled until then.
//   - A dequeue may come in vain before it succeeds, and then see off tenants that
//     were served their last task.
//   - With several shards, tenants are served in any order.
//   - What a Relaxation says, of one core. A core without Relaxation has to be in exact
//     order.
//
// # More schedules
//
// Built with the tag firq_failpoints, FIRQ_YIELD=6 makes the cores yield at every
// sixth of their steps on average: then about one history in ten is not in single
// steps, where it is one in a thousand without.
//
// Not modelled: deadlines, EnqueueWait, LIFO, thresholds, ageing, Charge, flows.
package lincheck
