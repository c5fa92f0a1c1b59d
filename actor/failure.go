package actor

import (
	"context"
	"errors"
	"log/slog"

	"github.com/firq-go/firq/internal/proof/failpoint"
)

// How an incarnation, or an actor, is made to end: by a failure, or for good. Any goroutine may
// do so. Nothing ends here: the life changes, what waits is taken out, and the turn takes the
// steps (steps.go).

// fail ends the incarnation because of why. The caller has the turn, or is one of the
// handlers in progress. gone: a handler was abandoned, and still has the state.
func (a *actor) fail(m *method, why error, gone bool) {
	failpoint.At("fail")
	s := a.sys()
	a.mu.Lock()
	// By Close: its callers have got their answers.
	if a.over() {
		a.mu.Unlock()
		return
	}
	// What a worker has not claimed waits for the next incarnation, or is a dead letter.
	a.recall()
	x := a.extra()
	// The first failure counts: readers may fail together, and the others are its consequence.
	if x.fail == nil {
		x.fail = why
	}
	// The last words would use a state that a handler still changes.
	x.abandoned = x.abandoned || gone
	// The event depends on the supervisor, what it leads to on the state (life.go).
	if a.restartable() {
		a.on(incarnationFailed)
	} else if a.on(failedFinally) { // else it is to end for another reason
		x.err = why
	}
	// By this failure or by an earlier end: in either case what waits will not be handled.
	final := a.life >= stopping
	var chain *envelope
	if final {
		chain = a.empty()
	} else if x.suspended > 0 {
		// Handlers of this actor wait for these calls, and the incarnation ends after the
		// handlers: so no message of theirs would come before the next one. The callers get an
		// error.
		chain = a.refuseChain()
	}
	waits := x.suspended > 0 && !final // until now, calls that these wait for could be served
	a.mu.Unlock()
	a.deadLetters(chain, ErrStopped)
	if waits {
		// Calls of others that can only be served by the next incarnation, and that its end
		// waits for.
		a.unwait()
	}
	s.metric("Metrics.Failed", func(m Metrics) { m.Failed(a.kindName(), why) })
	// Last, as a hook of the user's takes its time; the state shows the failure already.
	s.failure(Failure{a.name, m.name, why, final})
}

// failure lets a failure be heard of.
func (s *System) failure(f Failure) {
	// The program hears of it in one way: by its hook or by the log.
	if hook := s.cfg.OnFailure; hook != nil {
		s.hook("OnFailure", func() { hook(f) })
		return
	}
	args := []any{"actor", f.Name, "method", f.Method, "error", f.Err}
	text := "actor: failed"
	// The stack is the one thing that the error's text does not have.
	switch p := (*PanicError)(nil); {
	case f.Method == "":
		text, args = "actor: a supervisor gives up", []any{"supervisor", f.Name, "error", f.Err}
	case errors.As(f.Err, &p):
		args = append(args, "stack", string(p.Stack))
	}
	if f.Final {
		text += ", and ends"
	}
	s.log(slog.LevelError, text, args...)
}

// supervisor returns a's part as a Supervisor; nil: it is none. A Supervisor has its extra from the start.
func (a *actor) supervisor() *supervisor {
	if a.kind != nil {
		return nil
	}
	return a.x.sup
}

// restartable reports whether a supervisor would start another incarnation.
func (a *actor) restartable() bool {
	// Set once, before the actor has its first handler.
	up := a.up
	return up != nil && up.supervisor() != nil && a.again() && !a.sys().closed.Load()
}

// again reports whether there is a way to make another incarnation. The caller holds a.mu.
func (a *actor) again() bool { return a.start != nil || a.kind == nil }

// terminate ends the actor permanently, after the handlers in progress. Waiting messages become
// dead letters.
func (a *actor) terminate(why error) {
	failpoint.At("doom")
	a.mu.Lock()
	// It ends already, with another reason, which stays.
	if !a.on(terminated) {
		a.mu.Unlock()
		return
	}
	// What Ref.Err returns; written before the state shows that it ends for good.
	a.extra().err = why
	// No handler gets these; they are reported without the lock.
	chain := a.empty()
	// If it is idle, a worker takes the step; otherwise the goroutine that gives the turn back.
	a.unlockWake(nil)
	a.deadLetters(chain, ErrStopped)
}

// stop is Stop of a Ref and of a Supervisor.
func (a *actor) stop(ctx context.Context) error {
	if a == nil {
		return nil
	}
	// For the rule of deadlocks: a handler that stops its own actor, or one that waits for it,
	// would wait for ever.
	c, err := sender(ctx)
	if err != nil {
		return err
	}
	failpoint.At("stop")
	a.mu.Lock()
	// Whatever state it is in: an incarnation that comes later works the mailbox off, and then
	// the actor ends.
	a.draining = true
	// If nothing waits the actor ends in its next turn; otherwise after its last message.
	a.unlockWake(c)
	return a.awaitDone(ctx, c)
}
