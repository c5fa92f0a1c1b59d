package actor

import (
	"context"
	"slices"
	"time"

	"github.com/firq-go/firq/internal/proof/failpoint"
)

// roomer is a message whose sender waits for room in a mailbox.
type roomer struct {
	e   *envelope
	f   *call // what the sender's handler waits for, by the rule of deadlocks
	err error // why it was not let in; written before the channel is
}

// full reports whether only the mailbox's policy could let a message in. The caller holds a.mu.
func (a *actor) full() bool {
	return a.in-a.out >= a.set.limit && a.waits() >= a.set.limit || a.x != nil && len(a.x.room) > 0
}

// admit lets waiting senders in while there is room, first come first served. The
// caller holds a.mu.
func (a *actor) admit() {
	for len(a.x.room) > 0 && a.in-a.out < a.set.limit {
		r := a.x.room[0]
		a.x.room[0] = nil
		a.x.room = a.x.room[1:]
		a.put(r.e)
		r.f.answer(nil)
	}
}

// lose counts a message that leaves the mailbox without being handled. The caller has
// unlinked the message, holds a.mu, and counts elsewhere what became of it.
func (a *actor) lose() {
	a.in--
	if a.x != nil && len(a.x.room) > 0 {
		a.admit()
	}
}

// evictRoom refuses all senders that wait for room. The caller holds a.mu.
func (a *actor) evictRoom(err error) {
	if a.x == nil {
		return
	}
	for _, r := range a.x.room {
		r.err = err
		r.f.answer(nil)
	}
	a.x.room = nil
}

// waitRoom waits until the mailbox has room for e, and puts it in. For the rule of
// deadlocks, and for the slot and the turn of the sender's handler, this wait is a call.
func (a *actor) waitRoom(ctx context.Context, c *Ctx, e *envelope) error {
	s := a.sys()
	if err := ctx.Err(); err != nil {
		return err
	}
	f := &call{to: a, w: s.waiter(), room: true}
	r := &roomer{e: e, f: f}
	if err := s.waitsFor(c, f); err != nil {
		s.waiters.Put(f.w)
		return err
	}
	failpoint.At("room")
	a.mu.Lock()
	err := a.closed(e.call, c, sent)
	switch {
	case err != nil:
	case a.in-a.out < a.set.limit && (a.x == nil || len(a.x.room) == 0):
		a.put(e)
		f.answer(nil)
	default:
		x := a.extra()
		x.room = append(x.room, r)
	}
	wake := err == nil && a.wake()
	a.mu.Unlock()
	if wake {
		a.schedule(c)
	}
	if err != nil {
		s.noWait(c, f)
		if _, ok := f.claim(); ok { // else unwait wakes it
			s.waiters.Put(f.w)
		}
		return err
	}
	t := time.NewTimer(a.set.box.Wait)
	defer t.Stop()
	err = c.sleep(ctx, f, t.C)
	if err == nil {
		s.waiters.Put(f.w)
		return r.err
	}
	failpoint.At("leave room")
	a.mu.Lock()
	i := slices.Index(a.roomers(), r)
	if i >= 0 {
		a.x.room = slices.Delete(a.x.room, i, i+1)
	}
	a.mu.Unlock()
	if i < 0 { // the message was let in or refused meanwhile
		return r.err
	}
	return err
}

func (a *actor) roomers() []*roomer {
	if a.x == nil {
		return nil
	}
	return a.x.room
}
