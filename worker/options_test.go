package worker_test

import (
	"context"
	"errors"
	"math"
	"reflect"
	"runtime"
	"strings"
	"testing"
	"testing/synctest"
	"time"

	"github.com/firq-go/firq"
	"github.com/firq-go/firq/worker"
)

func nothing(context.Context, item) error { return nil }

func TestOptionsInvalid(t *testing.T) {
	named := map[string]bool{}
	for _, v := range []struct {
		field string
		opts  options
	}{
		{"Concurrency", options{Concurrency: -1}},
		{"Concurrency", options{Concurrency: worker.MaxConcurrency + 1}},
		{"Timeout", options{Timeout: -1}},
		{"Timeout", options{TimeoutMode: worker.Cancel}},
		{"Timeout", options{TimeoutMode: worker.Stop}},
		{"TimeoutMode", options{TimeoutMode: worker.Stop + 1, Timeout: second}},
		{"SlowAfter", options{SlowAfter: -1}},
		{"StuckAfter", options{StuckAfter: -1}},
		{"MaxReplacements", options{MaxReplacements: -1}},
		{"MaxReplacements", options{MaxReplacements: worker.MaxConcurrency + 1}},
		{"Grace", options{Grace: -1}},
	} {
		named[v.field] = true
		_, err := worker.New(newFeed(0), nothing, v.opts)
		if !errors.Is(err, firq.ErrInvalidConfig) || !strings.Contains(err.Error(), "worker: "+v.field+":") {
			t.Errorf("%+v: %v, want one that names %s", v.opts, err, v.field)
		}
		if err := worker.Run(t.Context(), newFeed(0), nothing, v.opts); !errors.Is(err, firq.ErrInvalidConfig) {
			t.Errorf("Run with %+v: %v", v.opts, err)
		}
	}
	_, err := worker.New(newFeed(0), nothing, options{Concurrency: -1, Grace: -1, TimeoutMode: worker.Stop})
	for _, field := range []string{"Concurrency", "Grace", "Timeout"} {
		if err == nil || !strings.Contains(err.Error(), "worker: "+field+":") {
			t.Errorf("%v, want one that names %s too", err, field)
		}
	}
	// A developer who adds a number to Options says what is wrong with it here.
	for _, f := range reflect.VisibleFields(reflect.TypeFor[options]()) {
		switch f.Type.Kind() {
		case reflect.Int, reflect.Int64, reflect.Uint8:
			if !named[f.Name] {
				t.Errorf("no test calls %s invalid", f.Name)
			}
		}
	}
}

func TestArguments(t *testing.T) {
	if _, err := worker.New[string, int](nil, nothing, options{}); !errors.Is(err, firq.ErrInvalidArgument) || !strings.Contains(err.Error(), "source") {
		t.Errorf("nil source: %v", err)
	}
	if _, err := worker.New(newFeed(0), nil, options{}); !errors.Is(err, firq.ErrInvalidArgument) || !strings.Contains(err.Error(), "handler") {
		t.Errorf("nil handler: %v", err)
	}
	f := newFeed(0)
	close(f.items)
	p, err := worker.New(f, nothing, options{})
	if err != nil {
		t.Fatal(err)
	}
	if err := p.Run(nil); !errors.Is(err, firq.ErrInvalidArgument) || !strings.Contains(err.Error(), "ctx") { //nolint:staticcheck // nil on purpose
		t.Errorf("nil ctx: %v", err)
	}
	if err := p.Run(t.Context()); err != nil {
		t.Errorf("Run: %v", err)
	}
	if err := p.Run(t.Context()); !errors.Is(err, firq.ErrInvalidArgument) {
		t.Errorf("second Run: %v", err)
	}
}

// TestDefaults: GOMAXPROCS workers; a handler is stuck after 10 s; the longest
// durations are none.
func TestDefaults(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		n := runtime.GOMAXPROCS(0)
		f, r := newFeed(0), &record{}
		ctx, cancel := context.WithCancel(t.Context())
		p, wait := started(t, ctx, f, func(context.Context, item) error {
			time.Sleep(time.Minute)
			return nil
		}, options{Grace: second, Timeout: math.MaxInt64, TimeoutMode: worker.Cancel, SlowAfter: math.MaxInt64, OnStuck: r.hook})
		time.Sleep(second) // the longest durations end after all time
		for i := range n + 1 {
			f.put(i, time.Time{})
		}
		synctest.Wait()
		if s := p.Stats(); s.Workers != n || s.Running != n {
			t.Errorf("%d workers, %d running, want %d", s.Workers, s.Running, n)
		}
		cancel()
		if err := wait(); !errors.Is(err, worker.ErrStuck) {
			t.Errorf("Run: %v", err)
		}
		for _, e := range r.events {
			if e.Elapsed != second+worker.DefaultStuckAfter {
				t.Errorf("stuck after %v", e.Elapsed)
			}
		}
		if s := p.Stats(); s.Slow != 0 || s.TimedOut != 0 {
			t.Errorf("%d slow, %d timed out", s.Slow, s.TimedOut)
		}
		if len(r.events) != n {
			t.Errorf("%d were stuck, want %d", len(r.events), n)
		}
		time.Sleep(time.Minute)
	})
}

// TestAllocatesNothing: without timeouts, and with one that only warns, a task
// costs no allocation.
func TestAllocatesNothing(t *testing.T) {
	for name, o := range map[string]worker.Options[string, int]{
		"plain": {}, "warn": {Timeout: time.Hour, SlowAfter: time.Minute, Grace: time.Hour},
	} {
		onCores(t, firq.Config[string, int]{}, func(t *testing.T, s firq.Scheduler[string, int]) {
			const warm, n = 1000, 20_000
			for range warm + n {
				enqueue(t, s, "a", firq.Task[int]{})
			}
			var before, after runtime.MemStats
			i := 0
			o.Concurrency = 1
			go func() { _ = s.Shutdown(t.Context()) }()
			err := worker.Run(t.Context(), s, func(context.Context, *firq.Item[string, int]) error {
				switch i++; i {
				case warm:
					runtime.ReadMemStats(&before)
				case warm + n:
					runtime.ReadMemStats(&after)
				}
				return nil
			}, o)
			if err != nil {
				t.Fatal(err)
			}
			// A few belong to the runtime, and to the histogram's rows.
			if got := after.Mallocs - before.Mallocs; got > n/100 {
				t.Errorf("%s: %d allocations for %d tasks", name, got, n)
			}
		})
	}
}

// TestForgetsPayload: what was handled is not kept alive by an idle worker.
func TestForgetsPayload(t *testing.T) {
	for name, o := range map[string]worker.Options[string, *[1 << 20]byte]{
		"plain": {Concurrency: 1}, "watched": {Concurrency: 1, Timeout: time.Hour},
	} {
		onCores(t, firq.Config[string, *[1 << 20]byte]{}, func(t *testing.T, s firq.Scheduler[string, *[1 << 20]byte]) {
			handled := make(chan bool)
			ctx, cancel := context.WithCancel(t.Context())
			end := make(chan error, 1)
			go func() {
				end <- worker.Run(ctx, s, func(context.Context, *firq.Item[string, *[1 << 20]byte]) error {
					handled <- true
					return nil
				}, o)
			}()
			freed := make(chan bool)
			func() { // its stack is gone when we wait
				payload := new([1 << 20]byte)
				runtime.AddCleanup(payload, func(c chan bool) { close(c) }, freed)
				enqueue(t, s, "a", firq.Task[*[1 << 20]byte]{Payload: payload})
			}()
			receive(t, handled, "the handler")
			deadline := time.After(patience)
			for waiting := true; waiting; {
				runtime.GC()
				select {
				case <-freed:
					waiting = false
				case <-deadline:
					t.Errorf("%s: the payload is still alive", name)
					waiting = false
				case <-time.After(time.Millisecond):
				}
			}
			cancel()
			if err := receive(t, end, "Run"); err != nil {
				t.Error(err)
			}
		})
	}
}

// TestForgetsPool: when Run has returned, no timer keeps the pool alive, nor what
// its handler holds.
func TestForgetsPool(t *testing.T) {
	freed := make(chan bool)
	func() { // its stack is gone when we wait
		held := new([1 << 10]byte)
		runtime.AddCleanup(held, func(c chan bool) { close(c) }, freed)
		f := newFeed(3)
		close(f.items)
		err := worker.Run(t.Context(), f, func(context.Context, item) error {
			held[0]++
			return nil
		}, options{Concurrency: 1, Timeout: time.Hour})
		if err != nil {
			t.Error(err)
		}
	}()
	deadline := time.After(patience)
	for {
		runtime.GC()
		select {
		case <-freed:
			return
		case <-deadline:
			t.Fatal("the pool is still alive")
		case <-time.After(time.Millisecond):
		}
	}
}

func TestTimeoutModeString(t *testing.T) {
	for m, want := range map[worker.TimeoutMode]string{worker.Warn: "warn", worker.Cancel: "cancel", worker.Stop: "stop", 7: "TimeoutMode(7)"} {
		if got := m.String(); got != want {
			t.Errorf("%d: %s, want %s", uint8(m), got, want)
		}
	}
}
