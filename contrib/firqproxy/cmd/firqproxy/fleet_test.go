package main

import (
	"fmt"
	"io"
	"net"
	"net/http"
	"os/exec"
	"strings"
	"syscall"
	"testing"
	"time"
)

// redisServer starts a server of this binary on a free port, and returns its address and what
// kills it.
func redisServer(t *testing.T, binary string) (addr string, kill func()) {
	t.Helper()
	path, err := exec.LookPath(binary)
	if err != nil {
		t.Skip(binary + " is not installed")
	}
	l, err := net.Listen("tcp", "127.0.0.1:0")
	if err != nil {
		t.Fatal(err)
	}
	addr = l.Addr().String()
	_ = l.Close()
	_, port, _ := net.SplitHostPort(addr)
	cmd := exec.Command(path, "--port", port, "--bind", "127.0.0.1", "--save", "", "--appendonly", "no", "--requirepass", "open sesame", "--dir", t.TempDir())
	if err := cmd.Start(); err != nil {
		t.Fatal(err)
	}
	killed := false
	kill = func() {
		if !killed {
			killed = true
			_ = cmd.Process.Kill()
			_ = cmd.Wait()
		}
	}
	t.Cleanup(kill)
	until(t, binary+" answers", func() bool {
		c, err := net.Dial("tcp", addr)
		if err != nil {
			return false
		}
		defer func() { _ = c.Close() }()
		_ = c.SetDeadline(time.Now().Add(time.Second))
		_, _ = io.WriteString(c, "PING\r\n")
		n, _ := c.Read(make([]byte, 10))
		return n > 0
	})
	return addr, kill
}

const fleet = `
limits: {slots: 1, waiting: 100}
tenant: [{header: X-Tenant}]
rate: {per_second: 0.001, burst: 4}
fleet: {redis: "redis://:${FIRQPROXY_TEST_PASSWORD}@%s/0", name: shop, lease: 1s, when_down: %s}
`

// fleetInUse is the metric of the slots that requests of a process have.
const fleetInUse = `firq_fleet_in_use{scheduler="proxy"}`

// TestFleet: slots and rates are those of all processes; who ends gives its slots back.
func TestFleet(t *testing.T) {
	t.Setenv("FIRQPROXY_TEST_PASSWORD", "open%20sesame")
	for _, binary := range []string{"redis-server", "valkey-server"} {
		t.Run(binary, func(t *testing.T) {
			addr, _ := redisServer(t, binary)
			u := newUpstream(t, hello)
			text := "upstream: " + u.URL + fmt.Sprintf(fleet, addr, "wait")
			a, b := start(t, text), start(t, text)
			held := a.slow("/hold", "a")
			u.isHeld(t)
			waits := b.slow("/", "b")
			until(t, "one waits in the other process", func() bool {
				return b.metric(`firq_fleet_waiting{scheduler="proxy"}`) == "1" && a.metric(fleetInUse) == "1" && b.metric(fleetInUse) == "0"
			})
			u.letGo <- struct{}{}
			if got := <-held; got != "200 held" {
				t.Error(got)
			}
			if got := <-waits; got != "200 hello" {
				t.Error(got)
			}
			served := 0
			for i := range 8 { // of a rate of 4
				p := []*process{a, b}[i%2]
				resp, _ := p.get(p.url, "c")
				if resp.StatusCode == http.StatusOK {
					served++
				}
			}
			if served != 4 {
				t.Errorf("%d served of a burst of 4", served)
			}
			held = a.slow("/hold", "d")
			u.isHeld(t)
			waits = b.slow("/", "d")
			a.signal(syscall.SIGTERM)
			a.says("draining")
			close(u.letGo)
			if got := <-held; got != "200 held" {
				t.Error(got)
			}
			a.ends(0)
			if got := <-waits; got != "200 hello" {
				t.Error(got)
			}
			b.write(strings.Replace(text, "slots: 1", "slots: 3", 1))
			b.signal(syscall.SIGHUP)
			until(t, "the fleet has three slots", func() bool { return b.metric(`firq_fleet_limit{scheduler="proxy"}`) == "3" })
			b.write(strings.Replace(text, "slots: 1", "slots: 1, in_flight_per_tenant: 1", 1))
			b.signal(syscall.SIGHUP)
			b.says("in_flight_per_tenant: the first limit .* needs a restart")
			b.write(strings.Replace(text, "name: shop", "name: other", 1))
			b.signal(syscall.SIGHUP)
			b.says("fleet: a change needs a restart")
			if logs := a.logged() + b.logged(); strings.Contains(logs, "sesame") {
				t.Error("the password is logged")
			}
		})
	}
}

// TestFleetAway: without the server a fleet refuses, or goes on, as when_down says.
func TestFleetAway(t *testing.T) {
	t.Setenv("FIRQPROXY_TEST_PASSWORD", "open%20sesame")
	addr, kill := redisServer(t, "redis-server")
	u := newUpstream(t, hello)
	refuses, shares := start(t, "upstream: "+u.URL+fmt.Sprintf(fleet, addr, "refuse")), start(t, "upstream: "+u.URL+fmt.Sprintf(fleet, addr, "share"))
	for _, p := range []*process{refuses, shares} {
		if resp, body := p.get(p.url, "a"); resp.StatusCode != http.StatusOK {
			t.Fatal(resp.StatusCode, body)
		}
	}
	kill()
	resp, body := refuses.get(refuses.url, "b")
	if resp.StatusCode != http.StatusServiceUnavailable || !strings.Contains(body, `"unavailable"`) || resp.Header.Get("Retry-After") == "" {
		t.Errorf("refuse: %d %s", resp.StatusCode, body)
	}
	if resp, body := shares.get(shares.url, "b"); resp.StatusCode != http.StatusOK {
		t.Errorf("share: %d %s", resp.StatusCode, body)
	}
}
