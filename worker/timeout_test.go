package worker_test

import (
	"context"
	"errors"
	"maps"
	"strings"
	"sync/atomic"
	"testing"
	"testing/synctest"
	"time"

	"github.com/firq-go/firq"
	"github.com/firq-go/firq/hist"
	"github.com/firq-go/firq/worker"
)

const second = time.Second

// TestWarn: a handler that runs for ten times its timeout is reported once, on
// time, and its context has no deadline and is never cancelled.
func TestWarn(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		f, r := newFeed(1), &record{}
		close(f.items)
		err := worker.Run(t.Context(), f, func(ctx context.Context, it item) error {
			if _, ok := ctx.Deadline(); ok {
				t.Error("Warn: the context has a deadline")
			}
			select {
			case <-ctx.Done():
				t.Errorf("Warn: the context was cancelled: %v", context.Cause(ctx))
			case <-time.After(10 * second):
			}
			return nil
		}, options{Concurrency: 1, Timeout: second, OnTimeout: r.hook, Name: "warn"})
		if err != nil {
			t.Error(err)
		}
		if got := r.elapsed(); !maps.Equal(got, map[int]time.Duration{0: second}) {
			t.Errorf("OnTimeout came at %v, want once after 1 s", got)
		}
		if e := r.events[0]; e.Pool != "warn" || e.Tenant != "a" || e.Wait != second || e.Err != nil || e.Panic != nil {
			t.Errorf("event %+v", e)
		}
	})
}

func TestCancel(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		f, r := newFeed(3), &record{}
		close(f.items)
		failed := &record{}
		var inTime context.Context
		p, wait := started(t, t.Context(), f, func(ctx context.Context, it item) error {
			if it.Payload == 1 {
				inTime = ctx
				return nil // in time: no hook
			}
			start := time.Now()
			if d, ok := ctx.Deadline(); !ok || !d.Equal(start.Add(second)) {
				t.Errorf("deadline %v %v, want in 1 s", d.Sub(start), ok)
			}
			<-ctx.Done()
			if d := time.Since(start); d != second {
				t.Errorf("cancelled after %v, want 1 s", d)
			}
			if !errors.Is(context.Cause(ctx), worker.ErrTimeout) {
				t.Errorf("cause %v", context.Cause(ctx))
			}
			return ctx.Err()
		}, options{Concurrency: 1, Timeout: second, TimeoutMode: worker.Cancel, OnTimeout: r.hook, OnError: failed.hook})
		if err := wait(); err != nil {
			t.Error(err)
		}
		if inTime.Err() != context.Canceled {
			t.Error("a context with a deadline outlives its handler: its timer runs on")
		}
		want := map[int]time.Duration{0: second, 2: second}
		if got := r.elapsed(); !maps.Equal(got, want) {
			t.Errorf("OnTimeout came at %v, want %v", got, want)
		}
		if len(failed.events) != 2 || !errors.Is(failed.events[0].Err, context.DeadlineExceeded) {
			t.Errorf("OnError: %+v", failed.events)
		}
		s := p.Stats()
		if s.Started != 3 || s.Finished != 3 || s.Failed != 2 || s.TimedOut != 2 || s.Stuck != 0 || s.Running != 0 || s.Workers != 0 {
			t.Errorf("%+v", s)
		}
		if s.HandlerTime.Count() != 3 || s.HandlerTime.Sum() != 2*second+hist.Lowest {
			t.Errorf("handler time: %d samples, sum %v", s.HandlerTime.Count(), s.HandlerTime.Sum())
		}
	})
}

// TestStop: one handler is over its time. Nothing more is taken, the other
// handler finishes undisturbed, Run says why.
func TestStop(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		f := newFeed(5)
		p, wait := started(t, t.Context(), f, func(ctx context.Context, it item) error {
			if it.Payload == 0 {
				<-ctx.Done()
				return nil
			}
			for range 3 { // ends 2.7 s after the start; its own timeout is not the point
				time.Sleep(900 * time.Millisecond)
			}
			return nil
		}, options{Concurrency: 2, Timeout: 2 * second, TimeoutMode: worker.Stop, Name: "billing", OnTimeout: func(event) {}})
		start := time.Now()
		err := wait()
		if !errors.Is(err, worker.ErrTimeout) || !strings.Contains(err.Error(), "billing") || !strings.Contains(err.Error(), "tenant a") {
			t.Errorf("Run: %v", err)
		}
		if d := time.Since(start); d != 2700*time.Millisecond {
			t.Errorf("Run returned after %v, want 2.7 s", d)
		}
		if s := p.Stats(); s.Started != 2 || s.Finished != 2 || len(f.items) != 3 {
			t.Errorf("%+v, %d left, want 2 handled and 3 left", s, len(f.items))
		}
	})
}

func TestSlow(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		f, slow, late := newFeed(4), &record{}, &record{}
		close(f.items)
		p, wait := started(t, t.Context(), f, func(ctx context.Context, it item) error {
			time.Sleep(time.Duration(it.Payload) * second) // 0, 1, 2, 3
			if ctx.Err() != nil {
				t.Error("cancelled")
			}
			return nil
		}, options{Concurrency: 4, SlowAfter: 2 * second, Timeout: 3 * second, OnSlow: slow.hook, OnTimeout: late.hook})
		if err := wait(); err != nil {
			t.Error(err)
		}
		if got := slow.elapsed(); !maps.Equal(got, map[int]time.Duration{2: 2 * second, 3: 2 * second}) {
			t.Errorf("OnSlow at %v", got)
		}
		if got := late.elapsed(); !maps.Equal(got, map[int]time.Duration{3: 3 * second}) {
			t.Errorf("OnTimeout at %v", got)
		}
		if s := p.Stats(); s.Slow != 2 || s.TimedOut != 1 {
			t.Errorf("%+v", s)
		}
	})
}

// TestDeadline: the task's deadline is the context's, the timeout if that is
// earlier, and with IgnoreDeadline the timeout alone.
func TestDeadline(t *testing.T) {
	for _, v := range []struct {
		name   string
		opts   options
		in     time.Duration // the task's deadline
		want   time.Duration // of the context; 0: none
		reason error
	}{
		{"deadline", options{}, 5 * second, 5 * second, context.DeadlineExceeded},
		{"earlier than the timeout", options{Timeout: 7 * second, TimeoutMode: worker.Cancel}, 5 * second, 5 * second, context.DeadlineExceeded},
		{"later than the timeout", options{Timeout: 3 * second, TimeoutMode: worker.Cancel}, 5 * second, 3 * second, worker.ErrTimeout},
		{"of a timeout that warns", options{Timeout: 3 * second}, 5 * second, 5 * second, context.DeadlineExceeded},
		{"ignored", options{IgnoreDeadline: true}, 5 * second, 0, nil},
		{"ignored, timeout", options{IgnoreDeadline: true, Timeout: 7 * second, TimeoutMode: worker.Cancel}, 5 * second, 7 * second, worker.ErrTimeout},
	} {
		t.Run(v.name, func(t *testing.T) {
			synctest.Test(t, func(t *testing.T) {
				f, start := newFeed(0), time.Now()
				f.put(0, start.Add(v.in))
				close(f.items)
				v.opts.OnTimeout, v.opts.OnStuck = func(event) {}, func(event) { t.Error("stuck") }
				err := worker.Run(t.Context(), f, func(ctx context.Context, it item) error {
					d, ok := ctx.Deadline()
					if ok != (v.want > 0) || ok && d.Sub(start) != v.want {
						t.Errorf("deadline in %v %v, want %v", d.Sub(start), ok, v.want)
					}
					select {
					case <-ctx.Done():
						if got := time.Since(start); got != v.want || !errors.Is(context.Cause(ctx), v.reason) {
							t.Errorf("cancelled after %v: %v", got, context.Cause(ctx))
						}
					case <-time.After(time.Minute):
						if v.want > 0 {
							t.Error("not cancelled")
						}
					}
					return nil
				}, v.opts)
				if err != nil {
					t.Error(err)
				}
			})
		})
	}
}

// TestTimerIsLazy: many short handlers, then ones that need the timer earlier or
// later than it is set for. All are reported on time.
func TestTimerIsLazy(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		f, r := newFeed(0), &record{}
		ctx, cancel := context.WithCancel(t.Context())
		_, wait := started(t, ctx, f, func(ctx context.Context, it item) error {
			time.Sleep(time.Duration(it.Payload) * time.Millisecond)
			return nil
		}, options{Concurrency: 1, Timeout: second, StuckAfter: 100 * time.Millisecond, OnTimeout: r.hook, OnStuck: r.hook})
		for _, ms := range []int{3, 7, 994, 995, 1500, 2, 999, 1001} {
			f.put(ms, time.Time{})
		}
		time.Sleep(time.Minute) // idle: the timer rings for no handler
		f.put(996, time.Time{}) // sets it
		f.put(600, time.Now().Add(996*time.Millisecond+200*time.Millisecond))
		time.Sleep(time.Minute)
		cancel()
		if err := wait(); err != nil {
			t.Error(err)
		}
		want := map[int]time.Duration{1500: second, 1001: second, 600: 300 * time.Millisecond}
		if got := r.elapsed(); !maps.Equal(got, want) {
			t.Errorf("reported at %v, want %v", got, want)
		}
	})
}

// TestHookIsWaitedFor: Run returns after the hooks of its handlers, not before.
func TestHookIsWaitedFor(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		f := newFeed(1)
		close(f.items)
		var ended atomic.Bool
		_, wait := started(t, t.Context(), f, func(ctx context.Context, it item) error {
			time.Sleep(2 * second)
			return nil
		}, options{Concurrency: 1, SlowAfter: second, OnSlow: func(event) {
			time.Sleep(5 * second)
			ended.Store(true)
		}})
		if err := wait(); err != nil || !ended.Load() {
			t.Errorf("Run: %v, the hook has ended: %v", err, ended.Load())
		}
	})
}

// TestDequeueFails: a consumer that fails stops the pool, which says how.
func TestDequeueFails(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		f := newFeed(3)
		f.fail = errors.New("broken")
		close(f.items)
		p, wait := started(t, t.Context(), f, func(context.Context, item) error { time.Sleep(second); return nil },
			options{Concurrency: 2, Name: "jobs"})
		err := wait()
		if !errors.Is(err, f.fail) || !strings.Contains(err.Error(), "jobs") || p.Stats().Finished != 3 {
			t.Errorf("Run: %v, %+v", err, p.Stats())
		}
		if errors.Is(err, firq.ErrClosed) {
			t.Error("matches ErrClosed")
		}
	})
}

// TestFinishedMeansDone: a caller that sees in Stats that a handler has finished knows that
// its task is Done.
func TestFinishedMeansDone(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		f := newFeed(1)
		close(f.items)
		f.doneTakes = 2 * second
		p, wait := started(t, t.Context(), f, nothing, options{Concurrency: 1})
		time.Sleep(second)
		if s := p.Stats(); s.Started != 1 || s.Finished != 0 || s.Running != 1 {
			t.Errorf("while Done is at work: %+v", s)
		}
		if err := wait(); err != nil || p.Stats().Finished != 1 {
			t.Errorf("Run: %v, %+v", err, p.Stats())
		}
	})
}
