package firqnats

import (
	"context"
	"errors"
	"time"

	"github.com/firq-go/firq/actor"
)

// begin starts the actor, and says why not if that ends the goroutine.
func (a *activation) begin() {
	over := false
	defer func() {
		if !over { // runtime.Goexit in start or in Store.Load
			a.giveBack()
			a.leave("", notSent(actor.ErrGoexit), false)
		}
	}()
	a.takeAndStart()
	over = true
}

// takeAndStart takes the record, and starts the actor.
func (a *activation) takeAndStart() {
	n := a.n
	ctx, end := context.WithTimeout(n.ctx, n.o.Lease)
	owner, err := a.own.take(ctx, a)
	if err == nil && owner == "" && n.o.Store != nil {
		err = guard(func() (err error) {
			a.own.state, err = n.o.Store.Load(ctx, a.id, a.own.fence)
			return err
		})
		a.own.saved = len(a.own.state) > 0
		if err != nil {
			a.giveBack()
			end()
			a.leave("", notSent(err), false)
			return
		}
	}
	end()
	switch {
	case owner != "":
		a.leave(owner, nil, true)
		return
	case err != nil: // the server is away, say: the senders try again
		_ = nap(n.ctx, 10*time.Millisecond)
		a.leave("", nil, true)
		return
	}
	b, err := a.spawn()
	if err != nil {
		a.giveBack()
		a.leave("", notSent(err), false)
		return
	}
	a.own.state = nil // start has read it; or what was loaded would stay for as long as the actor
	a.begun(b)
}

// spawn starts the actor. The name may be that of an earlier activation whose actor is about to end.
func (a *activation) spawn() (body, error) {
	for begin := time.Now(); ; {
		b, err := a.k.spawn(a)
		if !errors.Is(err, actor.ErrNameTaken) || time.Since(begin) > a.n.o.Lease || nap(a.n.ctx, time.Millisecond) != nil {
			return b, err
		}
	}
}

// begun makes an activation active whose actor has started.
func (a *activation) begun(b body) {
	a.n.stat.activated.Add(1)
	a.n.recorded.activation(a.id.Kind, time.Since(a.since))
	a.mu.Lock()
	a.body = b
	if actState(a.state.Load()) != actStarting { // it was abandoned
		a.mu.Unlock()
		a.kill(ErrFenced)
		return
	}
	a.state.Store(uint32(actActive))
	list := a.pending
	a.pending, a.waiters = nil, nil
	for _, in := range list {
		if !a.pass(in) {
			a.wait(in)
		}
	}
	close(a.ready)
	a.ready = nil
	a.mu.Unlock()
	// No goroutine waits for the end: it would take more memory than all the rest of the activation.
	b.AfterFunc(func() { a.n.background(a.afterEnd) })
}

// awaitStart waits until it is known whether the actor has started, and returns why not. noted: waiters has the
// chain of ctx.
func (a *activation) awaitStart(ctx context.Context, noted bool) error {
	if w := a.n.chainOf(ctx, 0); w != nil {
		if !noted {
			a.mu.Lock()
			a.waiters = append(a.waiters, w) // before the look, or two starts could both overlook the other
			a.mu.Unlock()
		}
		// As in accept, only while start runs.
		if c := cycleTo(a.n.chainOf(ctx, 0).names(), a.id); c != nil && a.loading.Load() {
			return notSent(&actor.DeadlockError{Cycle: c})
		}
	}
	if err := a.awaitReady(ctx); err != nil {
		return notSent(err)
	}
	a.mu.Lock()
	defer a.mu.Unlock()
	return a.err
}

// awaitReady waits until the actor has started, or will not.
func (a *activation) awaitReady(ctx context.Context) error {
	a.mu.Lock()
	ready := a.ready
	a.mu.Unlock()
	if ready == nil {
		return nil
	}
	select {
	case <-ready:
		return nil
	case <-ctx.Done():
		return ctx.Err()
	}
}
