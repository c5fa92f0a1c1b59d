package main

import (
	"context"
	"errors"
	"strings"
	"testing"

	"go.uber.org/goleak"
)

func TestMain(m *testing.M) { goleak.VerifyTestMain(m) }

func TestPlay(t *testing.T) {
	var out strings.Builder
	if err := (crawl{pages: 120, fetchers: 4}).play(t.Context(), &out); err != nil {
		t.Fatal(err)
	}
	// Page 0 has links to 1, 2 and 3, and so on: all pages are reached, two are missing, one crashes.
	for _, want := range []string{"117 pages in ", "restarted 1 times", "/49: 404 Not Found", "/99: 404 Not Found", "/13: actor: panicked"} {
		if !strings.Contains(out.String(), want) {
			t.Errorf("%q is missing:\n%s", want, out.String())
		}
	}
}

func TestCancelled(t *testing.T) {
	ctx, cancel := context.WithCancel(t.Context())
	cancel()
	if err := (crawl{pages: 50, fetchers: 1}).play(ctx, new(strings.Builder)); !errors.Is(err, context.Canceled) {
		t.Error(err)
	}
}
