package firqhttp

import (
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"net/http"
	"net/http/httptest"
	"strings"
	"sync"
	"testing"
	"time"

	"github.com/firq-go/firq"
	"github.com/firq-go/firq/gate"
)

// ask sends a request through the middleware to a handler that says hello.
func ask(m *Middleware, r *http.Request) *httptest.ResponseRecorder {
	w := httptest.NewRecorder()
	m.Handler(http.HandlerFunc(func(w http.ResponseWriter, _ *http.Request) {
		_, _ = io.WriteString(w, "hello")
	})).ServeHTTP(w, r)
	return w
}

func get(tenant string) *http.Request {
	r := httptest.NewRequest("GET", "/", nil)
	r.Header.Set("X-Tenant", tenant)
	return r
}

func TestServed(t *testing.T) {
	g := gate.New[string](1, gate.Config[string]{})
	m := New(g, Config{Skip: func(r *http.Request) bool { return r.URL.Path == "/health" }})
	if w := ask(m, get("a")); w.Code != 200 || w.Body.String() != "hello" {
		t.Errorf("%d %s", w.Code, w.Body)
	}
	p := hold(t, g)
	if w := ask(m, httptest.NewRequest("GET", "/health", nil)); w.Code != 200 {
		t.Errorf("skipped: %d", w.Code)
	}
	p.Release()
	if s := m.Stats(); s.Served != 1 || s.Skipped != 1 || len(s.Rejected) != 0 {
		t.Errorf("%+v", s)
	}
	idle(t, g, m)
}

// waiter is a request that waits behind a full gate, until f returns.
func waiter(t *testing.T, g *gate.Gate[string], m *Middleware, r *http.Request, f func()) *httptest.ResponseRecorder {
	t.Helper()
	before := m.Stats().Waiting
	done := make(chan *httptest.ResponseRecorder)
	go func() { done <- ask(m, r) }()
	until(t, "the request waits", func() bool { return g.Stats().Queue.QueueLen > before && m.Stats().Waiting > before })
	f()
	return <-done
}

func TestRejections(t *testing.T) {
	for _, c := range []struct {
		reason     Reason
		status     int
		cfg        gate.Config[string]
		retryAfter string
		provoke    func(t *testing.T, g *gate.Gate[string], m *Middleware) *httptest.ResponseRecorder
	}{
		{TenantFull, 429, gate.Config[string]{MaxPerTenant: 1}, "3", second("a", "a")},
		{GlobalFull, 503, gate.Config[string]{MaxGlobal: 1}, "3", second("a", "b")},
		{TooManyTenants, 429, gate.Config[string]{MaxTenants: 1}, "3", second("a", "b")},
		{TenantThreshold, 429, gate.Config[string]{DynamicThreshold: 0.01, MaxGlobal: 64}, "3", second("a", "a")},
		{Timeout, 503, gate.Config[string]{MaxQueueAge: time.Millisecond}, "3", only(get("a"))},
		{Timeout, 503, gate.Config[string]{}, "3", only(with(get("a"), "X-Request-Timeout", "1ms"))},
		{BadRequest, 400, gate.Config[string]{}, "", only(with(get("a"), "X-Request-Timeout", "soon"))},
		{Internal, 500, gate.Config[string]{}, "", only(with(get("a"), "X-Cost", "-1"))},
		{Evicted, 429, gate.Config[string]{MaxPerTenant: 1, Policy: firq.DropOldest}, "3", func(t *testing.T, g *gate.Gate[string], m *Middleware) *httptest.ResponseRecorder {
			ctx, cancel := context.WithCancel(context.Background())
			var evictor sync.WaitGroup
			defer evictor.Wait()
			defer cancel()
			return waiter(t, g, m, get("a"), func() {
				evictor.Go(func() { ask(m, get("a").WithContext(ctx)) })
				until(t, "one is evicted", func() bool { return g.Stats().Queue.DroppedPolicy == 1 })
			})
		}},
		{Closed, 503, gate.Config[string]{}, "3", func(t *testing.T, g *gate.Gate[string], m *Middleware) *httptest.ResponseRecorder {
			return waiter(t, g, m, get("a"), func() { g.Close() })
		}},
		{Cancelled, 503, gate.Config[string]{}, "3", func(t *testing.T, g *gate.Gate[string], m *Middleware) *httptest.ResponseRecorder {
			ctx, cancel := context.WithCancel(context.Background())
			return waiter(t, g, m, get("a").WithContext(ctx), cancel)
		}},
		{Timeout, 503, gate.Config[string]{}, "3", func(t *testing.T, g *gate.Gate[string], m *Middleware) *httptest.ResponseRecorder {
			ctx, cancel := context.WithTimeout(context.Background(), time.Millisecond)
			defer cancel()
			return ask(m, get("a").WithContext(ctx))
		}},
	} {
		t.Run(string(c.reason), func(t *testing.T) {
			g := gate.New[string](1, c.cfg)
			m := New(g, Config{
				Tenant:     Header("X-Tenant"),
				Deadline:   TimeoutHeader("X-Request-Timeout"),
				Cost:       func(r *http.Request) int64 { return -int64(len(r.Header.Get("X-Cost"))) },
				RetryAfter: func(*http.Request, Rejection) time.Duration { return 2*time.Second + 1 },
			})
			if c.cfg.MaxTenants == 0 {
				p := hold(t, g)
				defer idle(t, g, m)
				defer p.Release()
			} else {
				p := hold(t, g)
				defer p.Release()
			}
			w := c.provoke(t, g, m)
			var body struct {
				Title, Detail, Reason string
				Status                int
			}
			if err := json.Unmarshal(w.Body.Bytes(), &body); err != nil {
				t.Fatalf("%v: %s", err, w.Body)
			}
			if w.Code != c.status || body.Status != c.status || body.Reason != string(c.reason) ||
				body.Title != http.StatusText(c.status) || body.Detail == "" && c.reason != Internal {
				t.Errorf("%d %+v", w.Code, body)
			}
			if got := w.Header().Get("Retry-After"); got != c.retryAfter {
				t.Errorf("Retry-After %q, want %q", got, c.retryAfter)
			}
			if got := w.Header().Get("Content-Type"); got != "application/problem+json" {
				t.Errorf("Content-Type %q", got)
			}
			if s := m.Stats(); s.Rejected[c.reason] != 1 || s.Served != 0 {
				t.Errorf("%+v", s)
			}
		})
	}
}

// second is refused while the first waits.
func second(first, tenant string) func(*testing.T, *gate.Gate[string], *Middleware) *httptest.ResponseRecorder {
	return func(t *testing.T, g *gate.Gate[string], m *Middleware) (w *httptest.ResponseRecorder) {
		ctx, cancel := context.WithCancel(context.Background())
		r := get(first).WithContext(ctx)
		done := make(chan bool)
		go func() {
			_, err := g.Acquire(r.Context(), first, gate.Request{})
			if !errors.Is(err, context.Canceled) {
				t.Error(err)
			}
			close(done)
		}()
		until(t, "the first waits", func() bool { return g.Stats().Queue.QueueLen == 1 })
		w = ask(m, get(tenant))
		cancel()
		<-done
		return w
	}
}

func only(r *http.Request) func(*testing.T, *gate.Gate[string], *Middleware) *httptest.ResponseRecorder {
	return func(_ *testing.T, _ *gate.Gate[string], m *Middleware) *httptest.ResponseRecorder { return ask(m, r) }
}

func with(r *http.Request, header, value string) *http.Request {
	r.Header.Set(header, value)
	return r
}

// Every error of the gate has its reason by choice, not by accident.
func TestReasons(t *testing.T) {
	for err, want := range map[error]Reason{
		firq.ErrGlobalFull: GlobalFull, firq.ErrTenantFull: TenantFull, firq.ErrTenantThreshold: TenantThreshold,
		firq.ErrTooManyTenants: TooManyTenants, firq.ErrTimeout: Timeout, gate.ErrEvicted: Evicted, firq.ErrClosed: Closed,
		context.Canceled: Cancelled, context.DeadlineExceeded: Timeout, firq.ErrInvalidTask: Internal, gate.ErrUnavailable: Unavailable,
		fmt.Errorf("%w: %w", context.DeadlineExceeded, gate.ErrUnavailable): Unavailable,
	} {
		if got := reasons[reasonOf(fmt.Errorf("wrapped: %w", err))].reason; got != want {
			t.Errorf("%v: %s, want %s", err, got, want)
		}
	}
	if got := reasons[reasonOf(&badRequest{firq.ErrInvalidTask})].reason; got != BadRequest {
		t.Errorf("a bad request is %s", got)
	}
}

func TestRejectIsYours(t *testing.T) {
	g := gate.New[string](1, gate.Config[string]{})
	g.Close()
	m := New(g, Config{
		Tenant:    Header("X-Tenant"),
		Anonymous: "nobody",
		Reject: func(w http.ResponseWriter, r *http.Request, rej Rejection) {
			w.WriteHeader(418)
			_, _ = fmt.Fprintf(w, "%s %s %v %v", rej.Tenant, rej.Reason, rej.Err == firq.ErrClosed, rej.RetryAfter)
		},
	})
	if w := ask(m, get("a")); w.Code != 418 || w.Body.String() != "a closed true 0s" {
		t.Errorf("%d %s", w.Code, w.Body)
	}
	if w := ask(m, get("")); w.Body.String() != "nobody closed true 0s" {
		t.Errorf("%d %s", w.Code, w.Body)
	}
}

// A client that goes away while its request waits leaves its place to others.
func TestClientGoesAway(t *testing.T) {
	g := gate.New[string](1, gate.Config[string]{MaxGlobal: 1})
	m := New(g, Config{})
	p := hold(t, g)
	defer p.Release()
	s := serve(t, m, func(http.ResponseWriter, *http.Request) { t.Error("it was served") })
	ctx, cancel := context.WithCancel(context.Background())
	r, err := http.NewRequestWithContext(ctx, "GET", s.URL, nil)
	if err != nil {
		t.Fatal(err)
	}
	gone := make(chan error)
	go func() {
		_, err := s.Client().Do(r)
		gone <- err
	}()
	until(t, "it waits", func() bool { return g.Stats().Queue.QueueLen == 1 })
	cancel()
	if err := <-gone; !errors.Is(err, context.Canceled) {
		t.Error(err)
	}
	until(t, "its place is free", func() bool { return g.Stats().Queue.QueueLen == 0 })
	until(t, "it is counted", func() bool { return m.Stats().Rejected[Cancelled] == 1 })
	p.Release()
	idle(t, g, m)
}

func TestPanicReleases(t *testing.T) {
	g := gate.New[string](1, gate.Config[string]{})
	m := New(g, Config{})
	h := m.Handler(http.HandlerFunc(func(http.ResponseWriter, *http.Request) { panic(http.ErrAbortHandler) }))
	for range 3 {
		func() {
			defer func() {
				if recover() != http.ErrAbortHandler {
					t.Error("the panic is gone")
				}
			}()
			ctx, cancel := context.WithTimeout(context.Background(), 5*time.Second) // if the slot is lost
			defer cancel()
			h.ServeHTTP(httptest.NewRecorder(), get("a").WithContext(ctx))
		}()
	}
	idle(t, g, m)
}

// Permits are taken for the tenant, and with the cost and priority, that Config
// says; what is charged goes to the tenant.
func TestRequestOf(t *testing.T) {
	g := gate.New[string](1, gate.Config[string]{})
	m := New(g, Config{
		Tenant:   Header("X-Tenant"),
		Cost:     func(r *http.Request) int64 { return int64(len(r.Header.Get("X-Cost"))) },
		Priority: func(r *http.Request) firq.Priority { return firq.Priority(len(r.Header.Get("X-Priority"))) },
	})
	p := hold(t, g)
	var order []string
	var mu sync.Mutex
	h := m.Handler(http.HandlerFunc(func(_ http.ResponseWriter, r *http.Request) {
		mu.Lock()
		defer mu.Unlock()
		order = append(order, r.Header.Get("X-Tenant")+r.Header.Get("X-Name"))
		if order[len(order)-1] == "a1" && !Charge(r.Context(), 2) {
			t.Error("there is no permit to charge")
		}
	}))
	var wg sync.WaitGroup
	for i, r := range []*http.Request{
		with(get("a"), "X-Name", "1"), // and is charged 2 more: a's next waits for two more of b
		with(get("a"), "X-Name", "2"),
		with(with(get("b"), "X-Name", "1"), "X-Cost", "x"),
		with(get("b"), "X-Name", "2"),
		with(with(get("b"), "X-Name", "3"), "X-Priority", "xxxxxx"), // critical: first of b
		with(get("b"), "X-Name", "4"),
	} {
		wg.Go(func() { h.ServeHTTP(httptest.NewRecorder(), r) })
		until(t, "it waits", func() bool { return g.Stats().Queue.QueueLen == i+1 })
	}
	p.Release()
	wg.Wait()
	if got := fmt.Sprint(order); got != "[a1 b3 b1 b2 a2 b4]" {
		t.Errorf("order %v", got)
	}
	if Charge(context.Background(), 1) {
		t.Error("charged no tenant")
	}
	idle(t, g, m)
}

// A tenant's users share its turns by Config.Flow.
func TestFlow(t *testing.T) {
	g := gate.New[string](1, gate.Config[string]{})
	m := New(g, Config{
		Tenant: Header("X-Tenant"),
		Flow:   func(r *http.Request) uint64 { return uint64(len(r.Header.Get("X-User"))) },
	})
	p := hold(t, g)
	var order []string
	var mu sync.Mutex
	h := m.Handler(http.HandlerFunc(func(_ http.ResponseWriter, r *http.Request) {
		mu.Lock()
		defer mu.Unlock()
		order = append(order, r.Header.Get("X-User"))
	}))
	var wg sync.WaitGroup
	for i, user := range []string{"u", "u", "u", "vv", "vv"} {
		wg.Go(func() { h.ServeHTTP(httptest.NewRecorder(), with(get("a"), "X-User", user)) })
		until(t, "it waits", func() bool { return g.Stats().Queue.QueueLen == i+1 })
	}
	p.Release()
	wg.Wait()
	if got := fmt.Sprint(order); got != "[u vv u vv u]" {
		t.Errorf("order %v", got)
	}
	idle(t, g, m)
}

// away is a gate whose server cannot be reached.
type away struct{ err error }

func (a *away) Acquire(context.Context, string, gate.Request) (gate.Permit[string], error) {
	return gate.Permit[string]{}, a.err
}

func (a *away) TryAcquire(string, gate.Request) (gate.Permit[string], bool) {
	return gate.Permit[string]{}, false
}

// Another gate than gate.Gate: its refusal is answered; a nil pointer to one is no gate, nor is a
// value that cannot be compared.
func TestAnotherGate(t *testing.T) {
	m := New(&away{gate.ErrUnavailable}, Config{BufferBody: 100})
	r := httptest.NewRequest("POST", "/", strings.NewReader("body"))
	r.Header.Set("Expect", "100-continue")
	if w := ask(m, r); w.Code != 503 || w.Header().Get("Retry-After") == "" || !strings.Contains(w.Body.String(), `"unavailable"`) {
		t.Errorf("%d %v %s", w.Code, w.Header(), w.Body)
	}
	if n := m.Stats().Rejected[Unavailable]; n != 1 {
		t.Errorf("%d rejected", n)
	}
	for _, g := range []gate.Acquirer[string]{nil, (*gate.Gate[string])(nil), (*away)(nil), uncomparable{}} {
		if _, err := Open(g, Config{}); !errors.Is(err, firq.ErrInvalidArgument) {
			t.Errorf("%T: %v", g, err)
		}
	}
}

type uncomparable struct {
	*away
	_ []int
}

func TestNilGate(t *testing.T) {
	defer func() {
		if recover() == nil {
			t.Error("no panic")
		}
	}()
	New(nil, Config{})
}
