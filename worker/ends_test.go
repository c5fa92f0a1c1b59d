package worker_test

import (
	"context"
	"errors"
	"os"
	"os/exec"
	"strings"
	"testing"
	"time"

	"github.com/firq-go/firq/worker"
)

// TestHookPanicEndsProgram: a hook that panics ends the program, as a panic in any goroutine
// does, and no worker swallows it. Each hook runs in a separate program.
func TestHookPanicEndsProgram(t *testing.T) {
	const variable = "FIRQ_TEST_HOOK"
	if name := os.Getenv(variable); name != "" {
		panicInHook(t, name)
		return
	}
	for _, name := range []string{"OnPanic", "OnError", "OnSlow", "OnTimeout", "OnStuck"} {
		cmd := exec.Command(os.Args[0], "-test.run=^TestHookPanicEndsProgram$")
		cmd.Env = append(os.Environ(), variable+"="+name)
		out, err := cmd.CombinedOutput()
		if exit := (*exec.ExitError)(nil); !errors.As(err, &exit) || exit.Success() || !strings.Contains(string(out), "panic: "+name+" has panicked") {
			t.Errorf("%s: %v\n%s", name, err, out)
		}
	}
}

// panicInHook runs a pool whose hook of that name panics. It does not return.
func panicInHook(t *testing.T, name string) {
	hook := func(of string) func(event) {
		return func(event) {
			if of == name {
				panic(of + " has panicked")
			}
		}
	}
	f := newFeed(1)
	_, wait := started(t, t.Context(), f, func(ctx context.Context, _ item) error {
		switch name {
		case "OnPanic":
			panic("the handler's")
		case "OnError":
			return errors.New("no luck")
		}
		<-ctx.Done()
		time.Sleep(time.Minute) // the hook of a handler that is stuck comes first
		return nil
	}, options{Concurrency: 1, SlowAfter: time.Millisecond, Timeout: 2 * time.Millisecond, TimeoutMode: worker.Cancel, StuckAfter: time.Millisecond,
		OnPanic: hook("OnPanic"), OnError: hook("OnError"), OnSlow: hook("OnSlow"), OnTimeout: hook("OnTimeout"), OnStuck: hook("OnStuck")})
	t.Fatal("the pool has ended: ", wait())
}
