package firqhttp

import (
	"bufio"
	"context"
	"fmt"
	"io"
	"net"
	"net/http"
	"net/http/httptest"
	"strings"
	"testing"
	"time"

	"github.com/firq-go/firq/gate"
)

// raw sends a text over its own connection.
func raw(t *testing.T, s *httptest.Server, text string) (net.Conn, *bufio.Reader) {
	t.Helper()
	c, err := net.Dial("tcp", s.Listener.Addr().String())
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() { c.Close() })
	_ = c.SetDeadline(time.Now().Add(10 * time.Second))
	if _, err := io.WriteString(c, text); err != nil {
		t.Fatal(err)
	}
	return c, bufio.NewReader(c)
}

// line reads a line, without its end.
func line(t *testing.T, in *bufio.Reader) string {
	t.Helper()
	text, err := in.ReadString('\n')
	if err != nil {
		t.Fatalf("%q, %v", text, err)
	}
	return strings.TrimSpace(text)
}

// next is what comes next.
func next(t *testing.T, from chan string) string {
	t.Helper()
	select {
	case got := <-from:
		return got
	case <-time.After(10 * time.Second):
		t.Fatal("the handler never runs")
		return ""
	}
}

const (
	whole   = "POST / HTTP/1.1\r\nHost: x\r\nContent-Length: 5\r\n\r\nhello"
	half    = "POST / HTTP/1.1\r\nHost: x\r\nContent-Length: 5\r\n\r\nhe"
	expect  = "POST / HTTP/1.1\r\nHost: x\r\nContent-Length: 5\r\nExpect: 100-continue\r\n\r\n"
	chunked = "POST / HTTP/1.1\r\nHost: x\r\nTransfer-Encoding: chunked\r\n\r\n5\r\nhello\r\n0\r\n\r\n"
	partly  = "POST / HTTP/1.1\r\nHost: x\r\nTransfer-Encoding: chunked\r\n\r\n5\r\nhello\r\n"
)

// A client that goes away while its request waits, or its body is read, is noticed
// immediately: the place is free, and its handler never runs.
func TestGoesAwayWithBody(t *testing.T) {
	for name, c := range map[string]struct {
		cfg     Config
		text    string
		reading bool // it never gets as far as to the gate
	}{
		"GET":                            {text: "GET / HTTP/1.1\r\nHost: x\r\n\r\n"},
		"the whole body":                 {text: whole},
		"an empty body":                  {text: "POST / HTTP/1.1\r\nHost: x\r\nContent-Length: 0\r\n\r\n"},
		"GET with a body":                {text: strings.Replace(whole, "POST", "GET", 1)},
		"half of the body":               {text: half, reading: true},
		"expects a word":                 {text: expect, reading: true},
		"expects, and sends":             {text: expect + "hello"},
		"chunked":                        {text: chunked, cfg: Config{BufferStreams: true}},
		"chunked, expected":              {text: strings.Replace(chunked, "Host", "Expect: 100-Continue\r\nHost", 1), cfg: Config{BufferStreams: true}},
		"half, chunked":                  {text: partly, cfg: Config{BufferStreams: true}, reading: true},
		"chunked, as long as the buffer": {text: chunked, cfg: Config{BufferStreams: true, BufferBody: 5}},
		"as long as the buffer":          {text: whole, cfg: Config{BufferBody: 5}},
		"longer, and not all of it":      {text: half, cfg: Config{BufferBody: 3}, reading: true},
	} {
		t.Run(name, func(t *testing.T) {
			g := gate.New(1, gate.Config[string]{MaxGlobal: 1})
			m := New(g, c.cfg)
			p := hold(t, g)
			defer p.Release()
			s := serve(t, m, func(http.ResponseWriter, *http.Request) { t.Error("it was served") })
			conn, _ := raw(t, s, c.text)
			if c.reading {
				until(t, "its body is read", func() bool { return m.Stats().Reading == 1 && m.Stats().Waiting == 1 })
			} else {
				until(t, "it waits", func() bool { return g.Stats().Queue.QueueLen == 1 && m.Stats().Reading == 0 && m.Stats().Waiting == 1 })
			}
			conn.Close()
			until(t, "its place is free", func() bool { return g.Waiting() == 0 && m.Stats().Waiting == 0 })
			until(t, "it is counted", func() bool { return m.Stats().Rejected[Cancelled] == 1 })
			p.Release()
			idle(t, g, m)
		})
	}
}

// What is known beforehand not to be noticed is not: a body that is longer than
// the buffer, or that is not read, has only a deadline to bound it.
func TestGoesAwayUnnoticed(t *testing.T) {
	for name, c := range map[string]struct {
		cfg  Config
		text string
	}{
		"off":             {Config{BufferBody: -1}, whole},
		"longer":          {Config{BufferBody: 3}, whole},
		"a stream":        {Config{}, chunked},
		"longer, expects": {Config{BufferBody: 3}, expect},
	} {
		t.Run(name, func(t *testing.T) {
			g := gate.New(1, gate.Config[string]{})
			c.cfg.Deadline = func(r *http.Request) (time.Time, error) { return time.Now().Add(50 * time.Millisecond), nil }
			m := New(g, c.cfg)
			p := hold(t, g)
			defer p.Release()
			s := serve(t, m, func(http.ResponseWriter, *http.Request) { t.Error("it was served") })
			conn, _ := raw(t, s, c.text)
			until(t, "it waits", func() bool { return m.Stats().Waiting == 1 || m.Stats().Rejected[Timeout] == 1 })
			conn.Close()
			until(t, "its deadline has passed", func() bool { return m.Stats().Rejected[Timeout] == 1 })
			p.Release()
			idle(t, g, m)
		})
	}
}

// A client that expects a word before it sends its body gets none if the request is rejected
// immediately; else the word comes, and the handler gets the body. No slot is held until the body is
// there.
func TestExpectContinue(t *testing.T) {
	g := gate.New(1, gate.Config[string]{MaxPerTenant: 1})
	m := New(g, Config{})
	bodies := make(chan string, 1)
	s := serve(t, m, func(_ http.ResponseWriter, r *http.Request) {
		body, err := io.ReadAll(r.Body)
		bodies <- fmt.Sprint(string(body), err)
	})
	p := hold(t, g)
	defer p.Release()
	c, in := raw(t, s, expect)
	if got := line(t, in); got != "HTTP/1.1 100 Continue" {
		t.Fatalf("a client that waits gets %q", got)
	}
	if got := line(t, in); got != "" {
		t.Fatal(got)
	}
	_, _ = io.WriteString(c, "hello")
	until(t, "it waits", func() bool { return g.Stats().Queue.QueueLen == 1 })
	_, in2 := raw(t, s, expect)
	if got := line(t, in2); got != "HTTP/1.1 429 Too Many Requests" {
		t.Errorf("a rejected client gets %q first", got)
	}
	p.Release()
	if got := next(t, bodies); got != "hello<nil>" {
		t.Errorf("body %q", got)
	}
	if got := line(t, in); got != "HTTP/1.1 200 OK" {
		t.Error(got)
	}
	idle(t, g, m)

	c, in = raw(t, s, expect)
	if got := line(t, in); got != "HTTP/1.1 100 Continue" {
		t.Errorf("a client for which there is a slot gets %q", got)
	}
	if g.InUse() != 0 || m.Stats().Reading != 1 {
		t.Errorf("it has not sent its body: %d slots in use, %+v", g.InUse(), m.Stats())
	}
	_, _ = io.WriteString(c, "hello")
	if got := next(t, bodies); got != "hello<nil>" {
		t.Errorf("body %q", got)
	}
	g.Close()
	_, in = raw(t, s, expect)
	if got := line(t, in); got != "HTTP/1.1 503 Service Unavailable" {
		t.Errorf("a client that comes after the end gets %q first", got)
	}
	idle(t, g, m)
}

// HTTP/2 notices in any case.
func TestGoesAwayHTTP2(t *testing.T) {
	g := gate.New(1, gate.Config[string]{MaxGlobal: 1})
	m := New(g, Config{})
	p := hold(t, g)
	defer p.Release()
	s := httptest.NewUnstartedServer(m.Handler(http.HandlerFunc(func(http.ResponseWriter, *http.Request) { t.Error("it was served") })))
	s.EnableHTTP2 = true
	s.StartTLS()
	defer s.Close()
	defer s.Client().CloseIdleConnections()
	for n, body := range []io.Reader{strings.NewReader("hello"), io.MultiReader(strings.NewReader("a stream"))} {
		ctx, cancel := context.WithCancel(context.Background())
		r, err := http.NewRequestWithContext(ctx, "POST", s.URL, body)
		if err != nil {
			t.Fatal(err)
		}
		gone := make(chan error, 1)
		go func() {
			_, err := s.Client().Do(r)
			gone <- err
		}()
		until(t, "it waits", func() bool { return g.Stats().Queue.QueueLen == 1 })
		cancel()
		if err := <-gone; err == nil {
			t.Error("it was answered")
		}
		until(t, "it is counted", func() bool { return m.Stats().Rejected[Cancelled] == uint64(n)+1 })
	}
	p.Release()
	idle(t, g, m)
}

// A client that sends its body slowly holds no slot while it sends.
func TestSlowBodyHoldsNoSlot(t *testing.T) {
	g := gate.New(1, gate.Config[string]{})
	m := New(g, Config{})
	bodies := make(chan string, 1)
	s := serve(t, m, func(_ http.ResponseWriter, r *http.Request) {
		body, err := io.ReadAll(r.Body)
		bodies <- fmt.Sprint(string(body), err)
	})
	c, _ := raw(t, s, half)
	until(t, "its body is read", func() bool { return m.Stats().Reading == 1 })
	raw(t, s, whole) // another one is served first
	if got := next(t, bodies); got != "hello<nil>" {
		t.Errorf("body %q", got)
	}
	if m.Stats().Reading != 1 || g.Waiting() != 0 {
		t.Errorf("%+v", m.Stats())
	}
	_, _ = io.WriteString(c, "llo")
	if got := next(t, bodies); got != "hello<nil>" {
		t.Errorf("body %q", got)
	}
	idle(t, g, m)
}
