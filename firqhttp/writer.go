package firqhttp

import (
	"bufio"
	"errors"
	"io"
	"net"
	"net/http"
	"sync"
)

// wrap returns a ResponseWriter that notices when the connection is hijacked. If
// it cannot be (HTTP/2, a recorder), w itself does.
func (s *slot) wrap(w http.ResponseWriter) http.ResponseWriter {
	if !canHijack(w) {
		return w
	}
	t := &tracker{w, s}
	if _, ok := w.(http.Flusher); !ok {
		return t
	}
	f := &flushTracker{t}
	if n, ok := w.(http.CloseNotifier); ok { //nolint:staticcheck // deprecated, and still asked for
		return &notifyTracker{f, n}
	}
	return f
}

// canHijack reports whether http.ResponseController would find a way.
func canHijack(w http.ResponseWriter) bool {
	for {
		if _, ok := w.(http.Hijacker); ok {
			return true
		}
		u, ok := w.(interface{ Unwrap() http.ResponseWriter })
		if !ok {
			return false
		}
		w = u.Unwrap()
	}
}

// tracker is a ResponseWriter with the abilities of the one below: http.Hijacker,
// io.ReaderFrom (sendfile) and io.StringWriter itself, the rest by Unwrap. It
// cannot pass on an unexported method of net/http's writer, by which
// http.MaxBytesReader closes the connection of a request whose
// body is too large. So WriteHeader closes it where the status is 413;
// with another status the server reads on as usual, up to 256 KiB.
type tracker struct {
	http.ResponseWriter
	slot *slot
}

// Unwrap is for http.ResponseController.
func (t *tracker) Unwrap() http.ResponseWriter { return t.ResponseWriter }

// ReadFrom implements io.ReaderFrom.
func (t *tracker) ReadFrom(src io.Reader) (int64, error) { return io.Copy(t.ResponseWriter, src) }

// WriteString implements io.StringWriter.
func (t *tracker) WriteString(s string) (int, error) { return io.WriteString(t.ResponseWriter, s) }

// WriteHeader implements http.ResponseWriter. The connection of a request whose body
// is too large is closed, not read on: as http.MaxBytesReader does to w itself.
func (t *tracker) WriteHeader(status int) {
	if status == http.StatusRequestEntityTooLarge {
		t.Header().Set("Connection", "close")
	}
	t.ResponseWriter.WriteHeader(status)
}

// Hijack implements http.Hijacker. From now on the connection holds the slot, too.
func (t *tracker) Hijack() (net.Conn, *bufio.ReadWriter, error) {
	c, rw, err := http.NewResponseController(t.ResponseWriter).Hijack()
	if err != nil {
		return c, rw, err
	}
	t.slot.holders.Add() // the handler holds it still
	h := &conn{Conn: c, slot: t.slot}
	if _, ok := c.(closeWriter); ok {
		return &halfConn{h}, rw, nil
	}
	return h, rw, nil
}

// flushTracker is a tracker whose writer below is an http.Flusher.
type flushTracker struct{ *tracker }

// Flush implements http.Flusher.
func (t *flushTracker) Flush() { _ = t.FlushError() }

// FlushError implements the method that http.ResponseController prefers to Flush.
func (t *flushTracker) FlushError() error {
	return http.NewResponseController(t.ResponseWriter).Flush()
}

// notifyTracker is a flushTracker whose writer below is an http.CloseNotifier, too:
// net/http's own is, and Gin's relies on it.
type notifyTracker struct {
	*flushTracker
	http.CloseNotifier
}

// conn is a hijacked connection; it holds its slot until it is closed.
type conn struct {
	net.Conn
	slot *slot
	once sync.Once
}

// Close closes the connection and leaves the slot, even if closing fails.
func (c *conn) Close() error {
	defer c.once.Do(c.slot.Leave)
	return c.Conn.Close()
}

// NetConn returns the connection below, as tls.Conn does. Closing it instead keeps
// the slot.
func (c *conn) NetConn() net.Conn { return c.Conn }

// ReadFrom implements io.ReaderFrom (splice).
func (c *conn) ReadFrom(src io.Reader) (int64, error) { return io.Copy(c.Conn, src) }

type closeWriter interface{ CloseWrite() error }

// halfConn is a conn that can be closed for writing only.
type halfConn struct{ *conn }

// CloseWrite closes the writing side; the slot is still held.
func (c *halfConn) CloseWrite() error {
	if w, ok := c.Conn.(closeWriter); ok {
		return w.CloseWrite()
	}
	return errors.ErrUnsupported
}
