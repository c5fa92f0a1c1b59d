package main

import (
	"fmt"
	"io"
	"net/http"
	"os"
	"path/filepath"
	"strings"
	"testing"

	"github.com/firq-go/firq/firqhttp"
)

// TestRates: a tenant that has used its rate gets 429, and the headers say so; others do not.
func TestRates(t *testing.T) {
	u := newUpstream(t, hello)
	p := start(t, "upstream: "+u.URL+`
limits: {slots: 2}
tenant: [{header: X-Tenant}]
anonymous: nobody
skip: [/health]
rate: {per_second: 0.001, burst: 10}
tenants: {gold: {rate: {per_second: 0.001, burst: 20}}, free: {rate: {}}}
cost: {default: 4, header: X-Cost}
`)
	for i, c := range []struct {
		path, tenant, cost string
		status             int
		limit              string
	}{
		{"/", "a", "", 200, "r=6;t=4000"},
		{"/", "a", "3", 200, "r=3;t=7000"},
		{"/", "a", "-3", 429, "r=3;t=7000"}, // as if there were none: 4
		{"/health", "a", "", 200, ""},
		{"/", "gold", "20", 200, "r=0;t=20000"},
		{"/", "free", "9223372036854775807", 200, ""},
		{"/", "", "x", 200, "r=6;t=4000"},
		{"/", "nobody", "", 200, "r=2;t=8000"},
	} {
		r, _ := http.NewRequest(http.MethodGet, p.url+c.path, nil)
		if c.cost != "" {
			r.Header.Set("X-Cost", c.cost)
		}
		resp, body := p.do(r, c.tenant)
		_, limit, _ := strings.Cut(resp.Header.Get("RateLimit"), ";")
		if resp.StatusCode != c.status || limit != c.limit || (c.status == 200) != (body == "hello") || (c.status == 429) != (resp.Header.Get("Retry-After") == "1000") {
			t.Errorf("%d: %d %q %v", i, resp.StatusCode, body, resp.Header)
		}
	}
}

// TestKeysCount: only the keys of the file are tenants; a key is not logged, nor exposed.
func TestKeysCount(t *testing.T) {
	u := newUpstream(t, hello)
	keys := filepath.Join(t.TempDir(), "keys.txt")
	if err := os.WriteFile(keys, []byte("k-one\nk-two\n"), 0o600); err != nil {
		t.Fatal(err)
	}
	p := start(t, "upstream: "+u.URL+`
limits: {slots: 2}
tenant: [{api_key: {keys_file: `+keys+`}}, {path_segments: 1}]
rate: {per_second: 0.001, burst: 1}
tenants: {`+firqhttp.KeyTenant("k-two")+`: {rate: {per_second: 0.001, burst: 9}}}
`)
	ask := func(path, key string) string {
		r, _ := http.NewRequest(http.MethodGet, p.url+path, nil)
		if key != "" {
			r.Header.Set("Authorization", "Bearer "+key)
		}
		resp, _ := p.do(r, "")
		return fmt.Sprintf("%d%s", resp.StatusCode, resp.Header.Get("RateLimit"))
	}
	for i, c := range [][3]string{
		{"/x", "k-one", `200"default";r=0;t=1000`},
		{"/y", "k-one", `429"default";r=0;t=1000`},
		{"/y", "k-two", `200"default";r=8;t=1000`},
		{"/x/1", "invented", `200"default";r=0;t=1000`},
		{"/x/2", "invented again", `429"default";r=0;t=1000`},
	} {
		if got := ask(c[0], c[1]); got != c[2] {
			t.Errorf("%d: %s, want %s", i, got, c[2])
		}
	}
	_, exposed := p.get(p.admin+"/metrics", "")
	if strings.Contains(p.logged()+exposed, "k-one") {
		t.Error("a key is shown")
	}
}

// TestUsageIsCharged: a tenant pays what the response says, as far as it says so.
func TestUsageIsCharged(t *testing.T) {
	letGo := make(chan struct{})
	u := newUpstream(t, func(w http.ResponseWriter, r *http.Request) {
		if r.Header.Get("Accept-Encoding") != "identity" {
			t.Errorf("Accept-Encoding: %q", r.Header["Accept-Encoding"])
		}
		switch r.URL.Path {
		case "/json":
			w.Header().Set("Content-Type", "application/json")
			_, _ = io.WriteString(w, `{"text":"`+strings.Repeat("x", 100_000)+`","usage":{"prompt_tokens":20,"completion_tokens":30,"total_tokens":50}}`)
		case "/sse":
			w.Header().Set("Content-Type", "text/event-stream")
			for i := range 100 {
				_, _ = fmt.Fprintf(w, "data: {\"n\":%d,\"usage\":null}\n\n", i)
			}
			_, _ = io.WriteString(w, "data: {\"usage\":{\"input_tokens\":30,\"output_tokens\":70}}\n\ndata: [DONE]\n\n")
		case "/text":
			_, _ = io.WriteString(w, `"usage":{"total_tokens":50}`)
		case "/cut":
			w.Header().Set("Content-Type", "text/event-stream")
			_, _ = io.WriteString(w, "data: {}\n\n")
			_ = http.NewResponseController(w).Flush()
			<-letGo
		}
	})
	p := start(t, "upstream: "+u.URL+`
limits: {slots: 2}
tenant: [{header: X-Tenant}]
rate: {per_second: 0.001, burst: 1000}
cost: {default: 10, response: openai}
`)
	left := func() string {
		resp, _ := p.get(p.url+"/text", "a") // costs 10
		_, rest, _ := strings.Cut(resp.Header.Get("RateLimit"), "r=")
		rest, _, _ = strings.Cut(rest, ";")
		return rest
	}
	for _, c := range [][2]string{{"/json", "940"}, {"/sse", "830"}, {"/text", "810"}} {
		p.get(p.url+c[0], "a")
		if got := left(); got != c[1] {
			t.Errorf("after %s: %s left, want %s", c[0], got, c[1])
		}
	}
	r, _ := http.NewRequest(http.MethodGet, p.url+"/cut", nil)
	r.Header.Set("X-Tenant", "a")
	resp, err := client.Do(r)
	if err != nil {
		t.Fatal(err)
	}
	_ = resp.Body.Close()
	close(letGo)
	until(t, "the slot is free", func() bool { return p.metric(inUse) == "0" })
	if got := left(); got != "790" {
		t.Errorf("after a client that left: %s left", got)
	}
}

// TestHeaderIsCharged: the same by a header of the response.
func TestHeaderIsCharged(t *testing.T) {
	u := newUpstream(t, func(w http.ResponseWriter, r *http.Request) { w.Header().Set("X-Used", r.URL.Query().Get("n")) })
	p := start(t, "upstream: "+u.URL+"\nlimits: {slots: 2}\nrate: {per_second: 0.001, burst: 1000}\ncost: {default: 10, response: \"header:x-used\"}\n")
	for _, c := range [][2]string{{"100", "990"}, {"x", "890"}, {"-5", "880"}, {"0", "870"}, {"1", "870"}} { // what is left before it is charged
		resp, _ := p.get(p.url+"/?n="+c[0], "")
		if _, limit, _ := strings.Cut(resp.Header.Get("RateLimit"), ";"); !strings.HasPrefix(limit, "r="+c[1]+";") {
			t.Errorf("n=%s: %s, want %s", c[0], limit, c[1])
		}
	}
}

// TestTurns: while one floods, another's request is next; of equals each has half.
func TestTurns(t *testing.T) {
	u := newUpstream(t, hello)
	p := start(t, "upstream: "+u.URL+"\nlimits: {slots: 1, waiting_per_tenant: 20}\ntenant: [{header: X-Tenant}]\n")
	first := p.slow("/hold", "noisy")
	u.isHeld(t)
	var order []<-chan string
	for range 20 {
		order = append(order, p.slow("/hold", "noisy"))
	}
	until(t, "20 wait", func() bool { return p.metric(waiting) == "20" })
	quiet := p.slow("/", "quiet")
	until(t, "21 wait", func() bool { return p.metric(waiting) == "21" })
	if resp, _ := p.get(p.url, "noisy"); resp.StatusCode != http.StatusTooManyRequests {
		t.Errorf("a 21st of the tenant: %d", resp.StatusCode)
	}
	u.letGo <- struct{}{}
	if got := <-first; got != "200 held" {
		t.Error(got)
	}
	if got := <-quiet; got != "200 hello" { // though 20 came before it, of which at most one was held
		t.Error(got)
	}
	close(u.letGo)
	for _, c := range order {
		if got := <-c; got != "200 held" {
			t.Error(got)
		}
	}
}
