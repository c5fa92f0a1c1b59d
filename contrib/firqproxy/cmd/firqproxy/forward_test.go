package main

import (
	"bufio"
	"context"
	"fmt"
	"io"
	"net/http"
	"net/http/httptest"
	"strings"
	"testing"
)

// TestForwards: path, query, Host and body come as they were sent, and so does the answer.
func TestForwards(t *testing.T) {
	u := newUpstream(t, func(w http.ResponseWriter, r *http.Request) {
		body, _ := io.ReadAll(r.Body)
		w.Header().Set("Trailer", "X-Sum")
		w.Header().Set("X-Answer", "yes")
		w.WriteHeader(http.StatusTeapot)
		h := r.Header
		_, _ = fmt.Fprintln(w, r.Method, r.RequestURI, r.Host, string(body), h["X-Forwarded-For"], h["X-Forwarded-Host"], h["X-Forwarded-Proto"], h["Accept-Encoding"], h["X-Multi"])
		w.Header().Set("X-Sum", "42")
	})
	for base, path := range map[string]string{"": "/a%2Fb//c?x=%zz&y;z", "/base": "/base/a%2Fb//c?x=%zz&y;z"} {
		p := start(t, "upstream: "+u.URL+base+"\nlimits: {slots: 2}\n")
		c := raw(t, p.url, "POST /a%2Fb//c?x=%zz&y;z HTTP/1.1\r\nHost: shop.example:99\r\nContent-Length: 4\r\nX-Forwarded-For: 10.1.2.3\r\nX-Multi: a\r\nX-Multi: b\r\nAccept-Encoding: br\r\nConnection: X-Secret\r\nX-Secret: 1\r\n\r\nbody")
		resp, err := http.ReadResponse(bufio.NewReader(c), nil)
		if err != nil {
			t.Fatal(err)
		}
		body, err := io.ReadAll(resp.Body)
		if err != nil {
			t.Fatal(err)
		}
		want := "POST " + path + " shop.example:99 body [10.1.2.3, 127.0.0.1] [shop.example:99] [http] [br] [a b]\n"
		if string(body) != want || resp.StatusCode != http.StatusTeapot || resp.Header.Get("X-Answer") != "yes" || resp.Trailer.Get("X-Sum") != "42" {
			t.Errorf("%s%v %v\nwant %s", body, resp.StatusCode, resp.Header, want)
		}
	}
}

// TestTrusted: what a trusted proxy says of the client stays, and its chains go on; what another says does not.
func TestTrusted(t *testing.T) {
	u := newUpstream(t, func(w http.ResponseWriter, r *http.Request) {
		h := r.Header
		_, _ = fmt.Fprint(w, h["X-Forwarded-For"], h["X-Forwarded-Host"], h["X-Forwarded-Proto"], h["Forwarded"])
	})
	const says = "X-Forwarded-For: 10.1.2.3\r\nX-Forwarded-Host: shop.example\r\nX-Forwarded-Proto: https\r\nForwarded: for=10.1.2.3;proto=https\r\n"
	for _, c := range []struct{ trusted, says, want string }{
		{"", says, "[10.1.2.3, 127.0.0.1] [inner] [http] []"},
		{"trusted: [10.0.0.0/8]\n", says, "[127.0.0.1] [inner] [http] []"},
		{"trusted: [127.0.0.0/8]\n", says, "[10.1.2.3, 127.0.0.1] [shop.example] [https] [for=10.1.2.3;proto=https for=127.0.0.1]"},
		{"trusted: [127.0.0.0/8]\n", "", "[127.0.0.1] [inner] [http] []"},
	} {
		p := start(t, "upstream: "+u.URL+"\nlimits: {slots: 2}\n"+c.trusted)
		conn := raw(t, p.url, "GET / HTTP/1.1\r\nHost: inner\r\n"+c.says+"\r\n")
		resp, err := http.ReadResponse(bufio.NewReader(conn), nil)
		if err != nil {
			t.Fatal(err)
		}
		if body, err := io.ReadAll(resp.Body); err != nil || string(body) != c.want {
			t.Errorf("%q: %s %v\nwant %s", c.trusted, body, err, c.want)
		}
	}
}

// TestStreams: each piece is passed on when it comes, of a known length or not.
func TestStreams(t *testing.T) {
	next := make(chan struct{})
	u := newUpstream(t, func(w http.ResponseWriter, r *http.Request) {
		if length := r.URL.Query().Get("length"); length != "" {
			w.Header().Set("Content-Length", length)
		}
		for i := range 3 {
			_, _ = fmt.Fprintln(w, "piece", i)
			_ = http.NewResponseController(w).Flush()
			<-next
		}
	})
	p := start(t, "upstream: "+u.URL+"\nlimits: {slots: 2}\ncost: {response: openai}\n")
	for _, length := range []string{"", "24", "100000"} {
		resp, err := client.Get(p.url + "/?length=" + length)
		if err != nil {
			t.Fatal(err)
		}
		if got := resp.Header.Get("Content-Length"); got != length {
			t.Errorf("Content-Length %q, want %q", got, length)
		}
		lines := bufio.NewScanner(resp.Body)
		for i := range 3 {
			if !lines.Scan() || lines.Text() != fmt.Sprint("piece ", i) {
				t.Fatalf("%q, %v", lines.Text(), lines.Err())
			}
			next <- struct{}{}
		}
		_ = resp.Body.Close()
	}
}

// Metrics.
const (
	inUse   = `firq_gate_in_use{scheduler="proxy"}`
	waiting = `firq_gate_waiting{scheduler="proxy"}`
	served  = `firq_requests_served_total{protocol="http",scheduler="proxy"}`
)

// TestUpgrade: an upgraded connection holds its slot until it is closed.
func TestUpgrade(t *testing.T) {
	u := newUpstream(t, func(w http.ResponseWriter, _ *http.Request) {
		w.Header().Set("Connection", "Upgrade")
		w.Header().Set("Upgrade", "echo")
		w.WriteHeader(http.StatusSwitchingProtocols)
		c, rw, err := http.NewResponseController(w).Hijack()
		if err != nil {
			return
		}
		defer func() { _ = c.Close() }()
		_, _ = io.Copy(c, rw)
	})
	p := start(t, "upstream: "+u.URL+"\nlimits: {slots: 2}\ncost: {response: openai}\n")
	c := raw(t, p.url, "GET / HTTP/1.1\r\nHost: x\r\nConnection: Upgrade\r\nUpgrade: echo\r\n\r\n")
	r := bufio.NewReader(c)
	resp, err := http.ReadResponse(r, nil)
	if err != nil || resp.StatusCode != http.StatusSwitchingProtocols {
		t.Fatal(err, resp)
	}
	if _, err := io.WriteString(c, "ping\n"); err != nil {
		t.Fatal(err)
	}
	if line, err := r.ReadString('\n'); line != "ping\n" {
		t.Fatal(line, err)
	}
	if n := p.metric(inUse); n != "1" {
		t.Errorf("in use: %q", n)
	}
	_ = c.Close()
	until(t, "the slot is free", func() bool { return p.metric(inUse) == "0" })
}

// TestDeadUpstream: 502, no slot is held, and one line a second at most.
func TestDeadUpstream(t *testing.T) {
	dead := httptest.NewServer(nil)
	dead.Close()
	p := start(t, "upstream: "+dead.URL+"\nlimits: {slots: 1}\n")
	for range 50 {
		if resp, body := p.get(p.url, ""); resp.StatusCode != http.StatusBadGateway || body == "" {
			t.Errorf("%d %s", resp.StatusCode, body)
		}
	}
	if n := p.metric("firqproxy_upstream_errors_total"); n != "50" {
		t.Errorf("%q errors", n)
	}
	until(t, "the slot is free", func() bool { return p.metric(inUse) == "0" })
	if n := strings.Count(p.logged(), "does not answer"); n < 1 || n > 25 {
		t.Errorf("%d lines", n)
	}
}

// TestClientGoes: a client that goes away frees its slot, or its place, and is no error of the
// upstream.
func TestClientGoes(t *testing.T) {
	u := newUpstream(t, hello)
	p := start(t, "upstream: "+u.URL+"\nlimits: {slots: 1}\ntenant: [{header: X-Tenant}]\n")
	leaves := func(path string) func() {
		ctx, cancel := context.WithCancel(context.Background())
		done := make(chan error, 1)
		r, _ := http.NewRequestWithContext(ctx, http.MethodGet, p.url+path, nil)
		go func() { _, err := client.Do(r); done <- err }()
		return func() {
			cancel()
			if <-done == nil {
				t.Error("no error")
			}
		}
	}
	held := leaves("/hold")
	u.isHeld(t)
	waits := leaves("/")
	until(t, "one waits", func() bool { return p.metric(waiting) == "1" })
	waits()
	until(t, "its place is free", func() bool { return p.metric(waiting) == "0" })
	held()
	until(t, "the slot is free", func() bool { return p.metric(inUse) == "0" })
	if _, body := p.get(p.url, ""); body != "hello" {
		t.Error(body)
	}
	if n := p.metric("firqproxy_upstream_errors_total"); n != "0" {
		t.Errorf("%q errors", n)
	}
}
