package routers

import (
	"bufio"
	"context"
	"encoding/json"
	"io"
	stdlog "log"
	"net"
	"net/http"
	"net/http/httptest"
	"strings"
	"testing"
	"time"

	"github.com/go-chi/chi/v5"
	"github.com/go-chi/chi/v5/middleware"
	"go.uber.org/goleak"

	"github.com/firq-go/firq/firqhttp"
	"github.com/firq-go/firq/gate"
)

func TestMain(m *testing.M) { goleak.VerifyTestMain(m) }

var routers = map[string]func(*firqhttp.Middleware, http.HandlerFunc) http.Handler{
	"net/http": NetHTTP, "chi": Chi, "echo": Echo, "gin": Gin,
	"gin, as a whole": func(m *firqhttp.Middleware, hello http.HandlerFunc) http.Handler {
		return m.Handler(Gin(firqhttp.New(gate.New[string](9, gate.Config[string]{}), firqhttp.Config{}), hello))
	},
}

// each runs a test with each router, over a gate of one slot.
func each(t *testing.T, hello http.HandlerFunc, f func(t *testing.T, g *gate.Gate[string], m *firqhttp.Middleware, s *httptest.Server)) {
	for name, router := range routers {
		t.Run(name, func(t *testing.T) {
			g := gate.New[string](1, gate.Config[string]{MaxPerTenant: 1})
			m := firqhttp.New(g, firqhttp.Config{Tenant: firqhttp.Header("X-Tenant")})
			s := httptest.NewServer(router(m, hello))
			defer s.Close()
			defer s.Client().CloseIdleConnections()
			f(t, g, m, s)
			until(t, "all slots are free", func() bool { return g.InUse() == 0 && g.Waiting() == 0 && m.Stats().InFlight == 0 })
		})
	}
}

func until(t *testing.T, what string, ok func() bool) {
	t.Helper()
	for limit := time.Now().Add(10 * time.Second); !ok(); time.Sleep(100 * time.Microsecond) {
		if time.Now().After(limit) {
			t.Fatalf("never: %s", what)
		}
	}
}

func request(t *testing.T, s *httptest.Server, tenant string) *http.Response {
	t.Helper()
	r, err := http.NewRequestWithContext(context.Background(), "GET", s.URL+"/hello/you", nil)
	if err != nil {
		t.Fatal(err)
	}
	r.Header.Set("X-Tenant", tenant)
	res, err := s.Client().Do(r)
	if err != nil {
		t.Fatal(err)
	}
	return res
}

// Served with a slot; refused with a problem, and the handler is not called.
func TestServedAndRefused(t *testing.T) {
	calls := 0
	hello := func(w http.ResponseWriter, r *http.Request) {
		calls++
		if !firqhttp.Charge(r.Context(), 3) {
			t.Error("the permit is not in the context")
		}
		_, _ = io.WriteString(w, "hello")
	}
	each(t, hello, func(t *testing.T, g *gate.Gate[string], _ *firqhttp.Middleware, s *httptest.Server) {
		calls = 0
		res := request(t, s, "a")
		body, err := io.ReadAll(res.Body)
		res.Body.Close()
		if err != nil || string(body) != "hello" || res.StatusCode != 200 {
			t.Errorf("%d %q %v", res.StatusCode, body, err)
		}
		p, ok := g.TryAcquire("b", gate.Request{})
		if !ok {
			until(t, "the slot is free", func() bool { p, ok = g.TryAcquire("b", gate.Request{}); return ok })
		}
		ctx, cancel := context.WithCancel(context.Background())
		gone := make(chan bool)
		go func() {
			defer close(gone)
			_, _ = g.Acquire(ctx, "a", gate.Request{})
		}()
		until(t, "one waits", func() bool { return g.Stats().Queue.QueueLen == 1 })
		res = request(t, s, "a")
		var problem struct{ Reason string }
		err = json.NewDecoder(res.Body).Decode(&problem)
		res.Body.Close()
		if err != nil || res.StatusCode != 429 || problem.Reason != string(firqhttp.TenantFull) || res.Header.Get("Retry-After") == "" {
			t.Errorf("%d %+v %v", res.StatusCode, problem, err)
		}
		if calls != 1 {
			t.Errorf("the handler was called %d times", calls)
		}
		cancel()
		<-gone
		p.Release()
	})
}

// A hijacked connection keeps the slot through every router's own writer.
func TestHijacked(t *testing.T) {
	conns := make(chan net.Conn, 1)
	hello := func(w http.ResponseWriter, _ *http.Request) {
		c, rw, err := http.NewResponseController(w).Hijack()
		if err != nil {
			t.Error(err)
			close(conns)
			return
		}
		_, _ = rw.WriteString("HTTP/1.1 101 Switching Protocols\r\n\r\n")
		_ = rw.Flush()
		conns <- c
	}
	each(t, hello, func(t *testing.T, g *gate.Gate[string], m *firqhttp.Middleware, s *httptest.Server) {
		client, err := net.Dial("tcp", s.Listener.Addr().String())
		if err != nil {
			t.Fatal(err)
		}
		defer client.Close()
		_ = client.SetDeadline(time.Now().Add(10 * time.Second))
		_, _ = io.WriteString(client, "GET /hello/you HTTP/1.1\r\nHost: x\r\nX-Tenant: a\r\nConnection: Upgrade\r\nUpgrade: x\r\n\r\n")
		if line, err := bufio.NewReader(client).ReadString('\n'); err != nil || !strings.Contains(line, "101") {
			t.Fatalf("%q %v", line, err)
		}
		c := <-conns
		if g.InUse() != 1 || m.Stats().InFlight != 1 {
			t.Errorf("in use %d, in flight %d", g.InUse(), m.Stats().InFlight)
		}
		c.Close()
	})
}

// A response that streams arrives piece by piece, and keeps its slot.
func TestStreamed(t *testing.T) {
	goOn := make(chan bool)
	hello := func(w http.ResponseWriter, _ *http.Request) {
		_, _ = io.WriteString(w, "one\n")
		w.(http.Flusher).Flush()
		<-goOn
		_, _ = io.WriteString(w, "two\n")
	}
	each(t, hello, func(t *testing.T, g *gate.Gate[string], _ *firqhttp.Middleware, s *httptest.Server) {
		res := request(t, s, "a")
		defer res.Body.Close()
		in := bufio.NewReader(res.Body)
		if line, err := in.ReadString('\n'); err != nil || line != "one\n" || g.InUse() != 1 {
			t.Fatalf("%q %v, in use %d", line, err, g.InUse())
		}
		goOn <- true
		if line, err := in.ReadString('\n'); err != nil || line != "two\n" {
			t.Fatalf("%q %v", line, err)
		}
	})
}

// Server-sent events work behind chi's own logger, whose writer can flush and be
// hijacked, and knows nothing of CloseNotify.
func TestChiLogger(t *testing.T) {
	var log strings.Builder
	format := &middleware.DefaultLogFormatter{Logger: stdlog.New(&log, "", 0), NoColor: true}
	g := gate.New[string](1, gate.Config[string]{})
	m := firqhttp.New(g, firqhttp.Config{})
	r := chi.NewRouter()
	r.Use(middleware.RequestLogger(format))
	r.Use(m.Handler)
	goOn := make(chan bool)
	r.Get("/events", func(w http.ResponseWriter, _ *http.Request) {
		f, ok := w.(http.Flusher)
		if !ok {
			http.Error(w, "streaming unsupported", http.StatusInternalServerError)
			return
		}
		_, _ = io.WriteString(w, "data: one\n\n")
		f.Flush()
		<-goOn
	})
	s := httptest.NewServer(r)
	defer s.Close()
	defer s.Client().CloseIdleConnections()
	s.Client().Timeout = 10 * time.Second
	res, err := s.Client().Get(s.URL + "/events")
	if err != nil {
		t.Fatal(err)
	}
	defer res.Body.Close()
	if line, err := bufio.NewReader(res.Body).ReadString('\n'); err != nil || line != "data: one\n" || res.StatusCode != 200 {
		t.Errorf("%d %q %v", res.StatusCode, line, err)
	}
	close(goOn)
	until(t, "the slot is free", func() bool { return g.InUse() == 0 })
}
