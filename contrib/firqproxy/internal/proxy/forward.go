package proxy

import (
	"context"
	"errors"
	"io"
	"log/slog"
	"maps"
	"net"
	"net/http"
	"net/http/httputil"
	"slices"
	"strconv"
	"strings"
	"sync"
	"time"

	"github.com/prometheus/client_golang/prometheus"

	"github.com/firq-go/firq/contrib/firqproxy/internal/config"
	"github.com/firq-go/firq/firqhttp"
)

// forward returns the handler that has a slot.
func (p *Proxy) forward() http.Handler {
	t := http.DefaultTransport.(*http.Transport).Clone()
	t.Proxy = nil
	t.DisableCompression = true // what the client accepts is what the upstream is asked for
	t.MaxIdleConns, t.MaxIdleConnsPerHost = 0, 1024
	reverse := &httputil.ReverseProxy{
		Rewrite:        rewrite,
		Transport:      t,
		FlushInterval:  flushSmall,
		BufferPool:     buffers{},
		ModifyResponse: func(r *http.Response) error { visitOf(r.Request).said(r.Header); flushLarge(r); charge(r); return nil },
		ErrorHandler:   p.errors.answer,
		ErrorLog:       slog.NewLogLogger(slog.DiscardHandler, slog.LevelError), // copies that a client broke off
	}
	return http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
		if h := w.Header(); len(h) > 0 { // ReverseProxy empties it when it passes on a response 1xx
			visitOf(r).header = maps.Clone(h)
			clear(h)
		}
		reverse.ServeHTTP(w, r)
	})
}

// said puts what was said of the rate into the header of the final response, before what the upstream says.
func (v *visit) said(h http.Header) {
	for name, values := range v.header {
		h[name] = slices.Concat(values, h[name])
	}
}

// rewrite makes the request for the upstream: path, query and Host as they came.
func rewrite(r *httputil.ProxyRequest) {
	v := visitOf(r.In)
	if r.Out.URL.RawQuery = r.In.URL.RawQuery; v.URL.Path == "" {
		r.Out.URL.Scheme, r.Out.URL.Host = v.URL.Scheme, v.URL.Host
	} else {
		r.SetURL(v.URL)
	}
	r.Out.Host = r.In.Host
	if strings.Contains(strings.ToLower(r.Out.Header.Get("Upgrade")), "h2c") { // it would carry any number of requests, of any tenant, in one slot
		r.Out.Header.Del("Upgrade")
		r.Out.Header.Del("Connection")
	}
	r.Out.Header.Del("Http2-Settings")
	if r.Out.Body != nil {
		r.Out.Body = clientBody{r.Out.Body}
	}
	forwarded(r, v.Config)
	if v.Cost.Response == openai {
		r.Out.Header.Set("Accept-Encoding", "identity") // so that its usage can be read
	}
}

// forwarded says whom the request is forwarded for. What a proxy of trusted says stays, and the chains go on; what others say is
// replaced, except that without trusted the chain X-Forwarded-For goes on, for services that read it from its end.
func forwarded(r *httputil.ProxyRequest, c *config.Config) {
	in, out := r.In.Header, r.Out.Header
	trusts := c.Trusts(r.In.RemoteAddr)
	if trusts || len(c.Proxies) == 0 {
		out["X-Forwarded-For"] = in["X-Forwarded-For"]
	}
	r.SetXForwarded()
	if !trusts {
		return
	}
	for _, name := range []string{"X-Forwarded-Proto", "X-Forwarded-Host"} {
		if v := in[name]; len(v) > 0 {
			out[name] = v
		}
	}
	if chain := in["Forwarded"]; len(chain) > 0 {
		addr, _, _ := net.SplitHostPort(r.In.RemoteAddr)
		if strings.Contains(addr, ":") {
			addr = `"[` + addr + `]"`
		}
		out["Forwarded"] = append(chain[:len(chain):len(chain)], "for="+addr)
	}
}

// ReverseProxy flushes a response of unknown length, and one of events, as it comes, by a
// goroutine and a write more than others take. A small response is there as a whole, as a
// rule, so it waits for its rest for a moment.
const (
	flushSmall = 5 * time.Millisecond
	small      = 4 << 10
)

// flushLarge has a response of a known length flushed as it comes, if it is not small. What
// the client is told of its length is in the header.
func flushLarge(r *http.Response) {
	if r.ContentLength > small {
		r.ContentLength = -1
	}
}

// openai is the cost.response that reads a response's usage.
const openai = "openai"

// charge corrects the cost of a request by its response, as cost.response says.
func charge(r *http.Response) {
	v, ctx := visitOf(r.Request), r.Request.Context()
	paid := func(n int64) { firqhttp.Charge(ctx, n-v.cost) }
	name, isHeader := strings.CutPrefix(v.Cost.Response, "header:")
	switch {
	case isHeader:
		if n, err := strconv.ParseInt(strings.TrimSpace(r.Header.Get(name)), 10, 64); err == nil && n >= 0 {
			paid(n)
		}
	case v.Cost.Response == openai && r.StatusCode != http.StatusSwitchingProtocols && hasUsage(r.Header.Get("Content-Type")):
		r.Body = &tail{body: r.Body, paid: paid}
	}
}

// buffers is an httputil.BufferPool.
type buffers struct{}

var pool = sync.Pool{New: func() any { return new([32 << 10]byte) }}

func (buffers) Get() []byte  { return pool.Get().(*[32 << 10]byte)[:] }
func (buffers) Put(b []byte) { pool.Put((*[32 << 10]byte)(b)) }

// clientBody is the body of a request. Its errors are the client's, not the upstream's.
type clientBody struct{ io.ReadCloser }

type clientError struct{ error }

func (e clientError) Unwrap() error { return e.error }

func (b clientBody) Read(p []byte) (int, error) {
	n, err := b.ReadCloser.Read(p)
	if err != nil && !errors.Is(err, io.EOF) {
		err = clientError{err}
	}
	return n, err
}

// upstreamErrors counts requests that the upstream did not answer. It logs at most one line a
// second.
type upstreamErrors struct {
	log   *slog.Logger
	count prometheus.Counter

	mu     sync.Mutex
	last   time.Time
	silent int // since last
}

// answer is httputil.ReverseProxy.ErrorHandler.
func (u *upstreamErrors) answer(w http.ResponseWriter, r *http.Request, err error) {
	status, text := http.StatusBadGateway, "the service does not answer\n"
	h := w.Header()
	switch {
	case errors.As(err, new(clientError)): // or it has gone
		status, text = http.StatusBadRequest, "the body of the request cannot be read\n"
		h.Set("Connection", "close")
	case r.Context().Err() == nil && !errors.Is(err, context.Canceled): // else the client has gone
		u.count.Inc()
		u.say(err)
	}
	visitOf(r).said(h)
	h.Set("Content-Type", "text/plain; charset=utf-8")
	h.Set("Cache-Control", "no-store")
	w.WriteHeader(status)
	_, _ = io.WriteString(w, text)
}

func (u *upstreamErrors) say(err error) {
	u.mu.Lock()
	defer u.mu.Unlock()
	if now := time.Now(); now.Sub(u.last) >= time.Second {
		u.log.Warn("the upstream does not answer", "error", err, "requests", u.silent+1)
		u.last, u.silent = now, 0
	} else {
		u.silent++
	}
}
