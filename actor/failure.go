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
	x.abandoned = x.abandoned || gone
	if a.restartable() {
		a.on(incarnationFailed)
	} else if a.on(failedFinally) { // else it is to end for another reason
		x.err = why
	}
	final := a.life >= stopping
	var chain *envelope
	if final {
		chain = a.empty()
		a.evictRoom()
	} else if x.suspended > 0 {
		chain = a.refuseChain()
	}
	waits := x.suspended > 0 && !final // until now, calls that these wait for could be served
	a.mu.Unlock()
	a.deadLetters(chain, ErrStopped)
	if waits {
		a.unwait()
	}
	s.metric("Metrics.Failed", func(m Metrics) { m.Failed(a.kindName(), why) })
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
