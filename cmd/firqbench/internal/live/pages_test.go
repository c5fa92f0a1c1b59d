package live

import (
	"bufio"
	"context"
	"encoding/json"
	"encoding/xml"
	"errors"
	"io"
	"net/http"
	"net/http/httptest"
	"strings"
	"sync"
	"testing"
	"time"
)

// get asks the pages.
func get(t *testing.T, server *httptest.Server, path string) (*http.Response, string) {
	t.Helper()
	resp, err := server.Client().Get(server.URL + path)
	if err != nil {
		t.Fatal(err)
	}
	defer resp.Body.Close()
	body, err := io.ReadAll(resp.Body)
	if err != nil {
		t.Fatal(err)
	}
	return resp, string(body)
}

func TestPages(t *testing.T) {
	p := NewPages()
	server := httptest.NewServer(p)
	defer server.Close()
	if resp, body := get(t, server, "/"); resp.StatusCode != http.StatusOK || !strings.Contains(body, "Nothing has been measured") {
		t.Errorf("%s\n%s", resp.Status, body)
	}
	if resp, _ := get(t, server, "/view.json"); resp.StatusCode != http.StatusServiceUnavailable {
		t.Errorf("%s of nothing", resp.Status)
	}
	for range history + 10 {
		p.Show(fake(false))
	}
	if n := len(p.past); n != history {
		t.Errorf("%d views are kept, want %d", n, history)
	}
	resp, body := get(t, server, "/")
	for _, want := range []string{"made_up", "a view for a &lt;test&gt;", "lockfree", "fairness (Jain)", "<title>channel</title>", "tenant-000000", "prefers-color-scheme: dark"} {
		if !strings.Contains(body, want) {
			t.Errorf("%q is missing in\n%s", want, body)
		}
	}
	if policy := resp.Header.Get("Content-Security-Policy"); !strings.HasPrefix(policy, "default-src 'none'") || !strings.HasSuffix(policy, "; frame-ancestors 'none'") || strings.Contains(body, "http://") || strings.Contains(body, "https://") {
		t.Errorf("policy %q", policy)
	}
	wellFormed(t, body)
	resp, body = get(t, server, "/view.json")
	var got View
	if err := json.Unmarshal([]byte(body), &got); err != nil || resp.Header.Get("Content-Type") != "application/json" || got.Sides[1].Top[0] != fake(false).Sides[1].Top[0] {
		t.Errorf("%v, %s", err, body)
	}
	if resp, _ := get(t, server, "/nothing"); resp.StatusCode != http.StatusNotFound {
		t.Errorf("%s", resp.Status)
	}
}

func wellFormed(t *testing.T, page string) {
	t.Helper()
	d := xml.NewDecoder(strings.NewReader(page))
	d.Entity = xml.HTMLEntity
	d.Strict = false // the script
	for {
		if _, err := d.Token(); errors.Is(err, io.EOF) {
			return
		} else if err != nil {
			t.Fatal(err)
		}
	}
}

// event reads one server-sent event.
func event(t *testing.T, r *bufio.Reader) (kind, data string) {
	t.Helper()
	for {
		line, err := r.ReadString('\n')
		if err != nil {
			t.Fatal(err)
		}
		line = strings.TrimSuffix(line, "\n")
		if line == "" {
			return kind, data
		}
		if text, ok := strings.CutPrefix(line, "event: "); ok {
			kind = text
		} else if text, ok := strings.CutPrefix(line, "data: "); ok {
			data += text + "\n"
		} else {
			t.Fatalf("line %q", line)
		}
	}
}

// paused stands still behind the first thing that is sent.
type paused struct {
	*httptest.ResponseRecorder
	sent, goOn chan struct{}
	once       *sync.Once
}

func (p paused) Flush() {
	p.once.Do(func() {
		close(p.sent)
		<-p.goOn
	})
}

// A reader sees the last view, also if the server ends right behind it.
func TestLastEvent(t *testing.T) {
	for range 20 {
		p := NewPages()
		p.Show(fake(false))
		ctx, cancel := context.WithCancel(t.Context())
		w := paused{httptest.NewRecorder(), make(chan struct{}), make(chan struct{}), new(sync.Once)}
		done := make(chan struct{})
		go func() {
			defer close(done)
			p.ServeHTTP(w, httptest.NewRequestWithContext(ctx, http.MethodGet, "/events", nil))
		}()
		<-w.sent
		p.Show(fake(true))
		cancel()
		close(w.goOn)
		<-done
		if body := w.Body.String(); strings.Count(body, "the whole run") != 1 || !strings.HasSuffix(body, "event: over\ndata: \n\n") {
			t.Fatalf("got\n%s", body)
		}
	}
}

// The stream has each view as it comes, and ends with the run.
func TestEvents(t *testing.T) {
	p := NewPages()
	server := httptest.NewServer(p)
	defer server.Close()
	v := fake(false)
	p.Show(v)
	ctx, cancel := context.WithTimeout(t.Context(), 30*time.Second)
	defer cancel()
	req, err := http.NewRequestWithContext(ctx, http.MethodGet, server.URL+"/events", nil)
	if err != nil {
		t.Fatal(err)
	}
	resp, err := server.Client().Do(req)
	if err != nil {
		t.Fatal(err)
	}
	defer resp.Body.Close()
	r := bufio.NewReader(resp.Body)
	if _, data := event(t, r); !strings.Contains(data, "after 1.5s") || resp.Header.Get("Content-Type") != "text/event-stream" {
		t.Errorf("%v: %s", resp.Header, data)
	}
	next := *v
	next.At = 7 * time.Second
	p.Show(&next)
	if _, data := event(t, r); !strings.Contains(data, "after 7s") {
		t.Errorf("got %s", data)
	}
	p.Show(fake(true))
	if _, data := event(t, r); !strings.Contains(data, "the whole run") {
		t.Errorf("got %s", data)
	}
	if kind, _ := event(t, r); kind != "over" {
		t.Errorf("event %q", kind)
	}
	if _, err := r.ReadByte(); !errors.Is(err, io.EOF) {
		t.Errorf("after the end: %v", err)
	}
}
