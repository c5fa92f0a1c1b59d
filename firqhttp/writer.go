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
	if _, ok := w.(flusher); ok {
		return &flushTracker{t}
	}
	return t
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

// tracker is a ResponseWriter that can do what the one below can: http.Hijacker,
// io.ReaderFrom (sendfile) and io.StringWriter itself, the rest by Unwrap.
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

// Hijack implements http.Hijacker. From now on the connection holds the slot, too.
func (t *tracker) Hijack() (net.Conn, *bufio.ReadWriter, error) {
	c, rw, err := http.NewResponseController(t.ResponseWriter).Hijack()
	if err != nil {
		return c, rw, err
	}
	t.slot.holders.Add(1) // the handler holds it still
	h := &conn{Conn: c, slot: t.slot}
	if _, ok := c.(closeWriter); ok {
		return &halfConn{h}, rw, nil
	}
	return h, rw, nil
}

// flusher is what net/http's HTTP/1 writer is besides, and what wrappers of Gin and
// others rely on.
type flusher interface {
	http.Flusher
	http.CloseNotifier //nolint:staticcheck // deprecated, and still asked for
}

// flushTracker is a tracker whose writer below is a flusher.
type flushTracker struct{ *tracker }

// Flush implements http.Flusher.
func (t *flushTracker) Flush() { _ = t.FlushError() }

// FlushError is what http.ResponseController prefers to Flush.
func (t *flushTracker) FlushError() error {
	return http.NewResponseController(t.ResponseWriter).Flush()
}

// CloseNotify implements http.CloseNotifier.
func (t *flushTracker) CloseNotify() <-chan bool {
	return t.ResponseWriter.(flusher).CloseNotify()
}

// conn is a hijacked connection; it holds its slot until it is closed.
type conn struct {
	net.Conn
	slot *slot
	once sync.Once
}

// Close closes the connection and leaves the slot, even if closing fails.
func (c *conn) Close() error {
	defer c.once.Do(c.slot.leave)
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
