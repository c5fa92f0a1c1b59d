package firqhttp

import (
	"net/http"
	"net/http/httptest"
	"testing"
	"time"

	"go.uber.org/goleak"

	"github.com/firq-go/firq/gate"
)

func TestMain(m *testing.M) { goleak.VerifyTestMain(m) }

// until waits for something that other goroutines bring about.
func until(t *testing.T, what string, ok func() bool) {
	t.Helper()
	for limit := time.Now().Add(10 * time.Second); !ok(); time.Sleep(100 * time.Microsecond) {
		if time.Now().After(limit) {
			t.Fatalf("never: %s", what)
		}
	}
}

// hold takes a slot without the middleware.
func hold(t *testing.T, g *gate.Gate[string]) gate.Permit[string] {
	t.Helper()
	p, ok := g.TryAcquire("somebody", gate.Request{})
	if !ok {
		t.Fatal("no slot is free")
	}
	return p
}

// serve is a server behind a middleware, closed at the end of the test.
func serve(t *testing.T, m *Middleware, h http.HandlerFunc) *httptest.Server {
	t.Helper()
	s := httptest.NewServer(m.Handler(h))
	t.Cleanup(func() {
		s.Client().CloseIdleConnections()
		s.Close()
	})
	return s
}

// idle fails unless every slot comes free, and the middleware counts nothing.
func idle(t *testing.T, g *gate.Gate[string], m *Middleware) {
	t.Helper()
	until(t, "every slot is free, and no request is in progress", func() bool {
		s := m.Stats()
		return g.InUse() == 0 && g.Waiting() == 0 && s.InFlight == 0 && s.Waiting == 0 && s.Reading == 0
	})
}
