package firqhttp

import (
	"context"
	"errors"
	"fmt"
	"io"
	"net/http"
	"net/http/httptest"
	"strings"
	"testing"
	"testing/synctest"
	"time"

	"github.com/firq-go/firq"
	"github.com/firq-go/firq/gate"
	"github.com/firq-go/firq/rate"
)

// limiter is a rate of 10 per second by a clock that stands.
func limiter(burst int64) *rate.Limiter[string] {
	now := time.Now()
	return rate.New(rate.Config[string]{Limit: rate.Limit{PerSecond: 10, Burst: burst}, Now: func() time.Time { return now }})
}

// left fails unless so much is left of a tenant's burst.
func left(t *testing.T, l rate.Taker[string], tenant string, want int64) {
	t.Helper()
	if r, _ := l.Take(context.Background(), tenant, 0, 0); r.Remaining != want {
		t.Errorf("%d left, want %d", r.Remaining, want)
	}
}

// says fails unless the response has these headers.
func says(t *testing.T, w *httptest.ResponseRecorder, status int, policy, limit, retryAfter string) {
	t.Helper()
	h := w.Header()
	got := fmt.Sprint(w.Code, h["Ratelimit-Policy"], h["Ratelimit"], h["Retry-After"])
	want := fmt.Sprint(status, list(policy), list(limit), list(retryAfter))
	if got != want {
		t.Errorf("%s, want %s", got, want)
	}
}

func list(s string) []string { return strings.FieldsFunc(s, func(r rune) bool { return r == '|' }) }

func TestRate(t *testing.T) {
	g := gate.New(1, gate.Config[string]{})
	l := limiter(25)
	cost := int64(0)
	m := New(g, Config{
		Tenant: Header("X-Tenant"), Rate: l, RateName: `per "tenant"`,
		Cost: func(*http.Request) int64 { return cost },
		Skip: func(r *http.Request) bool { return r.URL.Path == "/health" },
	})
	const policy, name = `"per \"tenant\"";q=25;w=3`, `"per \"tenant\"";`
	says(t, ask(m, get("a")), 200, policy, name+"r=24;t=1", "")
	says(t, ask(m, httptest.NewRequest("GET", "/health", nil)), 200, "", "", "")
	cost = 23
	says(t, ask(m, get("a")), 200, policy, name+"r=1;t=3", "")
	w := ask(m, get("a"))
	says(t, w, 429, policy, name+"r=1;t=3", "3") // 22 are missing
	if !strings.Contains(w.Body.String(), `"reason":"rate_limited"`) || strings.Contains(w.Body.String(), "tenant") {
		t.Errorf("%s", w.Body)
	}
	says(t, ask(m, get("b")), 200, policy, name+"r=2;t=3", "")
	cost = 3
	says(t, ask(m, get("b")), 429, policy, name+"r=2;t=3", "1")
	cost = -1
	says(t, ask(m, get("b")), 500, "", "", "")
	left(t, l, "b", 2)
	if s := m.Stats(); s.Served != 3 || s.Skipped != 1 || s.Rejected[RateLimited] != 2 || s.Rejected[Internal] != 1 {
		t.Errorf("%+v", s)
	}
	if n := m.Traffic().Rejected["rate_limited"]; n != 2 {
		t.Errorf("Traffic: %d", n)
	}
	idle(t, g, m)
}

// TestRateAsksFirst: a request without a rate neither has its body read nor asks the gate; it
// is refused though the gate is full.
func TestRateAsksFirst(t *testing.T) {
	g := gate.New(1, gate.Config[string]{MaxGlobal: 1})
	l := limiter(1)
	m := New(g, Config{Tenant: Header("X-Tenant"), Rate: l, RetryAfter: func(_ *http.Request, rej Rejection) time.Duration { return 2 * rej.RetryAfter }})
	defer hold(t, g).Release()
	left(t, l, "a", 1)
	if _, err := l.Take(context.Background(), "a", 101, 0); err != nil {
		t.Fatal(err)
	}
	r := httptest.NewRequest("POST", "/", badBody{func() { t.Error("the body is read") }})
	r.ContentLength = 10
	r.Header.Set("X-Tenant", "a")
	says(t, ask(m, r), 429, `"default";q=1;w=1`, `"default";r=0;t=11`, "21") // twice 10.1 s
}

// TestRateGivesBack: what is not served has its tokens back, whatever the reason.
func TestRateGivesBack(t *testing.T) {
	for name, c := range map[string]struct {
		gate gate.Config[string]
		cfg  Config
		r    func(*http.Request) *http.Request
		ways bool // it panics, or the like
	}{
		"timeout": {gate: gate.Config[string]{MaxQueueAge: time.Millisecond}},
		"the client has gone": {r: func(r *http.Request) *http.Request {
			ctx, cancel := context.WithCancel(r.Context())
			time.AfterFunc(10*time.Millisecond, cancel)
			return r.WithContext(ctx)
		}},
		"no body is read": {cfg: Config{MaxReading: 1}, r: func(r *http.Request) *http.Request {
			r.Body, r.ContentLength = badBody{func() {}}, 5
			return r
		}},
		"the body panics": {ways: true, r: func(r *http.Request) *http.Request {
			r.Body, r.ContentLength = badBody{func() { panic("broken") }}, 5
			return r
		}},
		"the gate panics": {ways: true, gate: gate.Config[string]{QuantumFor: func(string) int64 { panic("broken") }}},
	} {
		t.Run(name, func(t *testing.T) {
			g := gate.New(1, c.gate)
			l := limiter(10)
			c.cfg.Tenant, c.cfg.Rate, c.cfg.Cost = Header("X-Tenant"), rate.All(rate.Count[string](limiter(10)), l), func(*http.Request) int64 { return 7 }
			m := New(g, c.cfg)
			defer hold(t, g).Release()
			if c.cfg.MaxReading > 0 {
				if err := m.readers.enter("other"); err != nil {
					t.Fatal(err)
				}
				defer m.readers.leave("other")
			}
			r := get("a")
			if c.r != nil {
				r = c.r(r)
			}
			func() {
				defer func() {
					if v := recover(); (v != nil) != c.ways {
						t.Errorf("recovered %v", v)
					}
				}()
				if w := ask(m, r); w.Code != 503 {
					t.Errorf("%d %s", w.Code, w.Body)
				}
			}()
			left(t, l, "a", 10)
		})
	}
}

// TestRateCharge: Charge corrects what the rate has taken, also after the request has ended.
func TestRateCharge(t *testing.T) {
	g := gate.New(1, gate.Config[string]{})
	l := limiter(100)
	m := New(g, Config{Tenant: Header("X-Tenant"), Rate: l, Cost: func(*http.Request) int64 { return 20 }})
	var ctx context.Context
	h := m.Handler(http.HandlerFunc(func(_ http.ResponseWriter, r *http.Request) {
		ctx = r.Context()
		Charge(ctx, 25)
	}))
	cancelled, cancel := context.WithCancel(context.Background())
	h.ServeHTTP(httptest.NewRecorder(), get("a").WithContext(cancelled))
	left(t, l, "a", 55)
	cancel()
	if !Charge(ctx, -5) {
		t.Error("no request")
	}
	left(t, l, "a", 60)
	h.ServeHTTP(httptest.NewRecorder(), get("a"))
	if !Charge(ctx, 500) {
		t.Error("no request")
	}
	if r, err := l.Take(context.Background(), "a", 1, 0); err != rate.ErrLimited || r.Reset < 50*time.Second {
		t.Errorf("no debt: %+v, %v", r, err)
	}
}

// TestRateWait: a request waits for its rate as long as it may, and not beyond its deadline.
func TestRateWait(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		g := gate.New(1, gate.Config[string]{})
		l := rate.New(rate.Config[string]{Limit: rate.Limit{PerSecond: 1}})
		m := New(g, Config{Tenant: Header("X-Tenant"), Rate: l, RateWait: time.Second, Deadline: TimeoutHeader("X-Request-Timeout")})
		const policy = `"default";q=1;w=1`
		says(t, ask(m, get("a")), 200, policy, `"default";r=0;t=1`, "")
		began := time.Now()
		done := make(chan *httptest.ResponseRecorder)
		go func() { done <- ask(m, get("a")) }()
		synctest.Wait()
		if s := m.Stats(); s.Waiting != 1 {
			t.Errorf("%+v", s)
		}
		says(t, ask(m, get("a")), 429, policy, `"default";r=0;t=1`, "2")
		says(t, <-done, 200, policy, `"default";r=0;t=1`, "")
		if waited := time.Since(began); waited != time.Second {
			t.Errorf("waited %v", waited)
		}
		says(t, ask(m, with(get("a"), "X-Request-Timeout", "900ms")), 429, policy, `"default";r=0;t=1`, "1")
		if waited := time.Since(began); waited != time.Second {
			t.Errorf("waited %v", waited)
		}
	})
}

// TestTwoRates: middleware inside of middleware adds its own.
func TestTwoRates(t *testing.T) {
	inner := New(gate.New(1, gate.Config[string]{}), Config{Rate: limiter(5), RateName: "b"})
	outer := New(gate.New(1, gate.Config[string]{}), Config{Rate: limiter(25), RateName: "a"})
	w := httptest.NewRecorder()
	outer.Handler(inner.Handler(http.HandlerFunc(func(w http.ResponseWriter, _ *http.Request) { _, _ = io.WriteString(w, "hello") }))).ServeHTTP(w, get("x"))
	says(t, w, 200, `"a";q=25;w=3|"b";q=5;w=1`, `"a";r=24;t=1|"b";r=4;t=1`, "")
}

// awayRate is a rate whose server cannot be reached.
type awayRate struct{}

func (awayRate) Take(context.Context, string, int64, time.Duration) (rate.Result, error) {
	return rate.Result{}, fmt.Errorf("%w: %w", gate.ErrUnavailable, context.DeadlineExceeded)
}
func (awayRate) Charge(context.Context, string, int64) error { return gate.ErrUnavailable }

func TestRateUnavailable(t *testing.T) {
	m := New(gate.New(1, gate.Config[string]{}), Config{Rate: awayRate{}})
	if w := ask(m, get("a")); w.Code != 503 || !strings.Contains(w.Body.String(), `"unavailable"`) || w.Header().Get("Retry-After") == "" {
		t.Errorf("%d %v %s", w.Code, w.Header(), w.Body)
	}
}

func TestRateConfig(t *testing.T) {
	g := gate.New(1, gate.Config[string]{})
	for field, cfg := range map[string]Config{
		"Rate:":     {Rate: (*rate.Limiter[string])(nil)},
		"RateWait:": {RateWait: -1},
	} {
		if _, err := Open(g, cfg); !errors.Is(err, firq.ErrInvalidConfig) || !strings.Contains(err.Error(), field) {
			t.Errorf("%s %v", field, err)
		}
	}
}
