//go:build firq_failpoints

package actor

import (
	"errors"
	"testing"
	"time"

	"github.com/firq-go/firq"
	"github.com/firq-go/firq/internal/proof/failpoint"
)

// A handler that is about to wait for room, and immediately learns that its actor has to end
// before there is any, leaves nothing behind for the next one that waits: its waiter is not
// used again, even if the actor with the full mailbox has ended meanwhile.
func TestRoomIsLeftBeforeItIsWaitedFor(t *testing.T) {
	limit(t, 20*time.Second)
	s := newSys(t, Config{})
	full := box0(t, s, "full", WithMailbox(Mailbox{1, firq.Backpressure{Policy: firq.Wait, Wait: time.Hour}}))
	free := block(t, full)
	defer free()
	_ = do.Tell(bg, full, inc)
	var w *waiter
	r := box0(t, s, "r")
	_, err := do.Call(within(t), r, func(_ *box, c *Ctx) (any, error) {
		defer failpoint.AtMark("room", func() { // does what unwait does, and kills the actor
			f := c.wait.Load()
			if w = f.w; !f.st.CompareAndSwap(waiting, left) {
				t.Error("it does not wait")
			}
			f.err = ErrDeadlock
			full.Kill()
			f.wake()
		})()
		return nil, do.Tell(c, full, inc)
	})
	if !errors.Is(err, ErrStopped) || len(w.ch) != 1 {
		t.Errorf("%v, %d", err, len(w.ch))
	}
	for next, n := s.waiters.Get(), 0; next != nil && n < 100; next, n = s.waiters.Get(), n+1 {
		if next == w {
			t.Error("its waiter is used again")
		}
	}
}
