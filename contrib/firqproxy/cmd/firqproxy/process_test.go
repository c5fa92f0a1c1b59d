package main

import (
	"bufio"
	"context"
	"fmt"
	"io"
	"net"
	"net/http"
	"net/http/httptest"
	"os"
	"os/exec"
	"path/filepath"
	"regexp"
	"strings"
	"sync"
	"syscall"
	"testing"
	"time"
)

// inside is set in the environment of a test binary that is to be firqproxy.
const inside = "FIRQPROXY_TEST_EXECUTE"

func TestMain(m *testing.M) {
	if os.Getenv(inside) != "" {
		os.Exit(execute(os.Args[1:], os.Stdout, os.Stderr))
	}
	os.Exit(m.Run())
}

// enough is when a test that waits has failed.
const enough = 20 * time.Second

// until waits for something that other processes bring about.
func until(t *testing.T, what string, ok func() bool) {
	t.Helper()
	for limit := time.Now().Add(enough); !ok(); time.Sleep(time.Millisecond) {
		if time.Now().After(limit) {
			t.Fatalf("never: %s", what)
		}
	}
}

// process is a firqproxy that runs.
type process struct {
	t          *testing.T
	cmd        *exec.Cmd
	file       string
	url, admin string
	ended      chan struct{} // closed when it has

	mu  sync.Mutex
	log strings.Builder
}

var addresses = regexp.MustCompile(`msg=forwarding listen=(\S+) admin=(\S+)`)

// start starts one with this configuration, on free ports.
func start(t *testing.T, text string) *process {
	t.Helper()
	p := &process{t: t, file: filepath.Join(t.TempDir(), "firqproxy.yaml"), ended: make(chan struct{})}
	p.write(text)
	p.cmd = exec.Command(os.Args[0], "run", "-c", p.file)
	p.cmd.Env = append(os.Environ(), inside+"=1")
	stderr, err := p.cmd.StderrPipe()
	if err != nil {
		t.Fatal(err)
	}
	if err := p.cmd.Start(); err != nil {
		t.Fatal(err)
	}
	go func() {
		defer close(p.ended)
		for lines := bufio.NewScanner(stderr); lines.Scan(); {
			p.mu.Lock()
			p.log.WriteString(lines.Text() + "\n")
			p.mu.Unlock()
		}
		_ = p.cmd.Wait()
	}()
	t.Cleanup(func() {
		_ = p.cmd.Process.Kill()
		<-p.ended
		if t.Failed() {
			t.Log(p.logged())
		}
	})
	p.says(addresses.String())
	m := addresses.FindStringSubmatch(p.logged())
	p.url, p.admin = "http://"+m[1], "http://"+m[2]
	return p
}

// write writes the configuration; %s in it is what is listened on.
func (p *process) write(text string) {
	p.t.Helper()
	if err := os.WriteFile(p.file, []byte("listen: 127.0.0.1:0\nadmin: 127.0.0.1:0\n"+text), 0o600); err != nil {
		p.t.Fatal(err)
	}
}

func (p *process) logged() string {
	p.mu.Lock()
	defer p.mu.Unlock()
	return p.log.String()
}

// says waits until the log has what the pattern says.
func (p *process) says(pattern string) {
	p.t.Helper()
	re := regexp.MustCompile(pattern)
	until(p.t, "the log says "+pattern, func() bool {
		select {
		case <-p.ended:
			if !re.MatchString(p.logged()) {
				p.t.Fatalf("it ended, and said\n%s", p.logged())
			}
		default:
		}
		return re.MatchString(p.logged())
	})
}

func (p *process) signal(s syscall.Signal) {
	p.t.Helper()
	if err := p.cmd.Process.Signal(s); err != nil {
		p.t.Fatal(err)
	}
}

// ends waits for its end, and fails unless it has this exit code.
func (p *process) ends(code int) {
	p.t.Helper()
	select {
	case <-p.ended:
	case <-time.After(enough):
		p.t.Fatal("it does not end")
	}
	if got := p.cmd.ProcessState.ExitCode(); got != code {
		p.t.Errorf("exit code %d, want %d", got, code)
	}
}

// metric returns the value of a metric, as it is exposed.
func (p *process) metric(name string) string {
	p.t.Helper()
	_, body := p.get(p.admin+"/metrics", "")
	for line := range strings.Lines(body) {
		if value, ok := strings.CutPrefix(line, name+" "); ok {
			return strings.TrimSpace(value)
		}
	}
	return ""
}

// get sends a request of a tenant.
func (p *process) get(url, tenant string) (*http.Response, string) {
	p.t.Helper()
	r, err := http.NewRequest(http.MethodGet, url, nil)
	if err != nil {
		p.t.Fatal(err)
	}
	return p.do(r, tenant)
}

func (p *process) do(r *http.Request, tenant string) (*http.Response, string) {
	p.t.Helper()
	if tenant != "" {
		r.Header.Set("X-Tenant", tenant)
	}
	ctx, cancel := context.WithTimeout(r.Context(), enough)
	defer cancel()
	resp, err := client.Do(r.WithContext(ctx))
	if err != nil {
		p.t.Fatal(err)
	}
	defer func() { _ = resp.Body.Close() }()
	body, err := io.ReadAll(resp.Body)
	if err != nil {
		p.t.Fatal(err)
	}
	return resp, string(body)
}

var client = &http.Client{Transport: &http.Transport{MaxIdleConnsPerHost: 100, DisableCompression: true}}

// slow starts a GET whose answer, or error, comes later.
func (p *process) slow(path, tenant string) <-chan string {
	answer := make(chan string, 1)
	go func() {
		r, _ := http.NewRequest(http.MethodGet, p.url+path, nil)
		r.Header.Set("X-Tenant", tenant)
		resp, err := client.Do(r)
		if err != nil {
			answer <- err.Error()
			return
		}
		defer func() { _ = resp.Body.Close() }()
		body, _ := io.ReadAll(resp.Body)
		answer <- fmt.Sprint(resp.StatusCode, " ", string(body))
	}()
	return answer
}

// upstream is a service that the test decides about: /hold waits until it is let go.
type upstream struct {
	*httptest.Server
	held, letGo chan struct{}
}

func newUpstream(t *testing.T, h http.HandlerFunc) *upstream {
	u := &upstream{held: make(chan struct{}, 100), letGo: make(chan struct{})}
	u.Server = httptest.NewServer(http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
		if r.URL.Path != "/hold" {
			h(w, r)
			return
		}
		u.held <- struct{}{}
		select {
		case <-u.letGo:
			_, _ = io.WriteString(w, "held")
		case <-r.Context().Done():
		}
	}))
	t.Cleanup(func() {
		u.CloseClientConnections()
		u.Close()
	})
	return u
}

// is waits until a request is held.
func (u *upstream) isHeld(t *testing.T) {
	t.Helper()
	select {
	case <-u.held:
	case <-time.After(enough):
		t.Fatal("the upstream gets no request")
	}
}

func hello(w http.ResponseWriter, _ *http.Request) { _, _ = io.WriteString(w, "hello") }

// raw opens a connection, and sends a text.
func raw(t *testing.T, url, text string) net.Conn {
	t.Helper()
	c, err := net.Dial("tcp", strings.TrimPrefix(url, "http://"))
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() { _ = c.Close() })
	_ = c.SetDeadline(time.Now().Add(enough))
	if _, err := io.WriteString(c, text); err != nil {
		t.Fatal(err)
	}
	return c
}
