package actor

import (
	"log/slog"
	"time"
)

// Messages that were accepted and will not be handled. The goroutine that takes them out of the mailbox
// does so under the actor's lock, and reports them here afterwards without it, as the hook is
// the user's. Each is reported once, its caller gets an error, and the books have it as a dead
// letter, or as cancelled if its caller had left.

// deadLetter reports that no handler will get a message, which is in no list any more.
func (a *actor) deadLetter(e *envelope, why error) {
	s := a.sys()
	// Answered before the hook is called: the hook may take its time, and the caller has
	// nothing to wait for.
	if e.call != nil && !e.call.refuse(why, waiting) {
		s.cancelled.Add(1) // its caller had left
		return
	}
	s.dead.Add(1)
	if f := s.cfg.OnDeadLetter; f != nil {
		// Read now: after over the envelope may be another message.
		d := DeadLetter{a.name, e.m.name, e.run.request(), why}
		s.hook("OnDeadLetter", func() { f(d) })
	} else {
		s.logDead(a, e.m, why)
	}
	// A call goes back with its caller.
	if e.call == nil {
		e.over()
	}
}

// deadLetters is deadLetter for all of a chain.
func (a *actor) deadLetters(chain *envelope, why error) {
	for e := chain; e != nil; {
		// Before the letter is given back: then next is of another chain.
		next := e.next
		// Letters go out one by one, and none may drag the chain into the pool.
		e.next = nil
		if b := e.run.bundle(); b != nil {
			for p := b.packed(); p.done < p.n; p.done++ {
				// Each tell of the pack is a message, and the user gets each.
				a.deadLetter(b.single(p.done), why)
			}
			b.discard()
		} else {
			a.deadLetter(e, why)
		}
		e = next
	}
}

// logDead writes at most one line per second about dead letters.
func (s *System) logDead(a *actor, m *method, why error) {
	now, last := s.now(), s.deadLogged.Load()
	// Of the goroutines that come here in a second, one writes: an actor with a long mailbox
	// that is killed must not fill the log.
	if last != 0 && now-last < int64(time.Second) || !s.deadLogged.CompareAndSwap(last, max(now, 1)) {
		return
	}
	s.log(slog.LevelWarn, "actor: dead letters", "actor", a.name, "method", m.name, "error", why, "so far", s.dead.Load())
}
