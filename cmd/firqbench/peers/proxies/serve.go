package main

import (
	"context"
	"fmt"
	"io"
	"log/slog"
	"net/http"
	"net/http/httputil"
	"net/url"
	"sync"
	"time"

	"github.com/urfave/cli/v3"
)

// serve is a service, or httputil.ReverseProxy before one.
func serve(ctx context.Context, cmd *cli.Command) error {
	args := cmd.Args()
	h, err := handler(args.First(), args.Get(2))
	if err != nil {
		return err
	}
	s := http.Server{Addr: args.Get(1), Handler: h, ReadHeaderTimeout: time.Minute}
	go func() {
		<-ctx.Done()
		_ = s.Close()
	}()
	if err := s.ListenAndServe(); ctx.Err() == nil {
		return err
	}
	return nil
}

func handler(role, service string) (http.Handler, error) {
	hello := func(w http.ResponseWriter, _ *http.Request) { _, _ = io.WriteString(w, "hello\n") }
	switch role {
	case "tiny":
		return http.HandlerFunc(hello), nil
	case "slow": // first come, first served, as any server with so many workers
		workers := make(chan struct{}, slots)
		return http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
			workers <- struct{}{}
			time.Sleep(each)
			<-workers
			hello(w, r)
		}), nil
	case "proxy":
		t := http.DefaultTransport.(*http.Transport).Clone()
		t.Proxy, t.DisableCompression, t.MaxIdleConns, t.MaxIdleConnsPerHost = nil, true, 0, 1024
		u := &url.URL{Scheme: "http", Host: service}
		return &httputil.ReverseProxy{
			Rewrite:   func(r *httputil.ProxyRequest) { r.SetURL(u); r.Out.Host = r.In.Host; r.SetXForwarded() },
			Transport: t, BufferPool: buffers{}, ErrorLog: slog.NewLogLogger(slog.DiscardHandler, slog.LevelError),
		}, nil
	}
	return nil, fmt.Errorf("no role %q", role)
}

// buffers is an httputil.BufferPool: without one each request allocates 32 KiB.
type buffers struct{}

var pool = sync.Pool{New: func() any { return new([32 << 10]byte) }}

func (buffers) Get() []byte  { return pool.Get().(*[32 << 10]byte)[:] }
func (buffers) Put(b []byte) { pool.Put((*[32 << 10]byte)(b)) }
