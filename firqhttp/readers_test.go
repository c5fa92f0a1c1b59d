package firqhttp

import (
	"errors"
	"io"
	"net/http"
	"net/http/httptest"
	"strings"
	"testing"
	"time"

	"github.com/firq-go/firq"
	"github.com/firq-go/firq/gate"
)

// halfOf is half of a request with a body, of a tenant.
func halfOf(tenant string) string {
	return strings.Replace(half, "Host", "X-Tenant: "+tenant+"\r\nHost", 1)
}

// Of the clients that send slowly only MaxReading are waited for, by tenant and in all; the others
// are refused immediately, and a client that has sent everything is served.
func TestMaxReading(t *testing.T) {
	g := gate.New(4, gate.Config[string]{})
	errs := make(chan error, 8)
	m := New(g, Config{
		Tenant: Header("X-Tenant"), MaxReading: 5, MaxReadingPerTenant: 3,
		Reject: func(w http.ResponseWriter, r *http.Request, rej Rejection) {
			errs <- rej.Err
			WriteProblem(w, r, rej)
		},
	})
	bodies := make(chan string, 1)
	s := serve(t, m, func(_ http.ResponseWriter, r *http.Request) {
		text, _ := io.ReadAll(r.Body)
		bodies <- string(text)
	})
	var slow []io.WriteCloser
	reading := func(tenant string, n int) {
		t.Helper()
		c, _ := raw(t, s, halfOf(tenant))
		slow = append(slow, c)
		until(t, "its body is read", func() bool { return m.Stats().Reading == n })
	}
	refused := func(tenant, want string, limit error, name string) {
		t.Helper()
		_, in := raw(t, s, halfOf(tenant))
		got, err := line(t, in), <-errs
		if got != want || !errors.Is(err, limit) || !strings.HasSuffix(err.Error(), "("+name+")") {
			t.Errorf("%s gets %q, %v", tenant, got, err)
		}
		if _, err := io.Copy(io.Discard, in); err != nil { // though it never sends the rest
			t.Errorf("the connection stays: %v", err)
		}
	}
	for n := 1; n <= 3; n++ {
		reading("noisy", n)
	}
	refused("noisy", "HTTP/1.1 429 Too Many Requests", firq.ErrTenantFull, "MaxReadingPerTenant")
	reading("quiet", 4)
	reading("calm", 5)
	refused("quiet", "HTTP/1.1 503 Service Unavailable", firq.ErrGlobalFull, "MaxReading")
	refused("noisy", "HTTP/1.1 429 Too Many Requests", firq.ErrTenantFull, "MaxReadingPerTenant")
	raw(t, s, "GET / HTTP/1.1\r\nHost: x\r\nX-Tenant: noisy\r\n\r\n") // has none that could be slow
	if got := next(t, bodies); got != "" {
		t.Errorf("body %q", got)
	}
	_, _ = io.WriteString(slow[0], "llo")
	if got := next(t, bodies); got != "hello" {
		t.Errorf("body %q", got)
	}
	until(t, "its place is free", func() bool { return m.Stats().Reading == 4 })
	reading("noisy", 5)
	for _, c := range slow {
		c.Close()
	}
	idle(t, g, m)
	if n := len(m.readers.of); n != 0 {
		t.Errorf("%d tenants are remembered", n)
	}
	if r := m.Stats().Rejected; r[TenantFull] != 2 || r[GlobalFull] != 1 {
		t.Errorf("%v", r)
	}
}

// The defaults, and no limit.
func TestMaxReadingDefaults(t *testing.T) {
	for _, c := range []struct{ all, tenant, wantAll, wantTenant int }{
		{0, 0, 4096, 1024},
		{1, 0, 1, 1},
		{10, 0, 10, 3},
		{0, 7, 4096, 7},
		{-1, 0, -1, -1},
		{-5, 2, -5, 2},
		{8, -1, 8, -1},
	} {
		cfg := New(gate.New(1, gate.Config[string]{}), Config{MaxReading: c.all, MaxReadingPerTenant: c.tenant}).cfg
		if cfg.MaxReading != c.wantAll || (cfg.MaxReadingPerTenant != c.wantTenant && (c.wantTenant >= 0 || cfg.MaxReadingPerTenant >= 0)) {
			t.Errorf("%+v: %d, %d", c, cfg.MaxReading, cfg.MaxReadingPerTenant)
		}
	}
	var r readers
	r.init(-1, -1)
	for range 10_000 {
		if err := r.enter("a"); err != nil {
			t.Fatal(err)
		}
	}
}

// A body that has not come by the server's ReadTimeout is not the handler's to read: the
// request is rejected as Cancelled, over both protocols, and has never had a slot.
func TestBodyTooLate(t *testing.T) {
	for name, http2 := range map[string]bool{"HTTP/1.1": false, "HTTP/2": true} {
		t.Run(name, func(t *testing.T) {
			g := gate.New(1, gate.Config[string]{})
			m := New(g, Config{})
			s := httptest.NewUnstartedServer(m.Handler(http.HandlerFunc(func(http.ResponseWriter, *http.Request) { t.Error("it was served") })))
			s.EnableHTTP2 = http2
			s.Config.ReadTimeout = 100 * time.Millisecond
			s.StartTLS()
			defer s.Close()
			defer s.Client().CloseIdleConnections()
			body, sends := io.Pipe()
			defer sends.Close()
			r, err := http.NewRequest("POST", s.URL, body)
			if err != nil {
				t.Fatal(err)
			}
			r.ContentLength = 5
			go func() { _, _ = io.WriteString(sends, "he") }()
			res, err := s.Client().Do(r)
			if err == nil {
				defer res.Body.Close()
				if res.StatusCode != http.StatusServiceUnavailable || res.ProtoMajor == 2 != http2 {
					t.Errorf("%s, %s", res.Proto, res.Status)
				}
			} else if http2 {
				t.Error(err) // HTTP/1.1's client may find the connection gone
			}
			until(t, "it is counted", func() bool { return m.Stats().Rejected[Cancelled] == 1 })
			if n := m.Stats().Served; n != 0 {
				t.Errorf("%d served", n)
			}
			idle(t, g, m)
		})
	}
}

// A look at the queue costs no waiting request its place.
func TestExpectEvictsNoRequest(t *testing.T) {
	for name, cfg := range map[string]gate.Config[string]{
		"oldest":      {MaxPerTenant: 1, Policy: firq.DropOldest},
		"newest":      {MaxPerTenant: 1, Policy: firq.DropNewest},
		"by tenant":   {MaxPerTenant: 1, PolicyFor: func(string) firq.Policy { return firq.DropOldest }},
		"with limits": {MaxPerTenant: 1, Policy: firq.DropOldest, MaxInFlightPerTenant: 1},
	} {
		t.Run(name, func(t *testing.T) {
			g := gate.New(1, cfg)
			m := New(g, Config{})
			served := make(chan string, 1)
			s := serve(t, m, func(_ http.ResponseWriter, r *http.Request) { served <- r.Method })
			p := hold(t, g)
			defer p.Release()
			raw(t, s, "GET / HTTP/1.1\r\nHost: x\r\n\r\n")
			until(t, "it waits", func() bool { return g.Stats().Queue.QueueLen == 1 })
			c, in := raw(t, s, expect) // and never sends its body
			if got := line(t, in); got != "HTTP/1.1 100 Continue" {
				t.Errorf("a client that has to wait gets %q", got)
			}
			if m.Stats().Rejected[Evicted] != 0 || g.Stats().Queue.QueueLen != 1 {
				t.Error("the one that waited was evicted")
			}
			c.Close()
			until(t, "it has gone", func() bool { return m.Stats().Rejected[Cancelled] == 1 })
			p.Release()
			if got := next(t, served); got != "GET" {
				t.Error(got)
			}
			idle(t, g, m)
		})
	}
}

// A rejection that a program has made itself needs no error.
func TestWriteProblemWithoutError(t *testing.T) {
	for _, r := range reasons {
		w := httptest.NewRecorder()
		WriteProblem(w, httptest.NewRequest("GET", "/", nil), Rejection{Reason: r.reason, Status: r.status})
		if w.Code != r.status || !strings.Contains(w.Body.String(), string(r.reason)) {
			t.Errorf("%s: %d, %s", r.reason, w.Code, w.Body)
		}
	}
}
