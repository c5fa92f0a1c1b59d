package main

import (
	"strings"
	"testing"
	"time"

	"go.uber.org/goleak"
)

func TestMain(m *testing.M) { goleak.VerifyTestMain(m) }

func TestCompare(t *testing.T) {
	var out strings.Builder
	f := farm{hogs: 2, quiet: 2, messages: 5, work: time.Millisecond, every: 2 * time.Millisecond}
	if err := f.compare(t.Context(), &out); err != nil {
		t.Fatal(err)
	}
	for _, want := range []string{"A pool with one channel", "A goroutine and a channel each", "Actors", "hogs", "quiet"} {
		if !strings.Contains(out.String(), want) {
			t.Errorf("%q is missing:\n%s", want, out.String())
		}
	}
}

// Each quiet message is served, in all three ways.
func TestPlay(t *testing.T) {
	f := farm{hogs: 1, quiet: 3, messages: 4, work: 100 * time.Microsecond, every: time.Millisecond}
	for _, open := range []func() (send, func() error, error){f.pool, f.goroutines, f.actors} {
		table, err := f.play(t.Context(), open)
		if err != nil {
			t.Fatal(err)
		}
		if n := table.Count("quiet"); n != 12 {
			t.Errorf("%d of 12 quiet messages were served", n)
		}
	}
}
