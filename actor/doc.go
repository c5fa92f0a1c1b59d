// Package actor runs actors. Each has a state and a mailbox, and handles one message at
// a time. Actors share processor time fairly, and can be supervised.
//
//	type Counter struct{ n int }
//
//	func (k *Counter) Add(_ *actor.Ctx, by int) (int, error) { k.n += by; return k.n, nil }
//
//	var Add = actor.NewMethod("Add", (*Counter).Add)
//
//	s, err := actor.New(actor.Config{})
//	visits, err := actor.Spawn(s, "visits", actor.Value(&Counter{}))
//	err = Add.Tell(ctx, visits, 1)
//	n, err := Add.Call(ctx, visits, 2)
//
// # Messages
//
// A message is a method of the state. The compiler checks request, reply and error. A
// handle that its own handler uses, directly or through others (a timer to itself, ping
// and pong), is an initialization cycle for the compiler: declare the variable, as `var
// Tick *actor.Method[*Clock, int, int]`, and set it in init. A handle belongs to no
// System; several Systems may use it at the same time.
//
// Messages are handled first in, first out by sender and priority. A ReadOnly message
// keeps its place in that order, and runs together with other ReadOnly messages. A
// sender that passes a pointer shares what it points to with the handler.
//
// # Fairness
//
// A System has a fixed number of slots, which are rights to compute. An actor with
// messages waits for a slot. Its turn ends after Config.Slice of processor time, or
// Config.Throughput messages; then it goes behind all actors that have used less time
// in proportion to their weight. This is start-time fair queueing (Goyal, Vin and Cheng
// 1996) over nanoseconds. An actor that was idle goes first, but earns no credit. An actor
// that a short handler has made ready runs next on the handler's slot, without
// queueing, unless it is a slice ahead of the actors in the queue, or the slot has been
// passed on in this way for a slice. A handler that waits in Call, Future.Wait or
// Ctx.Await has no slot, and resumes without one. A handler that blocks in any other way
// (a request, a lock, a sleep) keeps its slot until the System sees that the process
// computes less than its slots allow: some microseconds, a millisecond now and then. A handler
// that computes for 10 ms loses its slot too, if others wait. Both keep their goroutine, which
// from then on shares the processors as Go's scheduler decides. See Config.Handoff.
//
// # Calls
//
// A call to an idle actor runs on its caller's goroutine when this makes no difference:
// the caller's ctx cannot end, no timeout applies, neither actor is reentrant, no actor
// waits for a slot, and a handler that calls is not in Await. One difference remains: runtime.Goexit in such a handler ends the
// caller's goroutine too. Other calls go through the mailbox. Replies never do.
//
// A call that would wait for itself fails immediately with ErrDeadlock, and the error
// names the cycle. So do two chains of calls that cross, and a wait for room in a mailbox
// that would close a cycle. An actor's Reentrancy says which messages it handles while its handler waits.
// A ReadOnly call that comes back to an actor that is not reentrant is refused even if
// no writer waits between the two.
//
// A call to an actor that has failed waits for its next incarnation. A handler that has
// to end before that incarnation can begin would wait for itself. This is so if the
// handler's actor is a child of the failed actor, a sibling that the supervisor takes
// down too, or one that the supervisor starts earlier. Such a call is ErrDeadlock as well, even
// if the failure comes after the call.
//
// A handler that waits in Stop for the end of an actor also waits for the handlers of
// that actor's children. So does Spawn, if start has failed: then children of the new
// actor that call the waiting handler get ErrDeadlock.
//
// The package sees only waits that go through it. If several goroutines of one handler
// make calls at the same time, it sees only the first; use Start and Wait to have several
// calls in progress. A goroutine started by a handler of a reentrant actor must not
// call with the handler's Ctx: the actor takes this for the handler's own wait, and
// admits other messages.
//
// # Actors by key
//
// A Kind has an actor for each key: a message starts it where it is not there, however many senders
// come at the same time, and WithIdle ends it. Its Ref stays valid through all activations. The
// start runs on the first sender's goroutine, as that of Spawn does, and by the rule of deadlocks
// the senders wait for it. An error that also matches ErrNotSent says that a message was
// certainly not accepted; no reply of a handler matches it.
//
// # Life
//
// An actor with a supervisor outlives its failures: a panic, an error of its start, a
// timeout with the mode Stop. The state belongs to the incarnation; the mailbox, the
// name and the Ref belong to the actor.
//
//	          Spawn             failure, or taken down
//	starting ------> alive ----------------------------> failed
//	    |             ^  |                                 |  children end, last first;
//	    | error       |  | Stop: mailbox worked off        |  last words (Stopper)
//	    |       start |  | Kill, c.Stop, parent's end      v
//	    |             +--|------------------------------- down   (messages wait: backoff)
//	    |                |                                 |
//	    |                v  children end, last first;      | Kill, the supervisor
//	    |                |  last words                     | has given up
//	    v                v                                 v
//	  ended <------------+---------------------------------+
//
// Each of these steps is done in a turn of the actor, when none of its handlers is in
// progress. So two steps, or a step and a handler, never run at the same time. A handler
// that was abandoned does not count: from then on no other handler uses its Ctx, which
// refuses everything.
//
// Close does the steps itself, immediately, and omits the last words of actors whose
// handlers are in progress.
package actor
