package serve

import (
	"context"
	"io"
	"net/http"
	"strings"
	"testing"
	"time"
)

// ask asks the server with a given Host and Sec-Fetch-Site; empty ones are
// those of a plain client.
func ask(t *testing.T, s *Server, client *http.Client, path, host, site string) (int, http.Header, string) {
	t.Helper()
	ctx, cancel := context.WithTimeout(t.Context(), 30*time.Second)
	defer cancel()
	req, err := http.NewRequestWithContext(ctx, http.MethodGet, s.URL()+path, nil)
	if err != nil {
		t.Fatal(err)
	}
	if req.Host = host; site != "" {
		req.Header.Set("Sec-Fetch-Site", site)
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
	return resp.StatusCode, resp.Header, string(body)
}

// paths are one of each kind: a page, a stream, what is measured, and profiles.
var paths = []string{"", "view.json", "events", "metrics", "debug/pprof/", "debug/pprof/cmdline", "debug/pprof/heap", "debug/pprof/symbol", "debug/pprof/trace?seconds=0.01"}

func guarded(t *testing.T, addr string) (*Server, *http.Client) {
	s, client := start(t, addr, func(w http.ResponseWriter, _ *http.Request) { _, _ = io.WriteString(w, "a secret") })
	t.Cleanup(func() {
		if err := s.Close(); err != nil {
			t.Error(err)
		}
	})
	return s, client
}

// On the loopback interface a name that is not this machine's gets nothing: a
// page that had its own name point here could else read all of it.
func TestHost(t *testing.T) {
	s, client := guarded(t, "127.0.0.1:0")
	_, port, _ := strings.Cut(strings.TrimSuffix(strings.TrimPrefix(s.URL(), "http://"), "/"), ":")
	for host, want := range map[string]int{
		"":                        http.StatusOK, // as the client has it: 127.0.0.1 and the port
		"localhost":               http.StatusOK,
		"LocalHost:" + port:       http.StatusOK,
		"localhost:1":             http.StatusOK, // a port that something forwards
		"127.0.0.1":               http.StatusOK,
		"127.9.9.9:8080":          http.StatusOK,
		"[::1]":                   http.StatusOK,
		"[::1]:8080":              http.StatusOK,
		"evil.example":            http.StatusForbidden,
		"evil.example:" + port:    http.StatusForbidden,
		"localhost.evil.example":  http.StatusForbidden,
		"127.0.0.1.evil.example":  http.StatusForbidden,
		"evil.example:localhost":  http.StatusForbidden,
		"10.0.0.1":                http.StatusForbidden,
		"0.0.0.0:" + port:         http.StatusForbidden,
		"[::]:" + port:            http.StatusForbidden,
		"[fe80::1]:8080":          http.StatusForbidden,
		"[::ffff:10.0.0.1]:8080":  http.StatusForbidden,
		"[::ffff:127.0.0.1]:8080": http.StatusOK,
		"2130706433":              http.StatusForbidden, // 127.0.0.1 as a number, which no address bar leaves so
		"localhost:80:80":         http.StatusForbidden,
	} {
		for _, path := range paths {
			code, _, body := ask(t, s, client, path, host, "")
			if code != want || want == http.StatusForbidden && (strings.Contains(body, "secret") || !strings.Contains(body, "loopback addresses only")) {
				t.Errorf("/%s of %q: %d, want %d: %.200q", path, host, code, want, body)
			}
		}
	}
}

// A page of another server gets nothing either, whatever it calls this one, also
// if that is another port of the same host.
func TestSite(t *testing.T) {
	for _, addr := range []string{"127.0.0.1:0", "0.0.0.0:0"} {
		s, client := guarded(t, addr)
		for site, want := range map[string]int{
			"": http.StatusOK, "none": http.StatusOK, "same-origin": http.StatusOK,
			"same-site": http.StatusForbidden, "cross-site": http.StatusForbidden, "what comes next": http.StatusForbidden,
		} {
			for _, path := range paths {
				code, _, body := ask(t, s, client, path, "localhost", site)
				if code != want || want == http.StatusForbidden && (strings.Contains(body, "secret") || !strings.Contains(body, "another server")) {
					t.Errorf("%s, /%s for %q: %d, want %d: %.200q", addr, path, site, code, want, body)
				}
			}
		}
	}
}

// A user that lets others reach the server has names for it that are not known here.
func TestHostOfExposed(t *testing.T) {
	s, client := guarded(t, "0.0.0.0:0")
	for _, path := range paths {
		if code, _, body := ask(t, s, client, path, "bench.example:6060", ""); code != http.StatusOK {
			t.Errorf("/%s: %d: %.200q", path, code, body)
		}
	}
}

// Nothing is shown in a frame of another page, profiles and refusals included.
func TestFrames(t *testing.T) {
	s, client := guarded(t, "127.0.0.1:0")
	for _, host := range []string{"localhost", "evil.example"} {
		for _, path := range paths {
			if _, header, _ := ask(t, s, client, path, host, ""); header.Get("Content-Security-Policy") != "frame-ancestors 'none'" {
				t.Errorf("/%s of %s: policy %q", path, host, header.Get("Content-Security-Policy"))
			}
		}
	}
}
