package main

import (
	"bufio"
	"fmt"
	"io"
	"net/http"
	"strings"
	"testing"
)

// TestOdd: odd requests are answered, and leave no slot behind. An upgrade to HTTP/2 is not passed on: its connection would carry
// any number of requests, of any tenant, in one slot.
func TestOdd(t *testing.T) {
	u := newUpstream(t, func(w http.ResponseWriter, r *http.Request) {
		if strings.Contains(strings.ToLower(r.Header.Get("Upgrade")), "h2c") || r.Header.Get("Http2-Settings") != "" {
			w.Header().Set("Connection", "Upgrade")
			w.Header().Set("Upgrade", "h2c")
			w.WriteHeader(http.StatusSwitchingProtocols)
			return
		}
		body, _ := io.ReadAll(r.Body)
		_, _ = fmt.Fprint(w, r.Method, " ", r.RequestURI, " ", r.Host, " ", len(body))
	})
	p := start(t, "upstream: "+u.URL+"\ntenant: [{header: X-Tenant}]\nlimits: {slots: 1, max_wait: 5s}\n")
	long := strings.Repeat("x", 100_000)
	for _, c := range []struct{ request, want string }{
		{"GET / HTTP/1.1\r\nHost: x\r\nConnection: Upgrade, HTTP2-Settings\r\nUpgrade: h2c\r\nHTTP2-Settings: AAMAAABkAAQAoAAAAAIAAAAA\r\n\r\n", "200 GET / x 0"},
		{"GET / HTTP/1.1\r\nHost: x\r\nConnection: Upgrade\r\nUpgrade: websocket, H2C\r\n\r\n", "200 GET / x 0"},
		{"PRI * HTTP/2.0\r\n\r\nSM\r\n\r\n", "505 "},
		{"OPTIONS * HTTP/1.1\r\nHost: x\r\n\r\n", "200 "},
		{"GET http://other.example/a HTTP/1.1\r\nHost: x\r\n\r\n", "200 GET /a other.example 0"},
		{"POST / HTTP/1.1\r\nHost: x\r\nTransfer-Encoding: chunked\r\nExpect: 100-continue\r\n\r\n3\r\nabc\r\n0\r\nX-End: 1\r\n\r\n", "200 POST / x 3"},
		{"POST / HTTP/1.1\r\nHost: x\r\nContent-Length: 3\r\nTransfer-Encoding: chunked\r\n\r\n0\r\n\r\n", "200 POST / x 0"},
		{"POST / HTTP/1.1\r\nHost: x\r\nContent-Length: 3\r\nContent-Length: 4\r\n\r\nabcd", "400 "},
		{"GET / HTTP/1.1\r\nHost: x\r\nX-Tenant: a\r\nX-Tenant: b\r\n\r\n", "200 GET / x 0"},
		{"GET / HTTP/1.1\r\nHost: x\r\nX-Tenant: \xff\x01\r\n\r\n", "400 "},
		{"GET / HTTP/1.1\r\nHost: x\r\nX-Tenant: " + long + "\r\n\r\n", "200 GET / x 0"},
		{"GET / HTTP/1.1\r\n\r\n", "400 "},
	} {
		conn := raw(t, p.url, c.request)
		in := bufio.NewReader(conn)
		resp, err := http.ReadResponse(in, nil)
		for err == nil && resp.StatusCode == http.StatusContinue {
			resp, err = http.ReadResponse(in, nil)
		}
		if err != nil {
			t.Errorf("%.60q: %v", c.request, err)
			continue
		}
		body, _ := io.ReadAll(resp.Body)
		if got := fmt.Sprintf("%d %s", resp.StatusCode, body); got != c.want && (resp.StatusCode == http.StatusOK || !strings.HasPrefix(got, c.want)) {
			t.Errorf("%.60q: %s, want %s", c.request, got, c.want)
		}
		_ = conn.Close()
	}
	until(t, "no slot is held", func() bool { return p.metric(inUse) == "0" && p.metric(waiting) == "0" })
	if resp, body := p.get(p.url, "a"); resp.StatusCode != http.StatusOK {
		t.Errorf("%d %s", resp.StatusCode, body)
	}
}

// TestBadBody: a body that cannot be read is the client's mistake, and no error of the upstream.
func TestBadBody(t *testing.T) {
	u := newUpstream(t, func(_ http.ResponseWriter, r *http.Request) { _, _ = io.Copy(io.Discard, r.Body) })
	p := start(t, "upstream: "+u.URL+"\nlimits: {slots: 1}\n")
	for range 3 {
		conn := raw(t, p.url, "POST / HTTP/1.1\r\nHost: x\r\nTransfer-Encoding: chunked\r\n\r\n3\r\nabc\r\nwrong\r\n")
		resp, err := http.ReadResponse(bufio.NewReader(conn), nil)
		if err != nil {
			t.Fatal(err)
		}
		if resp.StatusCode != http.StatusBadRequest || !resp.Close {
			t.Errorf("%d, the connection is closed: %t", resp.StatusCode, resp.Close)
		}
		_ = conn.Close()
		conn = raw(t, p.url, "POST / HTTP/1.1\r\nHost: x\r\nTransfer-Encoding: chunked\r\n\r\n3\r\nabc\r\n") // and leaves
		until(t, "it has a slot", func() bool { return p.metric(inUse) == "1" })
		_ = conn.Close()
		until(t, "the slot is free", func() bool { return p.metric(inUse) == "0" })
	}
	if n := p.metric("firqproxy_upstream_errors_total"); n != "0" {
		t.Errorf("%q errors of the upstream\n%s", n, p.logged())
	}
}

// TestInformational: responses 1xx are passed on, and the final one still says how the rate stands; so does one that is a 502.
func TestInformational(t *testing.T) {
	u := newUpstream(t, func(w http.ResponseWriter, r *http.Request) {
		w.Header().Set("Link", "</style.css>; rel=preload")
		w.WriteHeader(http.StatusEarlyHints)
		if r.URL.Path == "/dies" {
			panic(http.ErrAbortHandler)
		}
		w.Header().Set("Ratelimit", `"inner";r=1`)
		_, _ = io.WriteString(w, "hello")
	})
	p := start(t, "upstream: "+u.URL+"\nlimits: {slots: 1}\nrate: {per_second: 1, burst: 100}\n")
	for path, want := range map[string]int{"/": http.StatusOK, "/dies": http.StatusBadGateway} {
		in := bufio.NewReader(raw(t, p.url, "GET "+path+" HTTP/1.1\r\nHost: x\r\n\r\n"))
		resp, err := http.ReadResponse(in, nil)
		if err != nil {
			t.Fatal(err)
		}
		if resp.StatusCode != http.StatusEarlyHints || resp.Header.Get("Link") == "" {
			t.Errorf("%d %v", resp.StatusCode, resp.Header)
		}
		if resp, err = http.ReadResponse(in, nil); err != nil {
			t.Fatal(err)
		}
		limits := resp.Header["Ratelimit"]
		if resp.StatusCode != want || len(resp.Header["Ratelimit-Policy"]) != 1 || len(limits) < 1 || !strings.HasPrefix(limits[0], `"default";r=`) {
			t.Errorf("%d %v", resp.StatusCode, resp.Header)
		}
		if want == http.StatusOK && (len(limits) != 2 || resp.Header.Get("Link") == "") {
			t.Errorf("%v", resp.Header)
		}
	}
}
