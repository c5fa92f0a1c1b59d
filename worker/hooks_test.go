package worker_test

import (
	"context"
	"errors"
	"fmt"
	"io"
	"log/slog"
	"runtime"
	"slices"
	"sync"
	"sync/atomic"
	"testing"
	"testing/synctest"
	"time"

	"github.com/firq-go/firq/worker"
)

// manners are what handlers do.
var manners = []struct {
	name    string
	handler func(ctx context.Context, it item) error
}{
	{"returns", func(context.Context, item) error { return nil }},
	{"fails", func(context.Context, item) error { return errors.New("no luck") }},
	{"panics", func(context.Context, item) error { panic("oh") }},
	{"panics with nil", func(context.Context, item) error { panic(nil) }},
	{"a runtime error", func(context.Context, item) error { var m *event; m.Err = nil; return nil }},
	{"Goexit", func(context.Context, item) error { runtime.Goexit(); return nil }},
	{"runs until it is slow", func(context.Context, item) error { time.Sleep(second); return nil }},
	{"runs until its time is over", func(context.Context, item) error { time.Sleep(2 * second); return errors.New("late") }},
	{"is slow", func(context.Context, item) error { time.Sleep(3 * second / 2); return nil }},
	{"is stuck", func(context.Context, item) error { time.Sleep(4 * second); return nil }},
	{"is stuck and fails", func(context.Context, item) error { time.Sleep(4 * second); return errors.New("late") }},
	{"is stuck and panics", func(context.Context, item) error { time.Sleep(4 * second); panic("late") }},
	{"is stuck and exits", func(context.Context, item) error { time.Sleep(4 * second); runtime.Goexit(); return nil }},
}

// hookNames are the hooks; "" is none.
var hookNames = []string{"", "OnSlow", "OnTimeout", "OnStuck", "OnError", "OnPanic"}

// seen is what can be seen of a pool that has run.
func seen(t *testing.T, handler func(context.Context, item) error, bad string, slowAfter time.Duration, replacements int) (all string) {
	var mu sync.Mutex
	calls := map[string]int{}
	hook := func(name string) func(event) {
		return func(event) {
			mu.Lock()
			calls[name]++
			mu.Unlock()
			if name == bad {
				runtime.Goexit()
			}
		}
	}
	synctest.Test(t, func(t *testing.T) {
		f := newFeed(3)
		close(f.items)
		p, wait := started(t, t.Context(), f, handler, options{
			Concurrency: 1, SlowAfter: slowAfter, Timeout: 2 * second, TimeoutMode: worker.Cancel, StuckAfter: second, MaxReplacements: replacements,
			OnSlow: hook("OnSlow"), OnTimeout: hook("OnTimeout"), OnStuck: hook("OnStuck"), OnError: hook("OnError"), OnPanic: hook("OnPanic"),
			Logger: slog.New(slog.NewTextHandler(io.Discard, nil)),
		})
		err := wait()
		time.Sleep(time.Minute) // those that were stuck return
		synctest.Wait()
		s, done := p.Stats(), f.isDone()
		s.HandlerTime = nil
		slices.Sort(done)
		all = fmt.Sprintf("%v; done %v; %+v; hooks %v", err, done, s, calls)
		if s.Started != s.Finished || s.StuckNow != 0 || s.Workers != 0 || len(done) != 3 {
			t.Errorf("%q ends its goroutine: %s", bad, all)
		}
	})
	return all
}

// TestHooksEndGoroutines: each hook, for each manner of a handler, may end its
// goroutine by runtime.Goexit: nothing is different from a hook that returns.
func TestHooksEndGoroutines(t *testing.T) {
	for _, m := range manners {
		for _, o := range []struct {
			slowAfter    time.Duration
			replacements int
		}{{second, 0}, {second, 1}, {2 * second, 0}} { // the last: two limits at the same instant
			t.Run(fmt.Sprintf("%s/slow=%v/replacements=%d", m.name, o.slowAfter, o.replacements), func(t *testing.T) {
				var want string
				for _, bad := range hookNames {
					got := ""
					over := make(chan struct{})
					go func() {
						defer close(over)
						got = seen(t, m.handler, bad, o.slowAfter, o.replacements)
					}()
					select {
					case <-over:
					case <-time.After(10 * time.Second):
						t.Fatalf("%q ends its goroutine, and the pool hangs", bad)
					}
					if bad == "" {
						want = got
					} else if got != want {
						t.Errorf("%q ends its goroutine:\n got %s\nwant %s", bad, got, want)
					}
				}
			})
		}
	}
}

// TestHookOfLateLimits: the timer is busy with a hook, so a handler passes two limits
// that no goroutine has noted when it ends. The hook of the first ends the goroutine; the
// second counts all the same.
func TestHookOfLateLimits(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		f := newFeed(2)
		close(f.items)
		goOn := make(chan bool)
		var runs, slow, late atomic.Int32
		p, wait := started(t, t.Context(), f, func(context.Context, item) error {
			time.Sleep(time.Duration(2*runs.Add(1)-1) * second) // one, and three
			return nil
		}, options{
			Concurrency: 1, SlowAfter: second / 2, Timeout: 2 * second,
			OnSlow: func(event) {
				if slow.Add(1) == 1 {
					<-goOn // in the timer's goroutine, until the second handler has ended
					return
				}
				runtime.Goexit()
			},
			OnTimeout: func(event) { late.Add(1) },
		})
		time.Sleep(5 * second)
		synctest.Wait()
		close(goOn)
		if err := wait(); err != nil {
			t.Error(err)
		}
		if s := p.Stats(); s.Finished != 2 || s.Slow != 2 || s.TimedOut != 1 || slow.Load() != 2 || late.Load() != 1 {
			t.Errorf("finished %d, slow %d, timed out %d; OnSlow was called %d times, OnTimeout %d", s.Finished, s.Slow, s.TimedOut, slow.Load(), late.Load())
		}
	})
}
