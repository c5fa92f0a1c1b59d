package main

import (
	"context"
	"encoding/json"
	"io"
	"net"
	"net/http"
	"net/url"
	"os"
	"strings"
	"testing"
	"time"

	"github.com/firq-go/firq/queue"
)

// serving is firqd serve while it runs.
type serving struct {
	*bed
	served
	client    http.Client
	interrupt context.CancelFunc
	ended     chan int
	out, err  *watcher
}

func (b *bed) serve(args ...string) *serving {
	b.Helper()
	ctx, cancel := context.WithCancel(b.Context())
	said := make(chan struct{}, 1)
	s := &serving{bed: b, interrupt: cancel, ended: make(chan int, 1), err: &watcher{}}
	s.out = &watcher{marker: "}\n", left: 1, then: func() { said <- struct{}{} }}
	s.err.then = func() {}
	go func() {
		p := program{nil, s.out, s.err, b.env}
		s.ended <- p.execute(ctx, append([]string{"serve", "--json", "--listen", "localhost:0"}, args...))
	}()
	transport := &http.Transport{}
	b.Cleanup(transport.CloseIdleConnections)
	s.client = http.Client{Transport: transport, Timeout: patience, CheckRedirect: func(*http.Request, []*http.Request) error { return http.ErrUseLastResponse }}
	select {
	case <-said:
	case code := <-s.ended:
		b.Fatalf("it has ended with %d: %s", code, s.err.text())
	case <-time.After(patience):
		b.Fatal("it says nothing")
	}
	if err := json.Unmarshal([]byte(s.out.text()), &s.served); err != nil {
		b.Fatal(err)
	}
	return s
}

// end interrupts serve, as Ctrl-C does, and checks how it ends.
func (s *serving) end() {
	s.Helper()
	s.interrupt()
	select {
	case code := <-s.ended:
		if code != exitOK || s.err.text() != "" {
			s.Errorf("exit code %d: %s", code, s.err.text())
		}
	case <-time.After(patience):
		s.Fatal("Ctrl-C does not end it")
	}
}

func (s *serving) get(address string) (int, string) {
	s.Helper()
	resp, err := s.client.Get(address)
	if err != nil {
		s.Fatal(err)
	}
	defer resp.Body.Close()
	text, err := io.ReadAll(resp.Body)
	if err != nil {
		s.Fatal(err)
	}
	return resp.StatusCode, string(text)
}

// The page, metrics and health are there, tasks of schedules are queued, and Ctrl-C ends it all.
func TestServe(t *testing.T) {
	b := newBed(t)
	b.env["FIRQ_QUEUE_DEAD_LETTERS_FOR"] = "1ms"
	b.wants(exitOK, []string{"schedule", "put", "tick", `{"n":1}`, "--cron", "* * * * * *", "--tenant", "clock"})
	s := b.serve()
	if !strings.HasPrefix(s.URL, "http://127.0.0.1:") || !strings.HasPrefix(s.SignIn, s.URL+"?token=") || len(s.SignIn) < len(s.URL)+20 {
		t.Fatalf("%+v", s.served)
	}
	ctx, cancel := context.WithTimeout(t.Context(), patience)
	defer cancel()
	it, err := b.queue().Dequeue(ctx)
	if err != nil || it.Tenant != "clock" || !strings.HasPrefix(it.ID, "tick@20") || string(it.Payload) != `{"n":1}` {
		t.Fatal(it, err)
	}
	if code, text := s.get(s.URL); code != http.StatusOK || !strings.Contains(text, "Queue default") || !strings.Contains(text, "clock") {
		t.Errorf("%d\n%s", code, text)
	}
	if code, _ := s.get(s.SignIn); code != http.StatusSeeOther {
		t.Errorf("sign in: %d", code)
	}
	if code, _ := s.get(s.URL + "?token=x"); code != http.StatusForbidden {
		t.Errorf("sign in with another token: %d", code)
	}
	if code, text := s.get(s.URL + "healthz"); code != http.StatusOK || !strings.Contains(text, `"OK":true`) {
		t.Errorf("%d\n%s", code, text)
	}
	if code, text := s.get(s.URL + "metrics"); code != http.StatusOK || !strings.Contains(text, `firq_queue_in_flight{engine="redis",queue="default"} 1`) ||
		!strings.Contains(text, "firq_queue_script_seconds_count") || !strings.Contains(text, "firq_queue_ready_tenants") {
		t.Errorf("%d\n%s", code, text)
	}
	b.dead(b.queue(), "kept")
	b.want(exitOK, "enqueue --tenant late --delay 300ms 1") // no worker runs, so serve itself has to move it when it is due
	for end := time.Now().Add(patience); ; time.Sleep(10 * time.Millisecond) {
		if all := read[[]queue.TenantStats](b, exitOK, "tenants", "show", "late"); len(all) == 1 && all[0].Queued == 1 && all[0].Delayed == 0 {
			break
		}
		if time.Now().After(end) {
			t.Fatal("serve does not bring in what is due")
		}
	}
	b.want(exitOK, "dlq list", "kept") // serve deletes none: how long they stay is a setting of the workers' programs
	readme, err := os.ReadFile("README.md")
	if err != nil {
		t.Fatal(err)
	}
	_, metrics := s.get(s.URL + "metrics")
	for line := range strings.Lines(metrics) {
		if f := strings.Fields(line); f[0] == "#" && f[1] == "TYPE" && !strings.Contains(string(readme), "`"+f[2]+"`") {
			t.Errorf("README.md does not have %s", f[2])
		}
	}
	_, token, _ := strings.Cut(s.SignIn, "=")
	resp, err := s.client.PostForm(s.URL+"pause", url.Values{"token": {token}})
	if err != nil {
		t.Fatal(err)
	}
	_ = resp.Body.Close()
	if resp.StatusCode != http.StatusSeeOther || !read[queue.Stats](b, exitOK, "stats").Paused {
		t.Errorf("pause: %s", resp.Status)
	}
	b.want(exitFailed, "serve --listen "+strings.Trim(strings.TrimPrefix(s.URL, "http:"), "/"), "serve.listen", "in use")
	s.end()
	if _, err := net.DialTimeout("tcp", strings.Trim(strings.TrimPrefix(s.URL, "http:"), "/"), time.Second); err == nil {
		t.Error("it is still listening")
	}
}

// serve does not print a token that the user has set, and with the right option it leaves schedules
// to other processes.
func TestServeSettings(t *testing.T) {
	b := newBed(t)
	b.env["FIRQ_SERVE_TOKEN"], b.env["FIRQ_SERVE_HOSTS"], b.env["FIRQ_QUEUE_NAME"] = "0123456789abcdef", "firq.example", "mail"
	b.wants(exitOK, []string{"schedule", "put", "tick", "1", "--cron", "* * * * * *"})
	s := b.serve("--no-schedules")
	if s.SignIn != "" || strings.Contains(s.out.text(), b.env["FIRQ_SERVE_TOKEN"]) {
		t.Errorf("it prints %s", s.out.text())
	}
	if code, _ := s.get(s.URL + "?token=0123456789abcdef"); code != http.StatusSeeOther {
		t.Errorf("sign in: %d", code)
	}
	for host, want := range map[string]int{"firq.example": 200, "evil.example": 403} {
		r, err := http.NewRequestWithContext(t.Context(), http.MethodGet, s.URL, nil)
		if err != nil {
			t.Fatal(err)
		}
		r.Host = host
		resp, err := s.client.Do(r)
		if err != nil {
			t.Fatal(err)
		}
		_ = resp.Body.Close()
		if resp.StatusCode != want {
			t.Errorf("%s: %s", host, resp.Status)
		}
	}
	time.Sleep(1200 * time.Millisecond) // the schedule has been due, and must not have fired
	if st := read[queue.Stats](b, exitOK, "stats"); st.Enqueued != 0 {
		t.Errorf("%d tasks of schedules are queued", st.Enqueued)
	}
	s.end()
}

// serve goes on while Redis is away.
func TestServeGoesOn(t *testing.T) {
	b := newBed(t)
	s := b.serve()
	b.server.SetError("LOADING it is away")
	if code, text := s.get(s.URL + "healthz"); code != http.StatusServiceUnavailable || !strings.Contains(text, "it is away") {
		t.Errorf("%d, %s", code, text)
	}
	b.server.SetError("")
	if code, _ := s.get(s.URL + "healthz"); code != http.StatusOK {
		t.Errorf("health once Redis is back: %d, want 200", code)
	}
	s.end()
}
