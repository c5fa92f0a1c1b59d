package actor

import (
	"errors"
	"log/slog"

	"github.com/firq-go/firq/internal/proof/failpoint"
)

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
		a.evictRoom()
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
	if hook := s.cfg.OnFailure; hook != nil {
		s.hook("OnFailure", func() { hook(f) })
		return
	}
	args := []any{"actor", f.Name, "method", f.Method, "error", f.Err}
	text := "actor: failed"
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
