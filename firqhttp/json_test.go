package firqhttp

import (
	"bytes"
	"context"
	"errors"
	"log/slog"
	"math"
	"net/http"
	"net/http/httptest"
	"strings"
	"testing"
	"time"

	"github.com/firq-go/firq"
	"github.com/firq-go/firq/compute"
	"github.com/firq-go/firq/gate"
)

var errNoItem = errors.New("which item?")

// jsonOf serves what exec makes: the tenant is a header, the key a parameter.
func jsonOf(t *testing.T, exec func(ctx context.Context, item string) (float64, error), cc compute.Config[string, string, float64], cfg JSONConfig) (*compute.Server[string, string, float64], func(method, item string, header ...string) *httptest.ResponseRecorder) {
	t.Helper()
	s, err := compute.New(func(ctx context.Context, c compute.Call[string, string]) (float64, error) { return exec(ctx, c.Key) }, cc)
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() { _ = s.Close() })
	h := JSON(s, func(r *http.Request) (string, string, error) {
		item := r.FormValue("item")
		if item == "" {
			return "", "", errNoItem
		}
		return r.Header.Get("X-Tenant"), item, nil
	}, cfg)
	return s, func(method, item string, header ...string) *httptest.ResponseRecorder {
		r := httptest.NewRequest(method, "/?item="+item, nil)
		r.Header.Set("X-Tenant", "a")
		for i := 0; i < len(header); i += 2 {
			r.Header.Add(header[i], header[i+1])
		}
		w := httptest.NewRecorder()
		h.ServeHTTP(w, r)
		return w
	}
}

func TestJSON(t *testing.T) {
	made := 0
	_, ask := jsonOf(t, func(context.Context, string) (float64, error) { made++; return 1.5, nil },
		compute.Config[string, string, float64]{TTL: time.Hour}, JSONConfig{Name: "prices"})

	first := ask(http.MethodGet, "tea")
	tag := first.Header().Get("Etag")
	for name, want := range map[string]string{
		"Content-Type": "application/json", "Content-Length": "4", "Cache-Status": "prices; fwd=miss", "Age": "",
		"Cache-Control": "private, no-cache", "X-Content-Type-Options": "nosniff",
	} {
		if got := first.Header().Get(name); got != want {
			t.Errorf("%s: %q, want %q", name, got, want)
		}
	}
	if first.Code != http.StatusOK || first.Body.String() != "1.5\n" || !strings.HasPrefix(tag, `W/"`) {
		t.Errorf("%d %q, Etag %q", first.Code, first.Body, tag)
	}

	hit := ask(http.MethodGet, "tea", "X-Tenant", "b") // the first one counts
	if hit.Body.String() != "1.5\n" || hit.Header().Get("Cache-Status") != "prices; hit" || hit.Header().Get("Age") != "0" || hit.Header().Get("Etag") != tag {
		t.Errorf("a hit: %q, %v", hit.Body, hit.Header())
	}
	head := ask(http.MethodHead, "tea")
	if head.Code != http.StatusOK || head.Body.Len() > 0 || head.Header().Get("Content-Length") != "4" || head.Header().Get("Etag") != tag {
		t.Errorf("HEAD: %d %q, %v", head.Code, head.Body, head.Header())
	}
	for _, match := range []string{tag, `"other", ` + tag, strings.TrimPrefix(tag, "W/"), "*"} {
		w := ask(http.MethodGet, "tea", "If-None-Match", match)
		if w.Code != http.StatusNotModified || w.Body.Len() > 0 || w.Header().Get("Etag") != tag || w.Header().Get("Cache-Status") != "prices; hit" {
			t.Errorf("If-None-Match %s: %d %q, %v", match, w.Code, w.Body, w.Header())
		}
	}
	if w := ask(http.MethodGet, "tea", "If-None-Match", `W/"other"`); w.Code != http.StatusOK {
		t.Errorf("another tag: %d", w.Code)
	}
	if made != 1 {
		t.Errorf("made %d times, want once", made)
	}
	if w := ask(http.MethodPost, "tea"); w.Code != http.StatusMethodNotAllowed || w.Header().Get("Allow") != "GET, HEAD" || made != 1 {
		t.Errorf("POST: %d, %v; made %d times", w.Code, w.Header(), made)
	}
}

// What a handler outside has said of Cache-Control stays.
func TestJSONCacheControl(t *testing.T) {
	s, err := compute.New(func(context.Context, compute.Call[string, string]) (int, error) { return 1, nil }, compute.Config[string, string, int]{})
	if err != nil {
		t.Fatal(err)
	}
	defer func() { _ = s.Close() }()
	w := httptest.NewRecorder()
	w.Header().Set("Cache-Control", "public, max-age=60")
	JSON(s, func(*http.Request) (string, string, error) { return "", "", nil }, JSONConfig{}).ServeHTTP(w, httptest.NewRequest(http.MethodGet, "/", nil))
	if got := w.Header().Get("Cache-Control"); got != "public, max-age=60" {
		t.Errorf("Cache-Control %q", got)
	}
	if got := w.Header().Get("Cache-Status"); got != "compute; fwd=miss" {
		t.Errorf("Cache-Status %q", got)
	}
}

// Each failure has its answer; Error is asked for those that RejectError leaves.
func TestJSONFailures(t *testing.T) {
	broken := errors.New("secret: broken")
	for _, tc := range []struct {
		name, item string
		made       float64
		err        error
		status     int
		body       string // part of it
		asked      bool   // Error is
	}{
		{"no key", "", 0, nil, 400, `"detail":"which item?"`, true},
		{"exec", "tea", 0, broken, 500, `"reason":"internal"`, true},
		{"no JSON", "tea", math.NaN(), nil, 500, `"reason":"internal"`, true},
		{"refused", "tea", 0, firq.ErrTenantFull, 429, `"reason":"tenant_full"`, false},
		{"late", "tea", 0, context.DeadlineExceeded, 503, `"reason":"timeout"`, false},
	} {
		exec := func(context.Context, string) (float64, error) { return tc.made, tc.err }
		var asked error
		for _, cfg := range []JSONConfig{{}, {Error: func(_ http.ResponseWriter, _ *http.Request, err error) bool { asked = err; return false }}} {
			_, ask := jsonOf(t, exec, compute.Config[string, string, float64]{}, cfg)
			w := ask(http.MethodGet, tc.item, "If-None-Match", "*")
			if w.Code != tc.status || !strings.Contains(w.Body.String(), tc.body) || w.Header().Get("Content-Type") != "application/problem+json" ||
				w.Header().Get("Etag") != "" || w.Header().Get("Cache-Control") != "no-store" || strings.Contains(w.Body.String(), "secret") {
				t.Errorf("%s: %d %q, %v", tc.name, w.Code, w.Body, w.Header())
			}
		}
		if (asked != nil) != tc.asked || tc.err == broken && asked != broken {
			t.Errorf("%s: Error was asked for %v", tc.name, asked)
		}
		_, ask := jsonOf(t, exec, compute.Config[string, string, float64]{}, JSONConfig{Error: func(w http.ResponseWriter, _ *http.Request, _ error) bool {
			w.WriteHeader(http.StatusTeapot)
			return true
		}})
		if w := ask(http.MethodGet, tc.item); (w.Code == http.StatusTeapot && w.Body.Len() == 0) != tc.asked {
			t.Errorf("%s: %d %q, with an Error that answers", tc.name, w.Code, w.Body)
		}
	}
}

// A panic of exec is a failure that Error sees, and is in the log, once; the handler's goroutine survives, and
// the slot is free.
func TestJSONPanic(t *testing.T) {
	var log bytes.Buffer
	was := slog.Default()
	slog.SetDefault(slog.New(slog.NewTextHandler(&log, nil)))
	defer slog.SetDefault(was)
	var seen error
	s, ask := jsonOf(t, func(context.Context, string) (float64, error) { panic("broken") }, compute.Config[string, string, float64]{Limit: 1},
		JSONConfig{Error: func(_ http.ResponseWriter, _ *http.Request, err error) bool { seen = err; return false }})
	for range 3 {
		if w := ask(http.MethodGet, "tea"); w.Code != http.StatusInternalServerError || strings.Contains(w.Body.String(), "broken") {
			t.Errorf("%d %q", w.Code, w.Body)
		}
	}
	if p := (*compute.PanicError)(nil); !errors.As(seen, &p) || p.Value != "broken" {
		t.Errorf("Error saw %v", seen)
	}
	if text := log.String(); strings.Count(text, "\n") != 3 || strings.Count(text, "panic=broken") != 3 {
		t.Errorf("the log: %q", text)
	}
	if st := s.Stats(); st.Executing != 0 || st.Panics != 3 {
		t.Errorf("%d executing, %d panics", st.Executing, st.Panics)
	}
}

// A request that waits for a slot and whose client goes away is answered, and leaves nothing.
func TestJSONCancelled(t *testing.T) {
	began, end := make(chan struct{}), make(chan struct{})
	s, ask := jsonOf(t, func(context.Context, string) (float64, error) { close(began); <-end; return 1, nil },
		compute.Config[string, string, float64]{Limit: 1, Gate: gate.Config[string]{MaxQueueAge: -1}}, JSONConfig{})
	first := make(chan int, 1)
	go func() { first <- ask(http.MethodGet, "slow").Code }()
	<-began
	ctx, cancel := context.WithCancel(t.Context())
	h := JSON(s, func(*http.Request) (string, string, error) { return "a", "other", nil }, JSONConfig{})
	w, second := httptest.NewRecorder(), make(chan struct{})
	go func() {
		defer close(second)
		h.ServeHTTP(w, httptest.NewRequestWithContext(ctx, http.MethodGet, "/", nil))
	}()
	until(t, "it waits", func() bool { return s.Stats().Waiting == 1 })
	cancel()
	select {
	case <-second:
	case <-time.After(10 * time.Second):
		t.Fatal("the handler does not return")
	}
	if w.Code != http.StatusServiceUnavailable || !strings.Contains(w.Body.String(), `"reason":"cancelled"`) || w.Header().Get("Cache-Status") != "" {
		t.Errorf("%d %q, %v", w.Code, w.Body, w.Header())
	}
	close(end)
	if code := <-first; code != http.StatusOK {
		t.Errorf("the other one: %d", code)
	}
}

func TestJSONNil(t *testing.T) {
	s, _ := jsonOf(t, nil, compute.Config[string, string, float64]{}, JSONConfig{})
	for _, f := range []func(){
		func() {
			JSON((*compute.Server[string, string, int])(nil), func(*http.Request) (string, string, error) { return "", "", nil }, JSONConfig{})
		},
		func() { JSON(s, nil, JSONConfig{}) },
	} {
		func() {
			defer func() {
				if v, ok := recover().(string); !ok || !strings.Contains(v, "JSON: s and key") {
					t.Errorf("panic %q", v)
				}
			}()
			f()
		}()
	}
}
