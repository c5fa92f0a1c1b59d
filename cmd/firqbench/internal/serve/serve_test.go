package serve

import (
	"context"
	"io"
	"net/http"
	"strings"
	"testing"
	"time"

	"go.uber.org/goleak"
)

func TestMain(m *testing.M) { goleak.VerifyTestMain(m) }

// get returns the status and the text of a page.
func get(t *testing.T, client *http.Client, url string) (int, string) {
	t.Helper()
	ctx, cancel := context.WithTimeout(t.Context(), 30*time.Second)
	defer cancel()
	req, err := http.NewRequestWithContext(ctx, http.MethodGet, url, nil)
	if err != nil {
		t.Fatal(err)
	}
	resp, err := client.Do(req)
	if err != nil {
		t.Fatal(err)
	}
	defer resp.Body.Close()
	body, err := io.ReadAll(resp.Body)
	if err != nil {
		t.Fatal(err)
	}
	return resp.StatusCode, string(body)
}

func start(t *testing.T, addr string, pages http.HandlerFunc) (*Server, *http.Client) {
	t.Helper()
	s, err := Start(addr, pages)
	if err != nil {
		t.Fatal(err)
	}
	transport := &http.Transport{}
	t.Cleanup(transport.CloseIdleConnections)
	return s, &http.Client{Transport: transport}
}

// The pages and the profiles are there, on the loopback interface if no option says
// otherwise, and gone after Close.
func TestServer(t *testing.T) {
	s, client := start(t, ":0", func(w http.ResponseWriter, r *http.Request) {
		_, _ = io.WriteString(w, "page "+r.URL.Path)
	})
	if !strings.HasPrefix(s.URL(), "http://127.0.0.1:") || s.Exposed() {
		t.Errorf("%s, exposed %v", s.URL(), s.Exposed())
	}
	for path, want := range map[string]string{
		"": "page /", "x/y": "page /x/y", "debug/pprof/": "goroutine", "debug/pprof/goroutine?debug=1": "goroutine profile: total",
		"debug/pprof/cmdline": "serve", "debug/pprof/profile?seconds=1": "",
	} {
		if code, body := get(t, client, s.URL()+path); code != http.StatusOK || !strings.Contains(body, want) {
			t.Errorf("%s: %d, %q is missing in\n%.300s", path, code, want, body)
		}
	}
	if err := s.Close(); err != nil {
		t.Error(err)
	}
	if _, err := client.Get(s.URL()); err == nil {
		t.Error("still there after Close")
	}
}

// Close ends requests that go on for ever, and waits for them.
func TestCloseEndsRequests(t *testing.T) {
	ended := make(chan struct{})
	s, client := start(t, "localhost:0", func(w http.ResponseWriter, r *http.Request) {
		_ = http.NewResponseController(w).Flush()
		<-r.Context().Done()
		_, _ = io.WriteString(w, "bye")
		close(ended)
	})
	resp, err := client.Get(s.URL())
	if err != nil {
		t.Fatal(err)
	}
	defer resp.Body.Close()
	if err := s.Close(); err != nil {
		t.Error(err)
	}
	if body, err := io.ReadAll(resp.Body); err != nil || string(body) != "bye" {
		t.Errorf("the request was cut off: %q, %v", body, err)
	}
	select {
	case <-ended:
	default:
		t.Error("Close did not wait for the request")
	}
}

func TestExposed(t *testing.T) {
	s, _ := start(t, "0.0.0.0:0", func(http.ResponseWriter, *http.Request) {})
	defer s.Close()
	if !s.Exposed() {
		t.Errorf("%s is not exposed", s.URL())
	}
}

func TestStartErrors(t *testing.T) {
	s, _ := start(t, "localhost:0", func(http.ResponseWriter, *http.Request) {})
	defer s.Close()
	for _, addr := range []string{"", "6060", "localhost:http:1", "localhost:99999", strings.TrimSuffix(strings.TrimPrefix(s.URL(), "http://"), "/")} {
		if other, err := Start(addr, http.NotFoundHandler()); err == nil {
			t.Errorf("%q: no error", addr)
			_ = other.Close()
		}
	}
}
