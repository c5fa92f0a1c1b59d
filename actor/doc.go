// Package actor runs actors: states with a mailbox each, one message at a time, fair by
// processor time, supervised.
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
// handle that its own handler uses, directly or by way of others (a timer to itself, ping
// and pong), is an initialization cycle for the compiler: declare the variable, as
// `var Tick *actor.Method[*Clock, int, int]`, and set it in init. Handles belong to no
// System; several may use one at once.
//
// Messages are handled first in, first out by sender and priority. A message that is
// ReadOnly runs together with others of that kind, in its place. Whoever hands a pointer
// over shares what it points to.
//
// # Fairness
//
// A System has some slots, which are rights to compute. An actor with messages waits for
// one; its turn ends after Config.Slice of processor time, or Config.Throughput messages,
// and then it goes behind everybody who has used less by weight: start-time fair queueing
// (Goyal, Vin and Cheng 1996) over nanoseconds. Who was idle has saved nothing up and goes
// first. An actor that a short handler has made ready is next on the handler's slot, without
// the queue, unless it is a slice ahead of who waits there, or the slot was passed on like
// that for a slice. A handler that waits in Call, Future.Wait or Ctx.Await has no slot, and goes on
// without one. One that computes for Config.Handoff loses its slot if others wait, and
// keeps its goroutine: it is Go's scheduler that it shares the processor by then.
//
// # Calls
//
// A call to an idle actor runs on its caller's goroutine when nobody can tell the
// difference: the caller's ctx cannot end, no timeout applies, neither actor is reentrant,
// nobody waits for a slot. There is one difference: runtime.Goexit in such a handler ends
// the caller's goroutine too. Other calls go through the mailbox. Replies never do.
//
// A call that would wait for itself is ErrDeadlock, at once, with the cycle; two chains of
// calls that cross are one too, and so is waiting for room in a mailbox. What an actor
// handles while its handler waits is its Reentrancy. A ReadOnly call that comes back to an
// actor that is not reentrant is refused also where no writer waits between the two.
//
// A call to an actor that has failed waits for its next incarnation. A handler that has to
// end before that can begin, as its actor is a child of the other, or a sibling which the
// supervisor takes down too, would wait for itself: that is ErrDeadlock as well, also where
// the failure comes after the call.
//
// Not seen is what waits by other means than this package's; and of several goroutines of
// one handler that call at once only the first. Use Start and Wait to have several calls in
// progress. A goroutine of a handler of a reentrant actor must not call with the handler's
// Ctx: the actor takes that for the handler's own wait, and lets others in.
//
// # Life
//
// An actor with a supervisor outlives its failures: a panic, an error of its start, a
// timeout with the mode Stop. The state belongs to the incarnation, the mailbox, the name
// and the Ref to the actor.
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
// Each of these steps is done in a turn of the actor, when no handler of it is in
// progress: so there are never two of them, or one and a handler, at once. A handler that
// was abandoned does not count: its Ctx is its own from then on, and refuses everything.
//
// Close does the steps itself, at once, and leaves out the last words of actors whose
// handlers are in progress.
package actor
