package actor

import (
	"bytes"
	"context"
	"runtime/pprof"
	"runtime/trace"
	"strings"
	"testing"
)

// own returns the entry of the calling goroutine in the goroutine profile, labels included.
// (Other goroutines may keep their labels for a moment after their handlers have replied.)
func own(t *testing.T) string {
	t.Helper()
	var b bytes.Buffer
	if err := pprof.Lookup("goroutine").WriteTo(&b, 1); err != nil {
		t.Error(err)
	}
	for text := range strings.SplitSeq(b.String(), "\n\n") {
		if strings.Contains(text, "actor.own") {
			return text
		}
	}
	t.Error("the goroutine is not in the profile")
	return ""
}

// A handler's goroutine has the labels of the handler's kind and method, both on a slot and on
// the caller's goroutine; the caller has its own labels again afterwards.
func TestProfileLabels(t *testing.T) {
	const want = `labels: {"actor":"*actor.counter", "method":"Look"}`
	var seen []string
	look := NewMethod("Look", func(_ *counter, _ *Ctx, _ struct{}) (int, error) {
		seen = append(seen, own(t))
		return 0, nil
	})
	outer := NewMethod("Outer", func(_ int, c *Ctx, to Ref[*counter]) (int, error) {
		if _, err := look.Call(c, to, struct{}{}); err != nil { // on this goroutine
			return 0, err
		}
		seen = append(seen, own(t))
		return 0, nil
	})
	for _, profile := range []bool{false, true} {
		seen = nil
		s := newSys(t, Config{Profile: profile})
		r := must(t, s, "", Value(&counter{}))
		if _, err := look.Call(within(t), r, struct{}{}); err != nil { // through the mailbox
			t.Fatal(err)
		}
		if _, err := outer.Call(context.Background(), must(t, s, "", Value(1)), r); err != nil {
			t.Fatal(err)
		}
		for i, text := range seen[:2] {
			if strings.Contains(text, want) != profile {
				t.Errorf("profile %t, call %d: the labels are there: %t\n%s", profile, i, !profile, text)
			}
		}
		if strings.Contains(seen[2], want) || strings.Contains(seen[2], `"method":"Outer"`) != profile {
			t.Errorf("profile %t: the caller has not got its labels back:\n%s", profile, seen[2])
		}
		if text := own(t); strings.Contains(text, `"actor":`) {
			t.Errorf("profile %t: labels are left when no handler runs:\n%s", profile, text)
		}
	}
}

// While a trace is taken each handler is a region in it.
func TestTraceRegions(t *testing.T) {
	if trace.IsEnabled() {
		t.Skip("go test -trace takes one already")
	}
	var b bytes.Buffer
	if err := trace.Start(&b); err != nil {
		t.Fatal(err)
	}
	s := newSys(t, Config{})
	r := must(t, s, "", Value(&counter{}))
	_, err := add.Call(within(t), r, 1)
	if _, inline := add.Call(context.Background(), r, 1); err != nil || inline != nil {
		t.Error(err, inline)
	}
	trace.Stop()
	if n := strings.Count(b.String(), "*actor.counter.Add"); n == 0 {
		t.Error("no region has the name of the kind and method")
	}
}
