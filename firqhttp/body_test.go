package firqhttp

import (
	"bytes"
	"context"
	"errors"
	"fmt"
	"io"
	"math"
	"net/http"
	"net/http/httptest"
	"strings"
	"testing"
	"testing/iotest"
	"time"

	"pgregory.net/rapid"

	"github.com/firq-go/firq/gate"
)

// source is a body that ends with err, and knows whether it was closed.
type source struct {
	io.Reader
	closed int
}

func (s *source) Close() error { s.closed++; return nil }

// endless never ends.
type endless struct{}

func (endless) Read(p []byte) (int, error) { return len(p), nil }

// What comes out is what came in, with the same error, however it is read, and with
// a buffer of any size.
func TestBodyIsTheSame(t *testing.T) {
	broken := errors.New("broken")
	rapid.Check(t, func(t *rapid.T) {
		text := bytes.Repeat([]byte("0123456789abcdef"), 1200)[:rapid.IntRange(0, 19_200).Draw(t, "length")]
		limit := rapid.SampledFrom([]int{1, 2, len(text) + 1, max(len(text), 1), max(len(text)-1, 1), 4095, 4096, 4097, 16384, 64 << 10}).Draw(t, "limit")
		end := rapid.SampledFrom([]error{io.EOF, broken}).Draw(t, "end")
		known := rapid.SampledFrom([]int64{-1, int64(len(text)), int64(len(text)) + 7, math.MaxInt64}).Draw(t, "told")
		in := io.MultiReader(bytes.NewReader(text), iotest.ErrReader(end))
		switch rapid.SampledFrom([]string{"as it is", "bytes", "data and error", "halves"}).Draw(t, "way") {
		case "bytes":
			in = iotest.OneByteReader(in)
		case "data and error":
			in = iotest.DataErrReader(in)
		case "halves":
			in = iotest.HalfReader(in)
		}
		src := &source{Reader: in}
		b := &body{rest: src}
		b.read(context.Background(), limit, known, time.Time{})
		if len(b.buf) > limit+1 || cap(b.buf) > max(4*len(b.buf), firstRead) {
			t.Fatalf("%d of %d bytes are kept in %d, limit %d", len(b.buf), len(text), cap(b.buf), limit)
		}
		piece := make([]byte, rapid.SampledFrom([]int{1, 7, 512, 100_000}).Draw(t, "piece"))
		var got []byte
		var err error
		for reads := 0; err == nil; reads++ {
			if reads > len(text)+200 {
				t.Fatal("there is no end")
			}
			var n int
			n, err = b.Read(piece)
			got = append(got, piece[:n]...)
		}
		if !bytes.Equal(got, text) || err != end {
			t.Fatalf("%d bytes, %v; want %d, %v", len(got), err, len(text), end)
		}
		if _, again := b.Read(piece); again != end {
			t.Fatalf("after the end: %v", again)
		}
		if n, err := b.Read(nil); n != 0 || err != nil {
			t.Fatalf("of nothing: %d, %v", n, err)
		}
		if err := b.Close(); err != nil || src.closed != 1 {
			t.Fatalf("%v, closed %d times", err, src.closed)
		}
		if _, err := b.Read(piece); err != http.ErrBodyReadAfterClose {
			t.Fatalf("after Close: %v", err)
		}
	})
}

// Reading stops when the client has gone, or its deadline has passed, or the reader
// never says anything.
func TestBodyStops(t *testing.T) {
	over, cancel := context.WithCancel(context.Background())
	cancel()
	b := &body{rest: &source{Reader: endless{}}}
	b.read(over, 100, -1, time.Time{})
	if len(b.buf) != 0 {
		t.Errorf("%d bytes were read for no request", len(b.buf))
	}
	b.read(context.Background(), 100, -1, time.Now().Add(-time.Second))
	if len(b.buf) != 0 {
		t.Errorf("%d bytes were read too late", len(b.buf))
	}
	b.read(context.Background(), 100, -1, time.Now().Add(time.Hour))
	if len(b.buf) != 101 {
		t.Errorf("%d bytes", len(b.buf))
	}
	b = &body{rest: &source{Reader: strings.NewReader("hello")}} // says EOF only to a reader that asks again
	b.read(context.Background(), 5, -1, time.Time{})
	if len(b.buf) != 5 || b.err != io.EOF {
		t.Errorf("as long as the buffer: %d bytes, %v: the end was not seen", len(b.buf), b.err)
	}
	b = &body{rest: &source{Reader: silent{}}}
	b.read(context.Background(), 100, -1, time.Time{})
	if _, err := b.Read(make([]byte, 1)); err != io.ErrNoProgress {
		t.Errorf("a source that returns nothing: %v", err)
	}
}

type silent struct{}

func (silent) Read([]byte) (int, error) { return 0, nil }

// A handler sees the request as without the middleware: length, encoding, trailers,
// limits that a middleware outside has set. The outer request keeps its body.
func TestRequestIsTheSame(t *testing.T) {
	g := gate.New(1, gate.Config[string]{})
	for _, size := range []int{-1, 3, 0} {
		m := New(g, Config{BufferBody: size, BufferStreams: true})
		handler := func(_ http.ResponseWriter, r *http.Request) {
			text, err := io.ReadAll(r.Body)
			if text == nil || err != nil {
				t.Errorf("%q, %v", text, err)
			}
			if r.Header.Get("Kind") == "chunked" && (r.ContentLength != -1 || fmt.Sprint(r.TransferEncoding) != "[chunked]" || r.Trailer.Get("Sum") != "7") {
				t.Errorf("size %d: %d, %v, %v", size, r.ContentLength, r.TransferEncoding, r.Trailer)
			}
			if r.Header.Get("Kind") == "" && r.ContentLength != 5 {
				t.Errorf("length %d", r.ContentLength)
			}
			if string(text) != "hello" {
				t.Errorf("%q", text)
			}
			if err := r.Body.Close(); err != nil {
				t.Error(err)
			}
		}
		s := serve(t, m, handler)
		c, in := raw(t, s, whole)
		if got := line(t, in); got != "HTTP/1.1 200 OK" {
			t.Error(got)
		}
		_, _ = io.WriteString(c, "POST / HTTP/1.1\r\nHost: x\r\nKind: chunked\r\nTrailer: Sum\r\nTransfer-Encoding: chunked\r\n\r\n5\r\nhello\r\n0\r\nSum: 7\r\n\r\n")
		for l := ""; l != "HTTP/1.1 200 OK"; l = line(t, in) { // on the same connection
		}
	}
	for name, length := range map[string]int64{"told": 5, "not told": -1} {
		m := New(g, Config{BufferStreams: true})
		r := httptest.NewRequest("POST", "/", nil)
		r.ContentLength = length
		outer := http.MaxBytesReader(nil, io.NopCloser(strings.NewReader("hello")), 3)
		r.Body = outer
		m.Handler(http.HandlerFunc(func(_ http.ResponseWriter, r *http.Request) {
			text, err := io.ReadAll(r.Body)
			if tooLarge := (*http.MaxBytesError)(nil); string(text) != "hel" || !errors.As(err, &tooLarge) {
				t.Errorf("%s: %q, %v", name, text, err)
			}
		})).ServeHTTP(httptest.NewRecorder(), r)
		if r.Body != outer {
			t.Errorf("%s: the outer request has another body", name)
		}
	}
	if g.InUse() != 0 {
		t.Error("a slot is lost")
	}
}

// A client that is rejected after its body was read can still be read.
func TestRejectedBody(t *testing.T) {
	g := gate.New(1, gate.Config[string]{})
	g.Close()
	m := New(g, Config{Reject: func(w http.ResponseWriter, r *http.Request, _ Rejection) {
		text, err := io.ReadAll(r.Body)
		if string(text) != "hello" || err != nil {
			t.Errorf("%q, %v", text, err)
		}
		w.WriteHeader(418)
	}})
	if w := ask(m, httptest.NewRequest("POST", "/", strings.NewReader("hello"))); w.Code != 418 {
		t.Error(w.Code)
	}
}

// A large announcement occupies nothing.
func TestBodyAnnounced(t *testing.T) {
	b := &body{rest: &source{Reader: strings.NewReader("x")}}
	b.read(context.Background(), maxBufferBody, math.MaxInt64, time.Time{})
	if cap(b.buf) > firstRead {
		t.Errorf("%d bytes for 1", cap(b.buf))
	}
	for _, c := range []struct{ in, want int }{{0, DefaultBufferBody}, {math.MaxInt, maxBufferBody}, {-5, -5}, {7, 7}} {
		if got := New(gate.New(1, gate.Config[string]{}), Config{BufferBody: c.in}).cfg.BufferBody; got != c.want {
			t.Errorf("BufferBody %d is %d, want %d", c.in, got, c.want)
		}
	}
}
