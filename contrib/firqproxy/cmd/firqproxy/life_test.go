package main

import (
	"net/http"
	"strconv"
	"strings"
	"syscall"
	"testing"
	"time"
)

// TestReload: SIGHUP changes the configuration or nothing, and counters go on.
func TestReload(t *testing.T) {
	u := newUpstream(t, hello)
	other := newUpstream(t, func(w http.ResponseWriter, r *http.Request) { _, _ = w.Write([]byte("other")) })
	const first = "\nlimits: {slots: 1, waiting: 100}\ntenant: [{header: X-Tenant}]\n"
	p := start(t, "upstream: "+u.URL+first)
	p.get(p.url, "a")
	held := p.slow("/hold", "a")
	u.isHeld(t)
	waits := p.slow("/", "b")
	until(t, "one waits", func() bool { return p.metric(waiting) == "1" })

	p.write("upstream: " + other.URL + "\nlimits: {slots: 2, waiting: 100, in_flight_per_tenant: 1}\ntenant: [{header: X-Tenant}]\nrate: {per_second: 0.001, burst: 5, wait: 1ms}\n")
	p.signal(syscall.SIGHUP)
	if got := <-waits; got != "200 hello" { // by the new slot, as it was when it came
		t.Error(got)
	}
	p.says("the configuration has changed")
	resp, body := p.get(p.url, "b")
	if body != "other" || !strings.Contains(resp.Header.Get("RateLimit"), "r=4;") {
		t.Errorf("%s %v", body, resp.Header)
	}
	if n := p.metric(`firqproxy_reloads_total{result="ok"}`); n != "1" {
		t.Errorf("%q reloads", n)
	}

	for i, text := range []string{
		"upstream: " + u.URL + "\nlimits: {slots: 0}\n",
		"upstream: " + u.URL + "\nlimits: {slots: 5, waiting: 7}\n",
		"upstreams: 1\n",
	} {
		p.write(text)
		p.signal(syscall.SIGHUP)
		until(t, "it is counted", func() bool { return p.metric(`firqproxy_reloads_total{result="failed"}`) == string(rune('1'+i)) })
	}
	p.says(`the configuration stays as it was.*limits.waiting: a change needs a restart`)
	if n := strings.Count(p.logged(), "configuration"); n != 4 {
		t.Errorf("%d lines for 4 signals", n)
	}
	if _, body := p.get(p.url, "b"); body != "other" {
		t.Error(body)
	}
	if n := p.metric(`firq_gate_limit{scheduler="proxy"}`); n != "2" {
		t.Errorf("%q slots", n)
	}
	close(u.letGo)
	if got := <-held; got != "200 held" {
		t.Error(got)
	}
	if n := p.metric(served); n != "5" {
		t.Errorf("%q served", n)
	}
}

// TestDrain: who waits is served, new connections are not, and it ends with 0.
func TestDrain(t *testing.T) {
	u := newUpstream(t, hello)
	p := start(t, "upstream: "+u.URL+"\nlimits: {slots: 1}\n")
	if resp, _ := p.get(p.admin+"/readyz", ""); resp.StatusCode != 200 {
		t.Errorf("readyz %d", resp.StatusCode)
	}
	held, waits := p.slow("/hold", "a"), (<-chan string)(nil)
	u.isHeld(t)
	waits = p.slow("/", "a")
	until(t, "one waits", func() bool { return p.metric(waiting) == "1" })
	p.signal(syscall.SIGTERM)
	until(t, "it is not ready", func() bool {
		resp, _ := p.get(p.admin+"/readyz", "")
		return resp.StatusCode == 503
	})
	if resp, _ := p.get(p.admin+"/healthz", ""); resp.StatusCode != 200 {
		t.Errorf("healthz %d", resp.StatusCode)
	}
	until(t, "no connection is accepted", func() bool {
		return strings.Contains(<-p.slow("/", "a"), "refused")
	})
	close(u.letGo)
	if got := <-held; got != "200 held" {
		t.Error(got)
	}
	if got := <-waits; got != "200 hello" {
		t.Error(got)
	}
	p.ends(0)
}

// TestDrainEnds: what has not ended in time, or before a second signal, is cut off, upgraded
// connections too: 1.
func TestDrainEnds(t *testing.T) {
	upgrade := func(w http.ResponseWriter, r *http.Request) {
		w.Header().Set("Connection", "Upgrade")
		w.Header().Set("Upgrade", "echo")
		w.WriteHeader(http.StatusSwitchingProtocols)
		if c, _, err := http.NewResponseController(w).Hijack(); err == nil {
			_, _ = c.Read(make([]byte, 1)) // until it is closed
			_ = c.Close()
		}
	}
	for name, drain := range map[string]string{"in time": "100ms", "second signal": "1h", "upgraded": "100ms"} {
		t.Run(name, func(t *testing.T) {
			u := newUpstream(t, upgrade)
			p := start(t, "upstream: "+u.URL+"\nlimits: {slots: 1}\ndrain: "+drain+"\n")
			var held <-chan string
			if name == "upgraded" {
				c := raw(t, p.url, "GET / HTTP/1.1\r\nHost: x\r\nConnection: Upgrade\r\nUpgrade: echo\r\n\r\n")
				if _, err := c.Read(make([]byte, 12)); err != nil {
					t.Fatal(err)
				}
			} else {
				held = p.slow("/hold", "a")
				u.isHeld(t)
			}
			p.signal(syscall.SIGTERM)
			p.says("draining")
			if name == "second signal" {
				p.signal(syscall.SIGHUP) // is none
				p.signal(syscall.SIGINT)
			}
			p.ends(1)
			if held != nil {
				if got := <-held; strings.HasPrefix(got, "200") {
					t.Error(got)
				}
			}
		})
	}
}

// TestUpgradedDrains: an upgraded connection that is closed in time is no failure.
func TestUpgradedDrains(t *testing.T) {
	u := newUpstream(t, func(w http.ResponseWriter, r *http.Request) {
		w.Header().Set("Connection", "Upgrade")
		w.Header().Set("Upgrade", "echo")
		w.WriteHeader(http.StatusSwitchingProtocols)
		if c, _, err := http.NewResponseController(w).Hijack(); err == nil {
			_, _ = c.Read(make([]byte, 1))
			_ = c.Close()
		}
	})
	p := start(t, "upstream: "+u.URL+"\nlimits: {slots: 1}\ndrain: 1m\n")
	c := raw(t, p.url, "GET / HTTP/1.1\r\nHost: x\r\nConnection: Upgrade\r\nUpgrade: echo\r\n\r\n")
	if _, err := c.Read(make([]byte, 12)); err != nil {
		t.Fatal(err)
	}
	p.signal(syscall.SIGTERM)
	p.says("draining")
	select {
	case <-p.ended:
		t.Fatal("it does not wait")
	case <-time.After(50 * time.Millisecond): // it cannot be seen otherwise; a slow machine only sees less
	}
	_ = c.Close()
	p.ends(0)
}

// TestCollects: garbage is collected when some MB have gathered, not each 4 MB.
func TestCollects(t *testing.T) {
	u := newUpstream(t, hello)
	p := start(t, "upstream: "+u.URL+"\nlimits: {slots: 2}\n")
	until(t, "the next collection is far", func() bool {
		n, err := strconv.ParseFloat(p.metric("go_memstats_next_gc_bytes"), 64)
		return err == nil && n >= 2*ballast
	})
}
