package main

import (
	"bytes"
	"context"
	"io"
	"net/http"
	"regexp"
	"strings"
	"sync"
	"testing"
	"time"

	"github.com/firq-go/firq/cmd/firqbench/internal/command"
)

func TestLive(t *testing.T) {
	code, out, errOut := call(t, "live", "zipf", "--contestants", "baseline", "--duration", "60ms", "--every", "50ms", "--work", "100ns")
	if code != command.OK || !strings.Contains(out, "whole run") || !strings.Contains(out, "baseline-1") || !strings.Contains(out, "fairness (Jain)") {
		t.Errorf("exit code %d\n%s\n%s", code, out, errOut)
	}
}

// watched is written to while the program runs; it says so on a channel.
type watched struct {
	mu      sync.Mutex
	buf     bytes.Buffer
	written chan struct{}
}

func (w *watched) Write(p []byte) (int, error) {
	w.mu.Lock()
	defer w.mu.Unlock()
	select {
	case w.written <- struct{}{}:
	default:
	}
	return w.buf.Write(p)
}

func (w *watched) String() string {
	w.mu.Lock()
	defer w.mu.Unlock()
	return w.buf.String()
}

// With --listen there is a page while it runs; Ctrl-C ends it in good order, and
// then the page is gone.
func TestLiveListen(t *testing.T) {
	ctx, interrupt := context.WithCancel(t.Context())
	defer interrupt()
	var out bytes.Buffer
	errOut := watched{written: make(chan struct{}, 1)}
	ended := make(chan int, 1)
	go func() {
		ended <- command.Execute(ctx, app, []string{"firqbench", "live", "overload", "--listen", ":0", "--every", "50ms"}, &out, &errOut)
	}()
	var url string
	for url == "" {
		select {
		case <-errOut.written:
		case code := <-ended:
			t.Fatalf("exit code %d\n%s", code, &errOut)
		}
		url = regexp.MustCompile(`http://127\.0\.0\.1:\d+/`).FindString(errOut.String())
	}
	client := &http.Client{Timeout: 30 * time.Second}
	defer client.CloseIdleConnections()
	get := func(path string) string {
		resp, err := client.Get(url + path)
		if err != nil {
			t.Fatal(err)
		}
		defer resp.Body.Close()
		body, err := io.ReadAll(resp.Body)
		if err != nil {
			t.Fatal(err)
		}
		return string(body)
	}
	if page := get(""); !strings.Contains(page, "firqbench live") {
		t.Errorf("got\n%s", page)
	}
	if profile := get("debug/pprof/goroutine?debug=1"); !strings.Contains(profile, "load.(*producer)") && !strings.Contains(profile, "load.(*consumer)") && !strings.Contains(profile, "goroutine profile") {
		t.Errorf("got\n%s", profile)
	}
	interrupt()
	if code := <-ended; code != command.OK || !strings.Contains(out.String(), "whole run") || strings.Contains(errOut.String(), "not only this machine") {
		t.Errorf("exit code %d\n%s\n%s", code, &out, &errOut)
	}
	if _, err := client.Get(url); err == nil {
		t.Error("the page is still there")
	}
}

// run can be looked at too.
func TestRunListen(t *testing.T) {
	code, out, errOut := call(t, append([]string{"run", "uncontended", "--contestants", "channel", "--listen", "127.0.0.1:0"}, tiny...)...)
	if code != command.OK || !strings.Contains(out, "tasks/s") || !strings.Contains(errOut, "see http://127.0.0.1:") {
		t.Errorf("exit code %d\n%s\n%s", code, out, errOut)
	}
	if code, _, errOut := call(t, append([]string{"run", "uncontended", "--listen", "nowhere"}, tiny...)...); code != command.Failed || !strings.Contains(errOut, "--listen: ") {
		t.Errorf("exit code %d\n%s", code, errOut)
	}
}

func TestLiveRefuses(t *testing.T) {
	for _, c := range []struct {
		args string
		code int
		want string
	}{
		{"zip", command.Usage, `unknown scenario "zip"`},
		{"zipf overload", command.Usage, "live runs one SCENARIO, there are 2"},
		{"--contestants lockfree,channel,baseline", command.Usage, "--contestants: 3, must be one or two"},
		{"--contestants nobody", command.Usage, `unknown contestant "nobody"`},
		{"--contestants channel-0", command.Usage, "--contestants: channel-0 takes part in ping_pong only"},
		{"--duration 0s", command.Usage, "--duration: 0s"},
		{"--every 1ms", command.Usage, "--every: 1ms"},
		{"--work 0s,1us", command.Usage, "--work: more than one"},
		{"--rate 1k,2k", command.Usage, "--rate: more than one"},
		{"uncontended --rate 1k", command.Usage, "--rate: uncontended is a closed loop"},
		{"--rate 1k --arrivals ramp", command.Usage, "--arrivals: ramp"},
		{"--tenants 0", command.Usage, "--tenants: 0"},
		{"--listen 6060", command.Failed, "--listen: "},
	} {
		code, out, errOut := call(t, append([]string{"live"}, strings.Fields(c.args)...)...)
		if code != c.code || !strings.Contains(errOut, c.want) || out != "" {
			t.Errorf("live %s: exit code %d, want %d and %q\n%s\n%s", c.args, code, c.code, c.want, out, errOut)
		}
	}
}
