package main

import (
	"net/http"
	"net/http/httptest"
	"strings"
	"sync/atomic"
	"testing"

	"go.uber.org/goleak"
)

func TestMain(m *testing.M) { goleak.VerifyTestMain(m) }

// TestPlay: the quiet tenant's second call is refused; the output has both tenants and
// the refusal.
func TestPlay(t *testing.T) {
	var quiet, noisy atomic.Int32
	server := httptest.NewServer(http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
		switch r.Header.Get("Tenant") + r.URL.String() {
		case "noisy/render?ms=7":
			noisy.Add(1)
		case "quiet/render?ms=1":
			for noisy.Load() == 0 && r.Context().Err() == nil { // the noise comes first
			}
			if quiet.Add(1) == 2 {
				w.WriteHeader(http.StatusServiceUnavailable)
			}
		default:
			t.Errorf("%s %s", r.Header.Get("Tenant"), r.URL)
		}
	}))
	defer server.Close()
	var out strings.Builder
	if err := (load{url: server.URL, conns: 3, calls: 5, heavy: 7, light: 1}).play(t.Context(), &out, "title"); err != nil {
		t.Fatal(err)
	}
	for _, want := range []string{"title\n", "noisy", "quiet       4", "quiet 1 of 5 calls"} {
		if !strings.Contains(out.String(), want) {
			t.Errorf("%q is missing:\n%s", want, out.String())
		}
	}
}

func TestFails(t *testing.T) {
	server := httptest.NewServer(http.NotFoundHandler())
	defer server.Close()
	var out strings.Builder
	err := (load{url: server.URL, conns: 1, calls: 1}).play(t.Context(), &out, "title")
	if err == nil || !strings.Contains(err.Error(), "404") {
		t.Errorf("%v", err)
	}
}
