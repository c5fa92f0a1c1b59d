// Package demo measures what a flood does to quiet tenants, with firqproxy and without.
package demo

import (
	"context"
	"fmt"
	"io"
	"log/slog"
	"net"
	"net/http"
	"net/http/httputil"
	"net/url"
	"os"
	"path/filepath"
	"slices"
	"sync"
	"sync/atomic"
	"time"

	"github.com/firq-go/firq/contrib/firqproxy/internal/config"
	"github.com/firq-go/firq/contrib/firqproxy/internal/proxy"
)

// What is measured: a service that does atATime requests at a time, each in one of them, a
// tenant that floods it over many connections, and quiet tenants that send a request per
// pause each.
const (
	atATime     = 8
	each        = 5 * time.Millisecond
	connections = 200
	quiets      = 8
	pause       = 50 * time.Millisecond
	warmUp      = 500 * time.Millisecond
)

// sample is the answer to a request of a quiet tenant.
type sample struct{ at, took time.Duration }

// series is one way to the service.
type series struct {
	name    string
	samples []sample
	noisy   float64 // answers per second of the tenant that floods
}

// percentile returns the time within which that many of a hundred requests were answered.
func (s *series) percentile(p int) time.Duration {
	took := make([]time.Duration, len(s.samples))
	for i, a := range s.samples {
		took[i] = a.took
	}
	slices.Sort(took)
	return took[min(len(took)-1, len(took)*p/100)]
}

// Run measures for d with each proxy, prints a table, and writes a picture to the file svg,
// unless that is empty.
func Run(ctx context.Context, out io.Writer, d time.Duration, svg string) error {
	service := serve(backend())
	defer service.close()
	_, _ = fmt.Fprintf(out, "A service does %d requests at a time, %v each. A tenant floods it over %d connections;\n%d quiet tenants send at most %d requests a second each, one at a time. It takes %.0f s.\n\n",
		atATime, each, connections, quiets, time.Second/pause, 2*(warmUp+d).Seconds())
	_, _ = fmt.Fprintf(out, "%-20s %14s %12s %18s\n", "", "quiet: half in", "99 % in", "the flood gets")
	var all []*series
	for _, way := range []struct {
		name string
		make func(service string) (http.Handler, error)
	}{{"httputil.ReverseProxy", plain}, {"firqproxy", fair}} {
		h, err := way.make(service.url)
		if err != nil {
			return err
		}
		s := serve(h)
		one, err := measure(ctx, way.name, s.url, d)
		s.close()
		if err != nil {
			return err
		}
		all = append(all, one)
		_, _ = fmt.Fprintf(out, "%-20s %12.1fms %10.1fms %16.0f/s\n", one.name, ms(one.percentile(50)), ms(one.percentile(99)), one.noisy)
	}
	if svg == "" {
		return nil
	}
	return os.WriteFile(svg, draw(all, d), 0o644) //nolint:gosec // G306: a picture
}

func ms(d time.Duration) float64 { return d.Seconds() * 1e3 }

// backend is the service: first come, first served, as any server with that many workers.
func backend() http.Handler {
	workers := make(chan struct{}, atATime)
	return http.HandlerFunc(func(w http.ResponseWriter, _ *http.Request) {
		workers <- struct{}{}
		time.Sleep(each)
		<-workers
		_, _ = io.WriteString(w, "hello\n")
	})
}

// plain is a proxy that lets everything through.
func plain(service string) (http.Handler, error) {
	u, err := url.Parse(service)
	if err != nil {
		return nil, err
	}
	t := http.DefaultTransport.(*http.Transport).Clone()
	t.Proxy, t.MaxIdleConns, t.MaxIdleConnsPerHost = nil, 0, 2*connections
	return &httputil.ReverseProxy{Rewrite: func(r *httputil.ProxyRequest) { r.SetURL(u) }, Transport: t, ErrorLog: slog.NewLogLogger(slog.DiscardHandler, slog.LevelError)}, nil
}

// fair is firqproxy with a file as an operator would write it.
func fair(service string) (http.Handler, error) {
	dir, err := os.MkdirTemp("", "firqproxy")
	if err != nil {
		return nil, err
	}
	defer func() { _ = os.RemoveAll(dir) }()
	file := filepath.Join(dir, "firqproxy.yaml")
	text := fmt.Sprintf("upstream: %s\ntenant: [{header: X-Tenant}]\nlimits: {slots: %d}\n", service, atATime)
	if err := os.WriteFile(file, []byte(text), 0o600); err != nil {
		return nil, err
	}
	cfg, err := config.Load(file, os.LookupEnv)
	if err != nil {
		return nil, err
	}
	return proxy.New(context.Background(), cfg, slog.New(slog.DiscardHandler))
}

// server is a handler on a free port.
type server struct {
	http.Server
	url string
}

func serve(h http.Handler) *server {
	s := &server{Server: http.Server{Handler: h, ReadHeaderTimeout: time.Minute}}
	l, err := net.Listen("tcp", "127.0.0.1:0")
	if err != nil {
		panic("firq: firqproxy: " + err.Error())
	}
	s.url = "http://" + l.Addr().String()
	go func() { _ = s.Serve(l) }()
	return s
}

func (s *server) close() { _ = s.Close() }

// measure floods a proxy, and returns how the quiet tenants fare.
func measure(ctx context.Context, name, url string, d time.Duration) (*series, error) {
	ctx, cancel := context.WithTimeout(ctx, warmUp+d)
	defer cancel()
	client := &http.Client{Transport: &http.Transport{MaxIdleConnsPerHost: 2 * connections}}
	defer client.CloseIdleConnections()
	ask := func(tenant string) bool {
		r, err := http.NewRequestWithContext(ctx, http.MethodGet, url, nil)
		if err != nil {
			return false
		}
		r.Header.Set("X-Tenant", tenant)
		resp, err := client.Do(r)
		if err != nil {
			return false
		}
		_, err = io.Copy(io.Discard, resp.Body)
		_ = resp.Body.Close()
		return err == nil && resp.StatusCode == http.StatusOK
	}
	s := &series{name: name}
	var answers atomic.Int64
	var mu sync.Mutex
	var all sync.WaitGroup
	began := time.Now()
	for range connections {
		all.Go(func() {
			for ctx.Err() == nil {
				if ask("noisy") && time.Since(began) > warmUp {
					answers.Add(1)
				}
			}
		})
	}
	for i := range quiets {
		all.Go(func() {
			time.Sleep(warmUp + pause*time.Duration(i)/quiets)
			for ctx.Err() == nil {
				sent := time.Now()
				if ask(fmt.Sprint("quiet ", i)) {
					mu.Lock()
					s.samples = append(s.samples, sample{sent.Sub(began) - warmUp, time.Since(sent)})
					mu.Unlock()
				}
				time.Sleep(time.Until(sent.Add(pause)))
			}
		})
	}
	all.Wait()
	if len(s.samples) == 0 {
		return nil, fmt.Errorf("%s: no quiet tenant has got an answer", name)
	}
	s.noisy = float64(answers.Load()) / d.Seconds()
	return s, nil
}
