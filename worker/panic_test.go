package worker_test

import (
	"bytes"
	"context"
	"errors"
	"log/slog"
	"runtime"
	"slices"
	"strings"
	"testing"
	"testing/synctest"
	"time"

	"github.com/firq-go/firq/worker"
)

// panics has a name that the stack must show.
func panics(i int) { panic(i) }

func TestPanic(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		f, r := newFeed(5), &record{}
		close(f.items)
		p, wait := started(t, t.Context(), f, func(_ context.Context, it item) error {
			if it.Payload%2 == 0 {
				panics(it.Payload)
			}
			return nil
		}, options{Concurrency: 1, OnPanic: r.hook, OnError: func(e event) { t.Errorf("OnError: %v", e.Err) }})
		if err := wait(); err != nil {
			t.Error(err)
		}
		var values []any
		for _, e := range r.events {
			values = append(values, e.Panic)
			if !bytes.Contains(e.Stack, []byte("worker_test.panics")) || e.Payload != e.Panic || e.Tenant != "a" {
				t.Errorf("payload %d, tenant %s, stack %s", e.Payload, e.Tenant, e.Stack)
			}
		}
		if !slices.Equal(values, []any{0, 2, 4}) {
			t.Errorf("panics %v", values)
		}
		if s := p.Stats(); s.Finished != 5 || s.Panicked != 3 || s.Failed != 0 || !slices.Equal(f.isDone(), []int{0, 1, 2, 3, 4}) {
			t.Errorf("%+v, done %v", s, f.isDone())
		}
	})
}

// TestGoexit: a handler that ends its goroutine does not cost the pool a worker,
// stuck or not.
func TestGoexit(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		f, r := newFeed(4), &record{}
		close(f.items)
		p, wait := started(t, t.Context(), f, func(_ context.Context, it item) error {
			if it.Payload == 2 {
				time.Sleep(10 * second)
			}
			if it.Payload > 0 {
				runtime.Goexit()
			}
			return nil
		}, options{Concurrency: 1, Timeout: second, TimeoutMode: worker.Cancel, StuckAfter: second, MaxReplacements: 1,
			OnError: r.hook, OnTimeout: func(event) {}, OnStuck: func(event) {}})
		// The pool is over before the stuck one returns: 3 was handled by the replacement.
		if err := wait(); !errors.Is(err, worker.ErrStuck) {
			t.Errorf("Run: %v", err)
		}
		time.Sleep(10 * second)
		synctest.Wait()
		if len(r.events) != 3 || !errors.Is(r.events[0].Err, worker.ErrGoexit) {
			t.Errorf("OnError: %+v", r.events)
		}
		if s := p.Stats(); s.Finished != 4 || s.Failed != 3 || s.Workers != 0 || s.Stuck != 1 || s.StuckNow != 0 || !slices.Equal(f.isDone(), []int{0, 1, 3, 2}) {
			t.Errorf("%+v, done %v", s, f.isDone())
		}
	})
}

// TestLogs: what no hook takes is logged, with the pool's and the tenant's name
// and without the payload.
func TestLogs(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		var buf bytes.Buffer // slog's handler locks
		f := newFeed(0)
		for _, payload := range []int{987650, 987651, 987652} {
			f.put(payload, time.Time{})
		}
		close(f.items)
		_, wait := started(t, t.Context(), f, func(_ context.Context, it item) error {
			switch it.Payload {
			case 987650:
				panic("oh")
			case 987651:
				return errors.New("no luck")
			}
			time.Sleep(3 * second)
			return nil
		}, options{Name: "mails", Concurrency: 1, SlowAfter: second / 2, Timeout: second, TimeoutMode: worker.Cancel, StuckAfter: second,
			Logger: slog.New(slog.NewTextHandler(&buf, nil))})
		if err := wait(); err != nil {
			t.Error(err)
		}
		lines := strings.Split(strings.TrimSpace(buf.String()), "\n")
		want := []string{"panicked", "failed", "slow", "ran longer", "ignores"}
		if len(lines) != len(want) {
			t.Fatalf("%d lines, want %d:\n%s", len(lines), len(want), buf.String())
		}
		for i, line := range lines {
			if !strings.Contains(line, want[i]) || !strings.Contains(line, "pool=mails") || !strings.Contains(line, "tenant=a") || strings.Contains(line, "98765") {
				t.Errorf("line %d should say %q: %s", i, want[i], line)
			}
		}
		for _, s := range []string{"level=ERROR", "panic=oh", "panic_test.go", "no luck"} {
			if !strings.Contains(buf.String(), s) {
				t.Errorf("%q is missing:\n%s", s, buf.String())
			}
		}
	})
}
