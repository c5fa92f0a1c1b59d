package actor

import (
	"context"
	"slices"
	"time"

	"github.com/firq-go/firq/internal/proof/failpoint"
)

// The two ends of a System. Shutdown is gentle: it waits until nothing runs or waits, and ends
// the actors by their own turns. Close is not: it ends everything on its own goroutine, beside
// handlers that go on, and takes the turn of each actor for the last words if no handler has
// it. Both may come together, and from hooks, so Close counts: what others begin after closed
// is set, they end themselves.

// lastRings is how long timers ring while Shutdown waits.
const lastRings = time.Second

// Shutdown refuses new messages from outside, waits until all mailboxes are empty and all handlers
// have returned, and ends the actors: children before parents, last started first. Timers ring
// for another second, or half the time that ctx leaves if that is less, as a handler may wait for
// what a timer does. If ctx ends first, Shutdown does what Close does, and returns ctx's error.
func (s *System) Shutdown(ctx context.Context) error {
	// A handler may end another System, which counts as a wait for all its handlers.
	c, err := sender(ctx)
	if err != nil {
		return err
	}
	// Its own System would wait for this handler.
	if c != nil && c.sys == s {
		// It would wait for itself.
		s.deadlocks.Add(1)
		return &DeadlockError{Cycle: []string{c.Name()}}
	}
	if c != nil { // of another System
		f := &call{to: s.root, ends: true}
		f.st.Store(taken) // no other goroutine may end it
		if err := c.waitsFor(f); err != nil {
			return err
		}
		t := c.pause()
		defer c.resume(t)
		defer c.noWait(f)
	}
	// From here on nothing comes from outside. Handlers go on sending, so that what was begun
	// can end.
	s.shutting.Store(true)
	rings := lastRings
	if at, ok := ctx.Deadline(); ok {
		rings = min(rings, time.Until(at)/2)
	}
	mute := time.AfterFunc(rings, func() { s.mute.Store(true) }) // or many timers leave no moment without a handler
	defer mute.Stop()
	// It polls: the messages of all actors have no common counter, which each of them would
	// have to write.
	t := time.NewTimer(0)
	defer t.Stop()
	pause := 50 * time.Microsecond
	for !s.quiet() {
		t.Reset(pause)
		// Quickly at first, as most Systems are quiet soon.
		pause = min(2*pause, 5*time.Millisecond)
		select {
		case <-t.C:
		case <-s.stopped:
			return nil
		case <-ctx.Done():
			// The caller's time is over: the rest is ended as Close does it,
			// and the error says that it was not worked off.
			_ = s.Close()
			return ctx.Err()
		}
	}
	// Before the first end: children that end because of it have no error.
	s.gently.Store(true)
	// One after the other, each with its children: the next begins when the last is gone.
	for k := s.youngest(s.root); k != nil; k = s.youngest(s.root) {
		// Without a reason, so Err is nil. Its mailbox is empty: that was waited for.
		k.terminate(nil)
		select {
		case <-s.rootNudge:
			// The end of a child of the root, perhaps of this one: the loop looks which is the
			// youngest now.
		case <-s.stopped:
			return nil
		case <-ctx.Done():
			s.gently.Store(false)
			_ = s.Close()
			return ctx.Err()
		}
	}
	return s.Close()
}

// quiet reports whether nothing ran or waited at some moment. One look takes time, and a
// message may slip past it. So there are two looks, and nothing may happen between them. The
// second follows immediately, so that timers that ring all the time find no gap between the two.
func (s *System) quiet() bool {
	was, still := s.still()
	if !still {
		return false
	}
	// The same sum: no message came, and none was begun, in between.
	sum, still := s.still()
	return still && sum == was
}

// still reports whether nothing runs or waits, and how many messages have come and been begun.
func (s *System) still() (sum uint64, still bool) {
	still = true
	// No actor moves to the sums during the look.
	s.sumMu.Lock()
	defer s.sumMu.Unlock()
	// Of actors that have ended, too: one that came and went in between changes it.
	sum = s.in + s.out
	for a := range s.names.all() {
		a.mu.Lock()
		sum += a.in + a.out
		// In progress or waiting. What is put aside does not count: nothing will ask for it.
		if a.turn != idle || !a.atRest() || !a.spent() || a.life == starting {
			still = false
		}
		a.mu.Unlock()
	}
	return sum, still
}

// Close ends everything immediately: queued messages become dead letters, callers get
// ErrStopped, and the contexts of handlers in progress are cancelled. It does not wait
// for those handlers, whose actors end without last words (Stopper), nor for last words
// that have begun. It does wait for the last words of the other actors. A second Close
// waits for the first one, unless a hook or last words are in progress: the second call
// may come from one of those. It returns nil.
func (s *System) Close() error {
	s.shutting.Store(true)
	// One goroutine closes.
	if s.closed.Swap(true) {
		if s.apartNow.Load() == 0 {
			<-s.closeDone
		}
		return nil
	}
	defer close(s.closeDone)
	// Before the mailboxes are emptied: waits of Shutdown and of failed starts end by this.
	close(s.stopped)
	failpoint.At("closing")
	// Actors that come later see closed when they are adopted.
	for a := range s.names.all() {
		a.mu.Lock()
		chain := a.empty()
		a.mu.Unlock()
		a.deadLetters(chain, ErrStopped)
	}
	for _, c := range s.allCtxs() {
		// Their callers get the answer now, and their contexts end; the handlers themselves go
		// on as long as they like.
		c.abort(ErrStopped)
	}
	// For the last words of all actors, one after the other.
	c := s.newCtx(nil, new(account))
	s.endChildren(s.root, c)
	s.dropCtx(c)
	// later looks at closed under this lock, so no timer is added behind the loop.
	s.keepMu.Lock()
	for t := range s.timers {
		t.Stop()
	}
	s.timers = nil
	s.keepMu.Unlock()
	// Last: until here workers may take steps of actors that end.
	s.pool.close()
	return nil
}

// endChildren ends the descendants of a, for Close.
func (s *System) endChildren(a *actor, c *Ctx) {
	for k := s.youngest(a); k != nil; k = s.youngest(a) {
		k.mu.Lock()
		k.on(terminated) // it gets no more children from now on
		x := k.extra()
		if x.err == nil && !k.over() {
			x.err = ErrStopped
		}
		why := x.err
		k.mu.Unlock()
		// Depth first, and there are no more children afterwards.
		s.endChildren(k, c)
		// Its children are gone. With the turn, no handler can begin while the last words are said.
		mine := k.seize()
		if mine {
			k.cur.Store(c)
			c.hold = holdTurn
			k.close(c, why)
		}
		// Also if a handler is in progress: Close does not wait for it.
		k.finish()
		if mine {
			// A handler of a reentrant actor may want the turn; it goes on, and finds the actor
			// ended.
			k.release()
		}
		s.orphan(k)
	}
}

// seize takes the turn, for Close; false: a handler is in progress.
func (a *actor) seize() bool {
	for range 10_000 {
		a.mu.Lock()
		if a.turn != busy && a.atRest() {
			// Close has the turn now, as a worker would: no handler begins.
			a.turn = busy
			a.mu.Unlock()
			return true
		}
		first := a.life == starting
		a.mu.Unlock()
		// User code runs, for as long as it likes: no last words.
		if first || slices.ContainsFunc(a.handlers(), (*Ctx).valid) {
			return false
		}
		failpoint.Gosched("seize") // between two handlers
	}
	return false
}
