package main

import (
	"net/http"
	"net/http/httptest"
	"os"
	"path/filepath"
	"runtime"
	"strings"
	"testing"
	"time"

	"github.com/firq-go/firq/cmd/firqbench/internal/command"
)

const wrkSays = `Running 1s test @ http://127.0.0.1:1/
  1 threads and 64 connections
  Thread Stats   Avg      Stdev     Max   +/- Stdev
    Latency     1.83ms    4.10ms  60.09ms   94.00%
    Req/Sec    33.90k     2.50k   36.00k    70.00%
  Latency Distribution
     50%  844.00us
     75%    1.10ms
     90%    2.70ms
     99%    1.06s
  34000 requests in 1.00s, 5.00MB read
  Socket errors: connect 1, read 2, write 3, timeout 4
  Non-2xx or 3xx responses: 5
Requests/sec:  33835.69
Transfer/sec:      4.90MB
`

func TestParseWrk(t *testing.T) {
	l, err := parseWrk(wrkSays)
	if want := (wrkLoad{33835.69, 844 * time.Microsecond, 1060 * time.Millisecond, 15}); err != nil || l != want {
		t.Errorf("%+v, %v, want %+v", l, err, want)
	}
	if l, err := parseWrk(strings.Replace(wrkSays, "Socket errors", "No errors", 1)); err != nil || l.failed != 5 {
		t.Errorf("without errors of sockets: %+v, %v", l, err)
	}
	for _, out := range []string{"", "Requests/sec: 12\n", strings.Replace(wrkSays, "99%", "98%", 1)} {
		if l, err := parseWrk(out); err == nil {
			t.Errorf("%q: %+v", out, l)
		}
	}
}

// A generator that is not wrk, but says what wrk says, for a table; and none at all.
func TestHTTP(t *testing.T) {
	if runtime.GOOS == "windows" {
		t.Skip("the fake is a shell script")
	}
	fake := filepath.Join(t.TempDir(), "wrk")
	script := "#!/bin/sh\n[ \"$*\" != \"${*#*-t1 -c64 -d1s --latency http://127.0.0.1:}\" ] || exit 1\ncat <<'END'\n" + wrkSays + "END\n"
	if err := os.WriteFile(fake, []byte(script), 0o700); err != nil { //nolint:gosec // it is to run
		t.Fatal(err)
	}
	var out, errs strings.Builder
	if code := command.Execute(t.Context(), app, []string{"compute", "-parts", "http", "-rounds", "2", "-over", "1s", "-wrk", fake}, &out, &errs); code != 0 {
		t.Fatalf("code %d: %s", code, &errs)
	}
	for _, name := range []string{bare, computed, gated} {
		for _, c := range httpCases {
			if line := "| " + c.name + " | requests/s | " + name + " | 33836 |"; !strings.Contains(out.String(), line) {
				t.Errorf("no %q in\n%s", line, &out)
			}
		}
	}
	errs.Reset()
	if code := command.Execute(t.Context(), app, []string{"compute", "-parts", "http", "-wrk", fake + "-none"}, &out, &errs); code != 1 || !strings.Contains(errs.String(), "apt-get install wrk") {
		t.Errorf("code %d without wrk: %s", code, &errs)
	}
}

// Each handler answers; hits are hits, and misses are not.
func TestHTTPHandlers(t *testing.T) {
	for _, name := range []string{bare, computed, gated} {
		for _, kept := range []bool{true, false} {
			h, stop, err := httpHandler(name, kept)
			if err != nil {
				t.Fatal(err)
			}
			status := ""
			for range httpKeys + 1 {
				w := httptest.NewRecorder()
				h.ServeHTTP(w, httptest.NewRequest(http.MethodGet, "/", nil))
				if w.Code != http.StatusOK || w.Body.String() != "12345678\n" {
					t.Fatalf("%s: %d %q", name, w.Code, w.Body)
				}
				status = w.Header().Get("Cache-Status")
			}
			want := map[bool]string{true: "compute; hit", false: "compute; fwd=miss"}[kept]
			if name != bare && status != want {
				t.Errorf("%s, kept %t: %q", name, kept, status)
			}
			stop()
		}
	}
}

// The document's table has its three rows for both systems.
func TestDocument(t *testing.T) {
	var out, errs strings.Builder
	if code := command.Execute(t.Context(), app, []string{"compute", "-parts", "document", "-rounds", "1", "-time", "20ms"}, &out, &errs); code != 0 {
		t.Fatalf("code %d: %s", code, &errs)
	}
	for i := range document {
		for _, metric := range []string{"calls/s", "of the document's", "p99, us", "refused, %"} {
			for _, name := range []string{ours, pool} {
				if line := "| " + document[i].name + " | " + metric + " | " + name + " | "; !strings.Contains(out.String(), line) {
					t.Errorf("no %q in\n%s", line, &out)
				}
			}
		}
	}
}
