package actor

import (
	"errors"
)

// The books. An actor counts what it has accepted (in) and what it has begun to handle (out), under
// its mu; what is accepted and not begun waits. A message that leaves in another way is taken out of
// in, and counted in the System as a dead letter or as cancelled. So at any time, over all actors,
//
//	Accepted = in + dead letters + cancelled, Handled = out, Waiting = in - out
//
// and nothing else changes these counters than the functions in this file.

// accept counts a message that goes into the mailbox, or to its handler directly. The caller holds
// a.mu, as those of the next four do.
func (a *actor) accept() { a.in++ }

// begun counts messages whose handlers begin.
func (a *actor) begun(n uint64) { a.out += n }

// unbegin takes begun back, for a message that was put aside.
func (a *actor) unbegin() { a.out-- }

// unaccept takes accept back, for messages that become dead letters or are cancelled.
func (a *actor) unaccept(n uint64) { a.in -= n }

// cancel counts a message whose caller has left before its handler began.
func (a *actor) cancel() {
	a.unaccept(1)
	a.sys().cancelled.Add(1)
}

// Stats of a System. At rest Accepted is Handled + DeadLetters + Cancelled, and Waiting
// is 0.
type Stats struct {
	Actors      int    // alive; supervisors do not count
	Waiting     int    // messages in mailboxes, stashed ones included
	Accepted    uint64 // messages, inline calls too
	Handled     uint64 // a handler was started
	DeadLetters uint64 // no handler will get them
	Cancelled   uint64 // the caller left before a handler was started
	Refused     uint64 // not accepted
	Restarts    uint64 // incarnations that supervisors have started
	Abandoned   uint64 // handlers that ran for their timeout with Stop
	Deadlocks   uint64 // ErrDeadlock
	Handoffs    uint64 // slots that were taken from handlers that blocked, or computed for too long
}

// Stats returns a snapshot. It takes time in proportion to the number of actors.
func (s *System) Stats() Stats {
	// What is counted for the whole System, then what its actors count.
	st := Stats{
		DeadLetters: s.dead.Load(), Cancelled: s.cancelled.Load(), Refused: s.rejected.Load(),
		Restarts: s.restarts.Load(), Abandoned: s.abandoned.Load(), Deadlocks: s.deadlocks.Load(),
		Handoffs: s.handoffs.Load(), Actors: int(s.actors.Load()),
	}
	s.sumMu.Lock()
	// Under sumMu no actor moves from the names to the sums, so each is counted once.
	in, out := s.in, s.out
	for a := range s.names.all() {
		a.mu.Lock()
		// Both under the actor's lock: what waits is never negative.
		in, out = in+a.in, out+a.handled()
		a.mu.Unlock()
	}
	s.sumMu.Unlock()
	// A message that is accepted while the loop runs is counted or not, but never as handled
	// without being accepted.
	st.Handled, st.Waiting = out, int(in-out)
	st.Accepted = in + st.DeadLetters + st.Cancelled
	return st
}

// retire adds what an actor has counted to the sums and frees its name.
func (s *System) retire(a *actor) {
	s.sumMu.Lock()
	a.mu.Lock()
	// In one step under both locks: Stats finds these messages with the actor or in the sums.
	s.in, s.out = s.in+a.in, s.out+a.out
	a.in, a.out = 0, 0
	a.mu.Unlock()
	s.names.remove(a.name, a)
	s.sumMu.Unlock()
	// Supervisors do not count.
	if a.kind != nil {
		s.actors.Add(-1)
	}
}

// refused counts a message that was not accepted.
func (a *actor) refused(err error) error {
	// The sender has no handler any more: this is a mistake of its program, and no message.
	if errors.Is(err, ErrStale) {
		return err
	}
	s := a.sys()
	// Refused messages are in no other counter: they were never accepted.
	s.rejected.Add(1)
	if m := s.cfg.Metrics; m != nil {
		s.hookHere("Metrics.Refused", func() { m.Refused(a.kindName(), err) })
	}
	return err
}

// handled is how many messages were handled, or are being handled. The caller holds a.mu.
func (a *actor) handled() uint64 {
	// A batch is counted as its worker claims it, before recall books it.
	if b := a.batch; b != nil {
		return a.out + uint64(b.begun.Load())
	}
	return a.out
}

// waits is how many messages wait. The caller holds a.mu.
func (a *actor) waits() uint64 { return a.in - a.handled() }

// counted is how many messages count in the mailbox's limit. The caller holds a.mu.
func (a *actor) counted() uint64 {
	if a.x == nil {
		return a.waits()
	}
	return a.waits() - a.x.exempt
}

// uncount is called when e leaves the mailbox. If it is put aside, it counts. The caller holds a.mu.
func (a *actor) uncount(e *envelope) {
	if e.exempt {
		e.exempt = false
		a.x.exempt--
	}
}
