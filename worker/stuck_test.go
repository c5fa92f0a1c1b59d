package worker_test

import (
	"context"
	"errors"
	"maps"
	"slices"
	"strings"
	"sync"
	"testing"
	"testing/synctest"
	"time"

	"github.com/firq-go/firq/worker"
)

// TestStuckStays: without replacements, a handler that ignores its context keeps
// its worker, is reported once, and is Done only when it has returned.
func TestStuckStays(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		f, r := newFeed(3), &record{}
		close(f.items)
		p, wait := started(t, t.Context(), f, func(ctx context.Context, it item) error {
			if it.Payload == 0 {
				time.Sleep(20 * second)
			}
			return nil
		}, options{Concurrency: 1, Timeout: second, TimeoutMode: worker.Cancel, StuckAfter: 4 * second, OnTimeout: func(event) {}, OnStuck: r.hook})
		time.Sleep(6 * second)
		if s := p.Stats(); s.Stuck != 1 || s.StuckNow != 1 || s.Running != 1 || s.Workers != 0 || len(f.isDone()) != 0 {
			t.Errorf("after 6 s: %+v, done %v", s, f.isDone())
		}
		if err := wait(); err != nil {
			t.Error(err)
		}
		if got := r.elapsed(); !maps.Equal(got, map[int]time.Duration{0: 5 * second}) {
			t.Errorf("OnStuck at %v, want after 5 s", got)
		}
		if s := p.Stats(); s.Finished != 3 || s.Stuck != 1 || s.StuckNow != 0 || !slices.Equal(f.isDone(), []int{0, 1, 2}) {
			t.Errorf("%+v, done %v", s, f.isDone())
		}
	})
}

// TestReplacements: stuck workers are replaced, up to the limit; when their
// handlers return they leave, and may be replaced again.
func TestReplacements(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		f := newFeed(12)
		ctx, cancel := context.WithCancel(t.Context())
		defer cancel()
		var mu sync.Mutex
		running, most := 0, 0
		p, wait := started(t, ctx, f, func(ctx context.Context, it item) error {
			mu.Lock()
			running++
			most = max(most, running)
			mu.Unlock()
			time.Sleep(100 * second) // whatever ctx says
			mu.Lock()
			running--
			mu.Unlock()
			return nil
		}, options{Concurrency: 2, MaxReplacements: 3, Timeout: second, TimeoutMode: worker.Cancel, StuckAfter: second,
			OnTimeout: func(event) {}, OnStuck: func(event) {}})
		time.Sleep(50 * second)
		// 2 at 0 s, 2 for them at 2 s, 1 more at 4 s: all five are stuck.
		if s := p.Stats(); s.Running != 5 || s.StuckNow != 5 || s.Workers != 0 {
			t.Errorf("after 50 s: %+v, want 5 running, all stuck", s)
		}
		time.Sleep(60 * second)
		// At 100 s the first two left (replaced), at 102 s two more, one of which was
		// replaced and one not; at 104 s the last. All over again since.
		if s := p.Stats(); s.Running > 5 || s.Started < 10 {
			t.Errorf("after 110 s: %+v, want at most 5 running", s)
		}
		time.Sleep(600 * second)
		if s := p.Stats(); s.Running != 0 || s.Finished != 12 || s.Stuck != 12 || s.StuckNow != 0 || s.Workers != 2 {
			t.Errorf("at the end: %+v, want 2 workers and nothing running", s)
		}
		if most != 5 {
			t.Errorf("%d ran at the same time, want 5", most)
		}
		cancel()
		if err := wait(); err != nil {
			t.Error(err)
		}
	})
}

// TestGrace: handlers keep a live context until Run was told to stop and the
// grace time is over. The pool waits for a handler that returns then, and not for one that ignores it.
func TestGrace(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		f, r := newFeed(4), &record{}
		ctx, cancel := context.WithCancel(t.Context())
		start := time.Now()
		p, wait := started(t, ctx, f, func(ctx context.Context, it item) error {
			switch it.Payload {
			case 0: // ends within the grace time
				time.Sleep(5 * second)
				if ctx.Err() != nil {
					t.Errorf("cancelled early: %v", context.Cause(ctx))
				}
			case 1: // obeys
				<-ctx.Done()
				if d := time.Since(start); d != 11*second || !errors.Is(context.Cause(ctx), worker.ErrGraceOver) {
					t.Errorf("cancelled after %v: %v", d, context.Cause(ctx))
				}
				time.Sleep(second)
			case 2: // ignores it
				time.Sleep(60 * second)
			}
			return nil
		}, options{Concurrency: 3, Grace: 10 * second, StuckAfter: 2 * second, OnStuck: r.hook, Name: "jobs"})
		time.Sleep(second)
		cancel()
		err := wait()
		if d := time.Since(start); d != 13*second {
			t.Errorf("Run returned after %v, want 13 s: 1 until the stop, 10 of grace, 2 until stuck", d)
		}
		if !errors.Is(err, worker.ErrStuck) || !strings.Contains(err.Error(), `"jobs": 1 still`) {
			t.Errorf("Run: %v", err)
		}
		if got := r.elapsed(); !maps.Equal(got, map[int]time.Duration{2: 13 * second}) {
			t.Errorf("OnStuck at %v", got)
		}
		if s := p.Stats(); s.Started != 3 || s.Finished != 2 || s.Running != 1 || s.StuckNow != 1 || len(f.items) != 1 {
			t.Errorf("%+v, %d left", s, len(f.items))
		}
		if got := f.isDone(); !slices.Equal(got, []int{0, 1}) {
			t.Errorf("done %v", got)
		}
		time.Sleep(60 * second)
		if s := p.Stats(); s.Finished != 3 || s.StuckNow != 0 || s.Workers != 0 || !slices.Equal(f.isDone(), []int{0, 1, 2}) {
			t.Errorf("later: %+v, done %v", s, f.isDone())
		}
	})
}

// TestNoGrace: without one, handlers are waited for as long as it takes, and
// the context is not that of Run, but has its values.
func TestNoGrace(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		type key struct{}
		f := newFeed(2)
		ctx, cancel := context.WithTimeout(context.WithValue(t.Context(), key{}, "value"), second)
		defer cancel()
		_, wait := started(t, ctx, f, func(ctx context.Context, it item) error {
			time.Sleep(time.Hour)
			if _, ok := ctx.Deadline(); ok || ctx.Err() != nil || ctx.Value(key{}) != "value" {
				t.Errorf("context: %v, %v", ctx.Err(), ctx.Value(key{}))
			}
			return nil
		}, options{Concurrency: 1})
		start := time.Now()
		if err := wait(); err != nil || time.Since(start) != time.Hour || len(f.items) != 1 {
			t.Errorf("Run: %v after %v, %d left", err, time.Since(start), len(f.items))
		}
	})
}

// TestGraceOverAtStart: a task that a slow consumer delivers when the grace time is
// over is handled all the same, with a context that is cancelled already, and
// its handler may be stuck like any other.
func TestGraceOverAtStart(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		f, r := newFeed(1), &record{}
		f.late = 10 * second
		ctx, cancel := context.WithCancel(t.Context())
		_, wait := started(t, ctx, f, func(ctx context.Context, it item) error {
			if !errors.Is(context.Cause(ctx), worker.ErrGraceOver) {
				t.Errorf("cause %v", context.Cause(ctx))
			}
			time.Sleep(5 * second)
			return nil
		}, options{Concurrency: 1, Grace: second, StuckAfter: 2 * second, OnStuck: r.hook})
		time.Sleep(second)
		start := time.Now()
		cancel()
		if err := wait(); !errors.Is(err, worker.ErrStuck) {
			t.Errorf("Run: %v", err)
		}
		if d := time.Since(start); d != 11*second {
			t.Errorf("Run returned after %v, want 11 s: 9 for Dequeue, 2 until stuck", d)
		}
		if got := r.elapsed(); !maps.Equal(got, map[int]time.Duration{0: 2 * second}) {
			t.Errorf("OnStuck at %v", got)
		}
		time.Sleep(5 * second)
		synctest.Wait()
		if got := f.isDone(); !slices.Equal(got, []int{0}) {
			t.Errorf("done %v", got)
		}
	})
}

// TestReplacedAgain: a worker that left with its timer still set is watched like
// any other when it comes back as a replacement.
func TestReplacedAgain(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		f, r := newFeed(0), &record{}
		ctx, cancel := context.WithCancel(t.Context())
		_, wait := started(t, ctx, f, func(context.Context, item) error {
			time.Sleep(10 * second) // SlowAfter is still to come
			return nil
		}, options{Concurrency: 1, MaxReplacements: 1, Timeout: second, TimeoutMode: worker.Cancel, StuckAfter: second, SlowAfter: 20 * second,
			OnTimeout: func(event) {}, OnStuck: r.hook})
		for i := range 3 { // 0 is replaced and leaves; 1 is replaced by the worker that left; the one that handles 2
			f.put(i, time.Time{})
			time.Sleep([]time.Duration{100 * second, 5 * second, 100 * second}[i])
		}
		cancel()
		if err := wait(); err != nil {
			t.Error(err)
		}
		want := map[int]time.Duration{0: 2 * second, 1: 2 * second, 2: 2 * second}
		if got := r.elapsed(); !maps.Equal(got, want) {
			t.Errorf("OnStuck at %v, want %v", got, want)
		}
	})
}
