package firqhttp

import (
	"context"
	"errors"
	"io"
	"net/http"
	"strings"
	"sync"
	"time"

	"github.com/firq-go/firq/gate"
)

// buffers reports whether a request's body is to be read before the gate is asked.
func (m *Middleware) buffers(r *http.Request) bool {
	limit := int64(m.cfg.BufferBody)
	switch {
	case limit < 0, r.Body == nil, r.Body == http.NoBody, r.ContentLength == 0:
		return false
	case r.ContentLength < 0 && !m.cfg.BufferStreams:
		return false
	case !expects(r):
		return true
	}
	// Reading a part of it would gain nothing: net/http notices only at the body's end that
	// the client has gone. With HTTP/2 it notices in any case.
	return r.ProtoMajor < 2 && r.ContentLength <= limit
}

// expects reports whether the client waits for a word before it sends the body. To
// read it is that word: net/http then sends "100 Continue".
func expects(r *http.Request) bool {
	if r.Header["Expect"] == nil {
		return false
	}
	for token := range strings.SplitSeq(r.Header.Get("Expect"), ",") {
		if strings.EqualFold(strings.TrimSpace(token), "100-continue") {
			return true
		}
	}
	return false
}

// glance says whether a request would be rejected immediately, and why. It takes no slot: that
// would be held while the client sends the body, however slowly.
func (m *Middleware) glance(ctx context.Context, tenant string, req gate.Request) error {
	short, cancel := context.WithTimeout(ctx, time.Millisecond)
	defer cancel()
	p, err := m.gate.Acquire(short, tenant, req)
	if err == nil {
		p.Release()
	} else if errors.Is(err, short.Err()) && ctx.Err() == nil {
		err = nil // it has to wait
	}
	return err
}

// firstRead is how much memory a body gets before anything of it has come. Each
// time that it is full, it gets four times as much: so a client that announces much and sends
// little occupies little.
const firstRead = 4 << 10

// body is a request's body of which a part was read before. Safe for concurrent use
// as far as that of net/http is: Read at the same time as Close.
type body struct {
	rest io.ReadCloser

	mu     sync.Mutex // guards what is below; not held during calls of rest
	buf    []byte     // read, and not yet delivered
	err    error      // what reading ended with, for after buf; nil: there is more in rest
	closed bool
}

// read reads until the end, more than limit bytes, an error, or the end of the
// client's patience. No other goroutine has b yet.
func (b *body) read(ctx context.Context, limit int, length int64, deadline time.Time) {
	first := min(firstRead, limit+1)
	if length >= 0 && length < int64(first) {
		first = int(length) + 1 // some say EOF only to a reader that asks for more
	}
	buf, nothing := make([]byte, 0, first), 0
	for len(buf) <= limit && b.err == nil {
		if ctx.Err() != nil || !deadline.IsZero() && time.Now().After(deadline) {
			break
		}
		if len(buf) == cap(buf) {
			more := make([]byte, len(buf), min(4*cap(buf), limit+1))
			copy(more, buf)
			buf = more
		}
		var n int
		n, b.err = b.rest.Read(buf[len(buf):cap(buf)])
		buf = buf[:len(buf)+n]
		if nothing++; n > 0 {
			nothing = 0
		} else if nothing == 100 && b.err == nil {
			b.err = io.ErrNoProgress
		}
	}
	b.buf = buf
}

// Read implements io.Reader.
func (b *body) Read(p []byte) (int, error) {
	n, more, err := b.buffered(p)
	if more {
		return b.rest.Read(p)
	}
	return n, err
}

// buffered is Read from what was read before; more: nothing is left of it.
func (b *body) buffered(p []byte) (n int, more bool, err error) {
	b.mu.Lock()
	defer b.mu.Unlock()
	switch {
	case b.closed:
		return 0, false, http.ErrBodyReadAfterClose
	case len(p) == 0:
		return 0, false, nil
	case len(b.buf) == 0 && b.err == nil:
		return 0, true, nil
	}
	n = copy(p, b.buf)
	b.buf = b.buf[n:]
	if len(b.buf) == 0 {
		b.buf = nil // it is not needed any more
		return n, false, b.err
	}
	return n, false, nil
}

// Close implements io.Closer.
func (b *body) Close() error {
	b.mu.Lock()
	b.closed, b.buf = true, nil
	b.mu.Unlock()
	return b.rest.Close()
}
