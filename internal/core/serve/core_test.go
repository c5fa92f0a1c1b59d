package serve

import (
	"context"
	"errors"
	"sync/atomic"
	"testing"
	"testing/synctest"

	"github.com/firq-go/firq"
	"github.com/firq-go/firq/internal/core/clock"
	"github.com/firq-go/firq/internal/core/drr"
)

// core is an Admitter that gives the answers it was told, the last one for ever.
type core struct {
	answers  []error
	admitted []drr.Task[int]
	calls    atomic.Int32 // the test looks while the producer runs
	abort    func(call int32)

	replace  error // what stands in the way of Replace; nil: it succeeds
	replaced []bool
	due      int64
	asked    []string // whose expiry was asked for
}

func coreOf(answers ...error) *core { return &core{answers: answers, due: clock.Never} }

func (c *core) Admit(_ string, task drr.Task[int]) error {
	call := int(c.calls.Add(1)) - 1
	if c.abort != nil {
		c.abort(int32(call + 1))
	}
	err := c.answers[min(call, len(c.answers)-1)]
	if err == nil {
		c.admitted = append(c.admitted, task)
	}
	return err
}

func (c *core) Replace(_ string, _ drr.Task[int], newest bool) (bool, error) {
	c.replaced = append(c.replaced, newest)
	return c.replace == nil, c.replace
}

func (c *core) NextDueOf(string) int64 {
	c.asked = append(c.asked, "tenant")
	return c.due
}

func (c *core) NextDue() int64 {
	c.asked = append(c.asked, "all")
	return c.due
}

// waiting is one EnqueueWait of tenant a in a synctest bubble.
type waiting struct {
	*shared
	t    *testing.T
	core *core
	err  error // once it is over
	over atomic.Bool
}

// wait starts it and lets it come to rest.
func wait(t *testing.T, e *shared, ctx context.Context, c *core) *waiting {
	w := &waiting{shared: e, t: t, core: c}
	ctx, cancel := context.WithCancel(ctx)
	t.Cleanup(cancel) // so that a failed test ends
	go func() {
		w.err = e.EnqueueWait(ctx, c, "a", firq.Task[int]{Payload: 7})
		w.over.Store(true)
	}()
	synctest.Wait()
	return w
}

// asleep checks that it waits, after the given number of tries.
func (w *waiting) asleep(tries int) {
	w.t.Helper()
	synctest.Wait()
	if w.over.Load() {
		w.t.Fatalf("over: %v", w.err)
	}
	if int(w.core.calls.Load()) != tries || !w.Waiters.Waiting() {
		w.t.Fatalf("%d tries, want %d; Waiting = %t", w.core.calls.Load(), tries, w.Waiters.Waiting())
	}
}

// ended checks how it ended, after the given number of tries, and that it left the wait queue.
func (w *waiting) ended(tries int, want error) {
	w.t.Helper()
	synctest.Wait()
	if !w.over.Load() {
		w.t.Fatal("it still waits")
	}
	if !errors.Is(w.err, want) || int(w.core.calls.Load()) != tries {
		w.t.Fatalf("%v after %d tries, want %v after %d", w.err, w.core.calls.Load(), want, tries)
	}
	if w.Waiters.Waiting() {
		w.t.Error("still in the queue")
	}
}

func bubble(t *testing.T, cfg config, f func(t *testing.T, e *shared)) {
	t.Helper()
	synctest.Test(t, func(t *testing.T) { f(t, newShared(t, cfg)) })
}

var background = context.Background()
