package proxy

import (
	"io"
	"log/slog"
	"net/http"
	"net/http/httptest"
	"net/http/httputil"
	"net/url"
	"os"
	"path/filepath"
	"testing"

	"github.com/firq-go/firq/contrib/firqproxy/internal/config"
)

// BenchmarkForward is a request with a tiny response over loopback, by 32 connections, and by
// one. Client, proxy and service are this process, so what differs is the proxy.
//
//	go test -run '^$' -bench Forward -count 10 ./internal/proxy
func BenchmarkForward(b *testing.B) {
	service := httptest.NewServer(http.HandlerFunc(func(w http.ResponseWriter, _ *http.Request) { _, _ = io.WriteString(w, "hello\n") }))
	defer service.Close()
	u, err := url.Parse(service.URL)
	if err != nil {
		b.Fatal(err)
	}
	t := http.DefaultTransport.(*http.Transport).Clone()
	t.MaxIdleConns, t.MaxIdleConnsPerHost, t.DisableCompression, t.Proxy = 0, 1024, true, nil
	plain := &httputil.ReverseProxy{Rewrite: func(r *httputil.ProxyRequest) { r.SetURL(u); r.SetXForwarded() }, Transport: t, BufferPool: buffers{}}

	file := filepath.Join(b.TempDir(), "firqproxy.yaml")
	text := "upstream: " + service.URL + "\ntenant: [{header: X-Tenant}]\nlimits: {slots: 64, in_flight_per_tenant: 32, waiting_per_tenant: 100}\n"
	if err := os.WriteFile(file, []byte(text), 0o600); err != nil {
		b.Fatal(err)
	}
	cfg, err := config.Load(file, os.LookupEnv)
	if err != nil {
		b.Fatal(err)
	}
	p, err := New(b.Context(), cfg, slog.New(slog.DiscardHandler))
	if err != nil {
		b.Fatal(err)
	}
	for _, connections := range []struct {
		name string
		n    int
	}{{"32", 16}, {"1", 0}} {
		for name, h := range map[string]http.Handler{"plain": plain, "firqproxy": p} {
			b.Run("connections="+connections.name+"/impl="+name, func(b *testing.B) { forward(b, h, connections.n) })
		}
	}
}

// forward sends requests through a handler by perProcessor connections of each processor; 0: by
// one.
func forward(b *testing.B, h http.Handler, perProcessor int) {
	s := httptest.NewServer(h)
	defer s.Close()
	client := &http.Client{Transport: &http.Transport{MaxIdleConnsPerHost: 100}}
	defer client.CloseIdleConnections()
	one := func() {
		resp, err := client.Get(s.URL)
		if err != nil {
			b.Error(err)
			return
		}
		if _, err := io.Copy(io.Discard, resp.Body); err != nil || resp.StatusCode != http.StatusOK {
			b.Error(resp.StatusCode, err)
		}
		_ = resp.Body.Close()
	}
	b.ReportAllocs()
	if perProcessor == 0 {
		for b.Loop() {
			one()
		}
		return
	}
	b.SetParallelism(perProcessor)
	b.RunParallel(func(pb *testing.PB) {
		for pb.Next() {
			one()
		}
	})
}
