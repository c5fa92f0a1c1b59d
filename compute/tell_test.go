package compute

import (
	"bytes"
	"context"
	"errors"
	"log/slog"
	"runtime"
	"strings"
	"sync/atomic"
	"testing"
	"testing/synctest"
	"time"
)

// record returns a logger, and what it has logged.
func record() (*slog.Logger, *bytes.Buffer) {
	b := new(bytes.Buffer)
	return slog.New(slog.NewTextHandler(b, nil)), b
}

// Each panic is heard of once, however many calls it ends; by default in the log.
func TestPanicIsHeardOf(t *testing.T) {
	for name, f := range map[string]func(){"panic": func() { panic("boom") }, "goexit": runtime.Goexit} {
		t.Run(name, func(t *testing.T) {
			modes(t, func(t *testing.T, cfg config) {
				var text *bytes.Buffer
				cfg.Logger, text = record()
				var told atomic.Int64
				for _, hook := range []func(call, *PanicError){nil, func(c call, p *PanicError) {
					told.Add(1)
					if c.Key != "k" || c.Tenant != "a" || (p.Value == nil) != (name == "goexit") {
						t.Errorf("%+v, %v", c, p)
					}
					panic("the hook's")
				}} {
					cfg.OnPanic = hook
					text.Reset()
					block := make(chan struct{})
					d := openWith(t, newMaker(), cfg, func(context.Context, call) (string, error) {
						<-block
						f()
						return "", nil
					})
					for range 5 {
						d.start(background, "a", "k")
					}
					close(block)
					synctest.Wait()
					d.calls.Store(int64(d.sum()))
					log := text.String()
					switch {
					case hook == nil && (strings.Count(log, "an execution panicked") != 1 || strings.Count(log, "\n") != 1 || !strings.Contains(log, "tenant=a")):
						t.Errorf("the log: %q", log)
					case hook == nil && name == "panic" && !strings.Contains(log, "TestPanicIsHeardOf"):
						t.Errorf("no stack in the log: %q", log)
					case hook != nil && (told.Load() != 1 || strings.Count(log, "\n") != 1 || !strings.Contains(log, "the hook's")):
						t.Errorf("told %d times; the log: %q", told.Load(), log)
					}
				}
			})
		})
	}
}

// A refresh that panics is heard of as a panic, whether exec does or Cost; one that fails as a failure,
// at most once a second in the log.
func TestBehindIsHeardOf(t *testing.T) {
	bubble(t, func(t *testing.T) {
		logger, text := record()
		var cost, exec atomic.Pointer[string]
		var fails atomic.Pointer[error]
		d := openWith(t, newMaker(), config{TTL: time.Minute, Stale: time.Hour, Logger: logger, Cost: func(string, string) int64 {
			if p := cost.Load(); p != nil {
				panic(*p)
			}
			return 1
		}}, func(_ context.Context, c call) (string, error) {
			if p := exec.Load(); p != nil {
				panic(*p)
			}
			if p := fails.Load(); p != nil {
				return "", *p
			}
			return c.Key, nil
		})
		keys := []string{"k", "l", "m"}
		ask := func() string {
			text.Reset()
			time.Sleep(time.Minute)
			for _, key := range keys {
				d.start(background, "a", key)
			}
			return text.String()
		}
		ask()
		boom, bad := "boom", errors.New("bad")
		cost.Store(&boom)
		if log := ask(); strings.Count(log, "an execution panicked") != 3 || strings.Count(log, "\n") != 3 {
			t.Errorf("Cost: %q", log)
		}
		cost.Store(nil)
		exec.Store(&boom)
		if log := ask(); strings.Count(log, "an execution panicked") != 3 || strings.Count(log, "\n") != 3 {
			t.Errorf("exec: %q", log)
		}
		exec.Store(nil)
		fails.Store(&bad)
		if log := ask(); strings.Count(log, "background failed") != 1 || strings.Count(log, "\n") != 1 || !strings.Contains(log, "number=1") || !strings.Contains(log, "error=bad") {
			t.Errorf("failures: %q", log)
		}
		if log := ask(); strings.Count(log, "\n") != 1 || !strings.Contains(log, "number=3") { // two of before
			t.Errorf("later failures: %q", log)
		}
	})
}

// A batch that panics is heard of once, by the Batcher and not by a Server that calls it.
func TestPanicOfBatch(t *testing.T) {
	bubble(t, func(t *testing.T) {
		logger, text := record()
		for _, hook := range []func(*PanicError){nil, func(p *PanicError) { panic(p.Value) }} {
			text.Reset()
			b, err := NewBatcher(func(context.Context, []call) ([]string, error) { panic("boom") }, BatchConfig[string]{Logger: logger, OnPanic: hook})
			if err != nil {
				t.Fatal(err)
			}
			d := openWith(t, newMaker(), config{Logger: logger}, func(ctx context.Context, c call) (string, error) { return b.Do(ctx, c.Tenant, c.Key) })
			if a := d.start(background, "a", "k"); !isPanic(a.err) {
				t.Errorf("%v", a.err)
			}
			what := map[bool]string{true: "an execution panicked", false: "hook=OnPanic panic=boom"}[hook == nil]
			if log := text.String(); strings.Count(log, "\n") != 1 || !strings.Contains(log, what) {
				t.Errorf("the log: %q", log)
			}
			b.Close()
		}
	})
}

func isPanic(err error) bool {
	p := (*PanicError)(nil)
	return errors.As(err, &p)
}
