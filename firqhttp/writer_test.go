package firqhttp

import (
	"bufio"
	"bytes"
	"context"
	"errors"
	"io"
	"net"
	"net/http"
	"net/http/httptest"
	"strings"
	"testing"
	"time"

	"github.com/firq-go/firq/gate"
)

// dial sends a request by hand and returns the connection.
func dial(t *testing.T, s *httptest.Server) (net.Conn, *bufio.Reader) {
	t.Helper()
	c, err := net.Dial("tcp", s.Listener.Addr().String())
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() { c.Close() })
	_ = c.SetDeadline(time.Now().Add(10 * time.Second))
	_, err = io.WriteString(c, "GET / HTTP/1.1\r\nHost: x\r\nConnection: Upgrade\r\nUpgrade: echo\r\n\r\n")
	if err != nil {
		t.Fatal(err)
	}
	return c, bufio.NewReader(c)
}

// A hijacked connection holds its slot until it is closed and the handler has
// returned, whichever is later.
func TestHijack(t *testing.T) {
	for name, hijack := range map[string]func(w http.ResponseWriter) (net.Conn, *bufio.ReadWriter, error){
		"Hijacker": func(w http.ResponseWriter) (net.Conn, *bufio.ReadWriter, error) { return w.(http.Hijacker).Hijack() },
		"ResponseController": func(w http.ResponseWriter) (net.Conn, *bufio.ReadWriter, error) {
			return http.NewResponseController(w).Hijack()
		},
	} {
		for _, handlerFirst := range []bool{true, false} {
			t.Run(name, func(t *testing.T) {
				g := gate.New[string](1, gate.Config[string]{})
				m := New(g, Config{})
				conns, goOn := make(chan net.Conn), make(chan bool)
				s := serve(t, m, func(w http.ResponseWriter, _ *http.Request) {
					c, rw, err := hijack(w)
					if err != nil {
						t.Error(err)
						return
					}
					_, _ = rw.WriteString("HTTP/1.1 101 Switching Protocols\r\n\r\n")
					_ = rw.Flush()
					conns <- c
					<-goOn
				})
				client, in := dial(t, s)
				c := <-conns
				if line, _ := in.ReadString('\n'); !strings.Contains(line, "101") {
					t.Fatalf("answer %q", line)
				}
				if _, err := in.ReadString('\n'); err != nil {
					t.Fatal(err)
				}
				echo(t, client, in, c)
				held := func(when string) {
					t.Helper()
					if g.InUse() != 1 || m.Stats().InFlight != 1 {
						t.Fatalf("%s: in use %d, in flight %d", when, g.InUse(), m.Stats().InFlight)
					}
				}
				held("both")
				if handlerFirst {
					goOn <- true
					time.Sleep(time.Millisecond) // it is not waited for: there is nothing to see
					held("the handler has returned")
					c.Close()
				} else {
					c.Close()
					held("the connection is closed")
					c.Close()
					held("the connection is closed twice")
					goOn <- true
				}
				idle(t, g, m)
			})
		}
	}
}

// echo fails unless the hijacked connection works, with what io.Copy and others
// look for.
func echo(t *testing.T, client net.Conn, in *bufio.Reader, c net.Conn) {
	t.Helper()
	if _, err := io.Copy(c, strings.NewReader("ping\n")); err != nil {
		t.Fatal(err)
	}
	if line, err := in.ReadString('\n'); err != nil || line != "ping\n" {
		t.Fatalf("%q, %v", line, err)
	}
	if _, ok := c.(interface{ NetConn() net.Conn }).NetConn().(*net.TCPConn); !ok {
		t.Errorf("NetConn is %T", c)
	}
	if err := c.(closeWriter).CloseWrite(); err != nil {
		t.Error(err)
	}
	if _, err := in.ReadByte(); err != io.EOF {
		t.Errorf("after CloseWrite: %v", err)
	}
	if _, err := io.WriteString(client, "pong"); err != nil {
		t.Error(err)
	}
	got := make([]byte, 4)
	if _, err := io.ReadFull(c, got); err != nil || string(got) != "pong" {
		t.Errorf("%q, %v", got, err)
	}
}

// A streaming response holds its slot, and is seen as it comes.
func TestStreaming(t *testing.T) {
	for name, flush := range map[string]func(w http.ResponseWriter) error{
		"Flusher":            func(w http.ResponseWriter) error { w.(http.Flusher).Flush(); return nil },
		"ResponseController": func(w http.ResponseWriter) error { return http.NewResponseController(w).Flush() },
	} {
		t.Run(name, func(t *testing.T) {
			g := gate.New[string](1, gate.Config[string]{})
			m := New(g, Config{})
			goOn := make(chan bool)
			s := serve(t, m, func(w http.ResponseWriter, r *http.Request) {
				for range 2 {
					_, _ = io.WriteString(w, "tick\n")
					if err := flush(w); err != nil {
						t.Error(err)
					}
					select {
					case <-goOn:
					case <-r.Context().Done():
					}
				}
			})
			s.Client().Timeout = 10 * time.Second
			res, err := s.Client().Get(s.URL)
			if err != nil {
				t.Fatal(err)
			}
			in := bufio.NewReader(res.Body)
			for range 2 {
				if line, err := in.ReadString('\n'); err != nil || line != "tick\n" {
					t.Fatalf("%q, %v", line, err)
				}
				if g.InUse() != 1 {
					t.Fatal("the slot is free")
				}
				goOn <- true
			}
			res.Body.Close()
			idle(t, g, m)
		})
	}
}

// What a server's ResponseWriter can do can be done through the middleware.
func TestWriterCanAll(t *testing.T) {
	g := gate.New[string](1, gate.Config[string]{})
	m := New(g, Config{})
	s := serve(t, m, func(w http.ResponseWriter, r *http.Request) {
		c := http.NewResponseController(w)
		if err := errors.Join(c.SetReadDeadline(time.Now().Add(time.Minute)), c.SetWriteDeadline(time.Now().Add(time.Minute)), c.EnableFullDuplex()); err != nil {
			t.Error(err)
		}
		if w.(http.CloseNotifier).CloseNotify() == nil { //nolint:staticcheck // still asked for
			t.Error("no CloseNotify")
		}
		n, err := w.(io.ReaderFrom).ReadFrom(strings.NewReader("from a reader, "))
		if err != nil || n != 15 {
			t.Error(n, err)
		}
		if _, err := w.(io.StringWriter).WriteString("a string"); err != nil {
			t.Error(err)
		}
	})
	res, err := s.Client().Get(s.URL)
	if err != nil {
		t.Fatal(err)
	}
	body, err := io.ReadAll(res.Body)
	res.Body.Close()
	if err != nil || string(body) != "from a reader, a string" {
		t.Errorf("%q, %v", body, err)
	}
	idle(t, g, m)
}

// under is a ResponseWriter that can do nothing but Unwrap; failing one that can be
// hijacked, but fails.
type (
	under   struct{ http.ResponseWriter }
	failing struct{ http.ResponseWriter }
)

func (u under) Unwrap() http.ResponseWriter { return u.ResponseWriter }

func (failing) Hijack() (net.Conn, *bufio.ReadWriter, error) {
	return nil, nil, errors.New("not this time")
}

// What the writer below cannot do is not pretended.
func TestWriterPretendsNothing(t *testing.T) {
	g := gate.New[string](1, gate.Config[string]{})
	m := New(g, Config{})
	try := func(w http.ResponseWriter, h http.HandlerFunc) { m.Handler(h).ServeHTTP(w, get("a")) }
	rec := httptest.NewRecorder()
	try(rec, func(w http.ResponseWriter, _ *http.Request) {
		if w != http.ResponseWriter(rec) {
			t.Errorf("%T is wrapped, though it cannot be hijacked", w)
		}
	})
	try(under{failing{rec}}, func(w http.ResponseWriter, _ *http.Request) {
		if _, ok := w.(http.Flusher); ok {
			t.Error("it says that it can flush")
		}
		if _, _, err := http.NewResponseController(w).Hijack(); err == nil {
			t.Error("Hijack does not fail")
		}
		if n, err := io.Copy(w, bytes.NewReader([]byte("copied"))); n != 6 || err != nil {
			t.Error(n, err)
		}
	})
	if rec.Body.String() != "copied" {
		t.Errorf("%q", rec.Body)
	}
	idle(t, g, m)
}

// While a slot waits for its turn nothing is written; Shutdown of the gate waits for
// the requests that are served.
func TestGateShutdown(t *testing.T) {
	g := gate.New[string](1, gate.Config[string]{})
	m := New(g, Config{})
	inside, goOn := make(chan bool), make(chan bool)
	s := serve(t, m, func(http.ResponseWriter, *http.Request) { inside <- true; <-goOn })
	done := make(chan error)
	go func() {
		res, err := s.Client().Get(s.URL)
		if err == nil {
			res.Body.Close()
		}
		done <- err
	}()
	<-inside
	down := make(chan error, 1)
	go func() { down <- g.Shutdown(context.Background()) }()
	until(t, "it refuses", func() bool {
		ctx, cancel := context.WithTimeout(context.Background(), time.Millisecond) // or it waits
		defer cancel()
		return strings.Contains(ask(m, get("a").WithContext(ctx)).Body.String(), string(Closed))
	})
	if len(down) != 0 {
		t.Error("Shutdown did not wait")
	}
	goOn <- true
	if err := errors.Join(<-down, <-done); err != nil {
		t.Error(err)
	}
}

// statusRecorder is the status recorder that many programs write for their log: it can
// flush and be hijacked, and knows nothing of CloseNotify.
type statusRecorder struct {
	http.ResponseWriter
	status int
}

func (s *statusRecorder) WriteHeader(status int) {
	s.status = status
	s.ResponseWriter.WriteHeader(status)
}

func (s *statusRecorder) Flush() { s.ResponseWriter.(http.Flusher).Flush() }

func (s *statusRecorder) Hijack() (net.Conn, *bufio.ReadWriter, error) {
	return s.ResponseWriter.(http.Hijacker).Hijack()
}

// A handler that streams finds http.Flusher behind a logging middleware, as it does
// without this one.
func TestFlusherBehindRecorder(t *testing.T) {
	g := gate.New[string](1, gate.Config[string]{})
	m := New(g, Config{})
	h := m.Handler(http.HandlerFunc(func(w http.ResponseWriter, _ *http.Request) {
		f, ok := w.(http.Flusher)
		if !ok {
			http.Error(w, "streaming unsupported", http.StatusInternalServerError)
			return
		}
		if _, ok := w.(http.CloseNotifier); ok { //nolint:staticcheck // still asked for
			t.Error("it says that it can CloseNotify")
		}
		_, _ = io.WriteString(w, "data: x\n\n")
		f.Flush()
	}))
	s := httptest.NewServer(http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
		rec := &statusRecorder{ResponseWriter: w}
		h.ServeHTTP(rec, r)
	}))
	defer s.Close()
	defer s.Client().CloseIdleConnections()
	res, err := s.Client().Get(s.URL)
	if err != nil {
		t.Fatal(err)
	}
	defer res.Body.Close()
	text, err := io.ReadAll(res.Body)
	if res.StatusCode != 200 || string(text) != "data: x\n\n" || err != nil {
		t.Errorf("%d %q %v", res.StatusCode, text, err)
	}
	idle(t, g, m)
}

// A body that is too large closes the connection, as without the middleware.
func TestTooLargeCloses(t *testing.T) {
	g := gate.New[string](1, gate.Config[string]{})
	for _, size := range []int{-1, 0} {
		m := New(g, Config{BufferBody: size})
		s := serve(t, m, func(w http.ResponseWriter, r *http.Request) {
			_, err := io.ReadAll(http.MaxBytesReader(w, r.Body, 3))
			if tooLarge := (*http.MaxBytesError)(nil); !errors.As(err, &tooLarge) {
				t.Error(err)
			}
			http.Error(w, "too large", http.StatusRequestEntityTooLarge)
		})
		_, in := raw(t, s, whole)
		if got := line(t, in); got != "HTTP/1.1 413 Request Entity Too Large" {
			t.Error(got)
		}
		closes := false
		for l := line(t, in); l != ""; l = line(t, in) {
			closes = closes || l == "Connection: close"
		}
		if !closes {
			t.Error("the connection stays open")
		}
	}
}

// Middleware outside may have set headers for another answer, or compress this one.
func TestProblemHeaders(t *testing.T) {
	g := gate.New[string](1, gate.Config[string]{})
	g.Close()
	m := New(g, Config{})
	for name, c := range map[string]struct {
		wrap     func(http.ResponseWriter) http.ResponseWriter
		encoding string
	}{
		"a bare writer":       {func(w http.ResponseWriter) http.ResponseWriter { return w }, ""},
		"a wrapped one":       {func(w http.ResponseWriter) http.ResponseWriter { return &statusRecorder{ResponseWriter: w} }, "gzip"},
		"wrapped, no pointer": {func(w http.ResponseWriter) http.ResponseWriter { return under{w} }, "gzip"},
	} {
		s := httptest.NewServer(http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
			h := w.Header()
			h.Set("Content-Encoding", "gzip")
			h.Set("Etag", `"x"`)
			h.Set("Last-Modified", "yesterday")
			h.Set("Content-Length", "3")
			m.Handler(http.NotFoundHandler()).ServeHTTP(c.wrap(w), r)
		}))
		r, err := http.NewRequest("GET", s.URL, nil)
		if err != nil {
			t.Fatal(err)
		}
		r.Header.Set("Accept-Encoding", "identity") // or the client unpacks it
		res, err := s.Client().Do(r)
		if err != nil {
			t.Fatal(err)
		}
		text, err := io.ReadAll(res.Body)
		res.Body.Close()
		if err != nil || !strings.Contains(string(text), `"closed"`) {
			t.Errorf("%s: %q %v", name, text, err)
		}
		for header, want := range map[string]string{
			"X-Content-Type-Options": "nosniff", "Etag": "", "Last-Modified": "", "Content-Encoding": c.encoding, "Retry-After": "",
		} {
			if got := res.Header.Get(header); got != want {
				t.Errorf("%s: %s is %q, want %q", name, header, got, want)
			}
		}
		if !res.Close {
			t.Errorf("%s: the connection stays open, though the service shuts down", name)
		}
		s.Client().CloseIdleConnections()
		s.Close()
	}
}
