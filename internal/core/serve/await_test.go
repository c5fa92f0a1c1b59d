package serve

import (
	"context"
	"errors"
	"math"
	"slices"
	"testing"
	"testing/synctest"
	"time"

	"github.com/firq-go/firq"
	"github.com/firq-go/firq/internal/core/drr"
	"github.com/firq-go/firq/internal/core/waitq"
)

// There is room when it tries again after announcing itself: it does not sleep.
func TestAwaitTriesAgain(t *testing.T) {
	bubble(t, config{}, func(t *testing.T, e *shared) {
		wait(t, e, background, coreOf(firq.ErrGlobalFull, nil)).ended(2, nil)
		wait(t, e, background, coreOf(nil)).ended(1, nil)
	})
}

// Each limit waits in its line, and only for it; one that was woken in vain waits
// on.
func TestAwaitWoken(t *testing.T) {
	for full, global := range map[error]bool{firq.ErrGlobalFull: true, firq.ErrTenantFull: false, firq.ErrTenantThreshold: true} {
		bubble(t, config{}, func(t *testing.T, e *shared) {
			w := wait(t, e, background, coreOf(full, full, full, full, nil))
			w.asleep(2)
			e.Waiters.Released("a", 1)
			w.asleep(4) // once woken, once before it sleeps
			if e.Waiters.Released("nobody", 1); !global {
				w.asleep(4)
				e.Waiters.Released("a", 1)
			}
			w.ended(5, nil)
			if got := w.core.admitted[0]; got.Payload != 7 || got.Cost != 1 {
				t.Errorf("admitted %+v", got)
			}
		})
	}
}

// Another limit stands in the way than before: it goes to that line, both when it
// finds so before sleeping and when it was woken.
func TestAwaitChangesLines(t *testing.T) {
	bubble(t, config{}, func(t *testing.T, e *shared) {
		g, n := firq.ErrGlobalFull, firq.ErrTenantFull
		w := wait(t, e, background, coreOf(g, n, n, g, g, nil))
		w.asleep(3)
		e.Waiters.Released("nobody", 1)
		w.asleep(3)
		e.Waiters.Released("a", 1)
		w.asleep(5)
		e.Waiters.Released("nobody", 1)
		w.ended(6, nil)
	})
}

// Waiting ends with the context, and says why.
func TestAwaitContext(t *testing.T) {
	bubble(t, config{}, func(t *testing.T, e *shared) {
		start := time.Now()
		ctx, cancel := context.WithTimeout(background, time.Minute)
		defer cancel()
		w := wait(t, e, ctx, coreOf(firq.ErrTenantFull))
		w.asleep(2)
		time.Sleep(time.Minute)
		w.ended(2, firq.ErrTimeout)
		if !errors.Is(w.err, context.DeadlineExceeded) || !errors.Is(w.err, firq.ErrRejected) {
			t.Errorf("%v does not say why", w.err)
		}
		if d := time.Since(start); d != time.Minute {
			t.Errorf("after %v", d)
		}
		w = wait(t, e, ctx, coreOf(nil)) // done already: not even tried
		w.ended(0, context.DeadlineExceeded)
		cancelled, cancel := context.WithCancel(background)
		w = wait(t, e, cancelled, coreOf(firq.ErrGlobalFull))
		w.asleep(2)
		cancel()
		w.ended(2, context.Canceled)
		if st := e.Stats(NewCounters[string](), 0, 1); st.TimeoutRejected != 3 || st.Dropped != 3 {
			t.Errorf("%d timeouts counted, want 3", st.TimeoutRejected)
		}
	})
}

// A wake-up and the end of the wait at the same time: either way the place is not lost to
// the next one.
func TestAwaitGivesUpAndPassesOn(t *testing.T) {
	bubble(t, config{}, func(t *testing.T, e *shared) {
		for range 30 { // select chooses at random
			ctx, cancel := context.WithCancel(background)
			first := wait(t, e, ctx, coreOf(firq.ErrTenantFull))
			second := wait(t, e, background, coreOf(firq.ErrTenantFull, firq.ErrTenantFull, nil))
			cancel()
			e.Waiters.Released("a", 1)
			synctest.Wait()
			if !first.over.Load() {
				t.Fatal("cancelled, and still there")
			}
			if !second.over.Load() {
				if first.core.calls.Load() == 2 {
					t.Fatal("the first one was not woken, nor was the second")
				}
				e.Waiters.Released("a", 1)
			}
			second.ended(3, nil)
		}
	})
}

// Bad news: every producer is woken, and none counts it as a rejection.
func TestAwaitClosed(t *testing.T) {
	bubble(t, config{}, func(t *testing.T, e *shared) {
		full := []error{firq.ErrGlobalFull, firq.ErrTenantFull, firq.ErrTenantThreshold}
		var ws []*waiting
		for _, err := range full {
			ws = append(ws, wait(t, e, background, coreOf(err, err, firq.ErrClosed)))
		}
		e.Waiters.WakeAll()
		for _, w := range ws {
			w.ended(3, firq.ErrClosed)
		}
		wait(t, e, background, coreOf(firq.ErrClosed)).ended(1, firq.ErrClosed)
		wait(t, e, background, coreOf(firq.ErrGlobalFull, firq.ErrClosed)).ended(2, firq.ErrClosed)
		if st := e.Stats(NewCounters[string](), 0, 1); st.Dropped != 0 {
			t.Errorf("%d rejections counted", st.Dropped)
		}
	})
}

// A producer that was woken and then fails for another reason leaves the place to the
// next one.
func TestAwaitFailsAndPassesOn(t *testing.T) {
	for _, fail := range []error{ErrTicketInUse, firq.ErrClosed, firq.ErrTooManyTenants} {
		bubble(t, config{}, func(t *testing.T, e *shared) {
			full := firq.ErrTenantFull
			first := wait(t, e, background, coreOf(full, full, fail))
			second := wait(t, e, background, coreOf(full, full, nil))
			e.Waiters.Released("a", 1)
			second.ended(3, nil)
			first.ended(3, fail)
		})
	}
}

// What may make room is an expiry of the tenant's own tasks, or of any tenant's where
// the limit is the scheduler's.
func TestAwaitWhoseExpiry(t *testing.T) {
	for full, whose := range map[error]string{firq.ErrGlobalFull: "all", firq.ErrTenantFull: "tenant", firq.ErrTenantThreshold: "all"} {
		bubble(t, config{}, func(t *testing.T, e *shared) {
			w := wait(t, e, background, coreOf(full, full, nil))
			e.Waiters.WakeAll()
			w.ended(3, nil)
			if !slices.Equal(w.core.asked, []string{whose}) {
				t.Errorf("%v: asked for the expiry of %v", full, w.core.asked)
			}
		})
	}
}

// Too many tenants is no matter of capacity: it does not wait.
func TestAwaitTooManyTenants(t *testing.T) {
	bubble(t, config{}, func(t *testing.T, e *shared) {
		many := firq.ErrTooManyTenants
		wait(t, e, background, coreOf(many)).ended(1, many)
		wait(t, e, background, coreOf(firq.ErrGlobalFull, many)).ended(2, many)
		if st := e.Stats(NewCounters[string](), 0, 1); st.RejectedTenant != 2 {
			t.Errorf("%d rejections counted, want 2", st.RejectedTenant)
		}
	})
}

// An expired task makes room without a call that wakes its producer: it tries again by itself
// when that may be.
func TestAwaitExpiry(t *testing.T) {
	bubble(t, config{}, func(t *testing.T, e *shared) {
		c := coreOf(firq.ErrTenantFull, firq.ErrTenantFull, nil)
		c.due = e.Clock.Now() + int64(time.Hour)
		w := wait(t, e, background, c)
		time.Sleep(time.Hour - time.Minute)
		w.asleep(2)
		time.Sleep(2 * time.Minute)
		w.ended(3, nil)
		c = coreOf(firq.ErrTenantFull, firq.ErrTenantFull, nil)
		c.due = e.Clock.Now() - int64(time.Hour) // now
		w = wait(t, e, background, c)
		time.Sleep(time.Second)
		w.ended(3, nil)
	})
}

// The time that a task waited for admission is not queue time.
func TestAwaitIsNotQueueTime(t *testing.T) {
	bubble(t, config{}, func(t *testing.T, e *shared) {
		before := e.Clock.Now()
		for _, answers := range [][]error{{firq.ErrGlobalFull, nil}, {firq.ErrGlobalFull, firq.ErrGlobalFull, nil}} {
			c := coreOf(answers...)
			var d drr.Task[int]
			if err := e.Task(&d, new(firq.Task[int]), before-minute); err != nil {
				t.Fatal(err)
			}
			go func() { _ = e.await(background, nil, c, "a", d, c.Admit("a", d)) }()
			synctest.Wait()
			e.Waiters.WakeAll()
			synctest.Wait()
			if got := c.admitted[0].Enqueued; got < before {
				t.Errorf("admitted after %d tries as enqueued %v earlier", c.calls.Load(), time.Duration(before-got))
			}
		}
	})
}

// Waiters are served in the order of their coming, woken in vain or not.
func TestAwaitKeepsPlaces(t *testing.T) {
	bubble(t, config{}, func(t *testing.T, e *shared) {
		full := firq.ErrTenantFull
		first := wait(t, e, background, coreOf(full, full, full, full, nil))
		second := wait(t, e, background, coreOf(full, full, nil))
		e.Waiters.Released("a", 1)
		first.asleep(4)
		second.asleep(2)
		e.Waiters.Released("a", 1)
		second.asleep(2)
		if !first.over.Load() {
			t.Error("the first one has lost its place")
		}
		e.Waiters.Released("a", 1)
		second.ended(3, nil)
		if !slices.Equal(first.core.replaced, nil) {
			t.Error("EnqueueWait evicts")
		}
	})
}

// A due time before all times means "look at once", not "in 292 years".
func TestSleepUntilLongAgo(t *testing.T) {
	bubble(t, config{}, func(t *testing.T, e *shared) {
		ctx, cancel := context.WithTimeout(background, time.Hour)
		defer cancel()
		var w waitq.Waiter[string]
		e.Waiters.Enter(&w, "a", waitq.Tenant)
		if v := e.sleep(ctx, &w, nil, math.MinInt64); v != waitq.Retry {
			t.Errorf("verdict %d, want a retry", v)
		}
	})
}
