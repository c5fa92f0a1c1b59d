package main

import (
	"context"
	"net/http"
	"testing"
	"time"

	"go.uber.org/goleak"

	"github.com/firq-go/firq/firqhttp"
	"github.com/firq-go/firq/gate"
)

func TestMain(m *testing.M) { goleak.VerifyTestMain(m) }

// TestRun runs all of it, shortly. The figures are not looked at.
func TestRun(t *testing.T) {
	err := run(options{slots: 2, service: time.Millisecond, noisy: 8, quiet: 2, rate: 50, period: 200 * time.Millisecond, rounds: 1})
	if err != nil {
		t.Fatal(err)
	}
}

// TestOpenLoop: requests are sent at their rate though none is answered, each
// counts from when it was due, and what is refused counts as failed.
func TestOpenLoop(t *testing.T) {
	goOn, came := make(chan bool), make(chan bool, 1000)
	stuck := http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
		if r.Header.Get("X-Tenant") == "refused" {
			w.WriteHeader(http.StatusTooManyRequests)
			return
		}
		came <- true
		<-goOn
		w.WriteHeader(http.StatusNoContent)
	})
	err := serve(stuck, func(ctx context.Context, url string) {
		l := newLoad(url, "", 0)
		ctx, cancel := context.WithCancel(ctx)
		l.open(ctx, "stuck", 200)
		l.open(ctx, "refused", 200)
		<-came
		first := time.Now()
		<-came // though the first has no answer
		<-came
		for l.failed.Load() < 2 {
			time.Sleep(time.Millisecond)
		}
		cancel()
		stuckFor := time.Since(first)
		close(goOn)
		l.wait()
		if s := l.times.Snapshot(); s.Count() < 3 || s.Max() < stuckFor*99/100 { // the histogram rounds
			t.Errorf("%d answered, the first after %v; want 3 or more, and at least %v", s.Count(), s.Max(), stuckFor)
		}
	})
	if err != nil {
		t.Fatal(err)
	}
}

// BenchmarkMiddleware is what the middleware adds to a request, without a network.
func BenchmarkMiddleware(b *testing.B) {
	nothing := http.HandlerFunc(func(http.ResponseWriter, *http.Request) {})
	m := firqhttp.New(gate.New[string](64, gate.Config[string]{}), firqhttp.Config{Tenant: firqhttp.Header("X-Tenant")})
	r, err := http.NewRequest(http.MethodGet, "/", nil)
	if err != nil {
		b.Fatal(err)
	}
	r.Header.Set("X-Tenant", "a")
	h := m.Handler(nothing)
	b.ReportAllocs()
	for b.Loop() {
		h.ServeHTTP(nil, r)
	}
}
