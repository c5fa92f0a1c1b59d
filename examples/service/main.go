// Service is a small HTTP service that many tenants share, behind a firq gate, with
// metrics.
//
//	go run ./examples/service
//	curl -H 'Tenant: me' 'http://127.0.0.1:8080/render?ms=20'
//	curl http://127.0.0.1:8080/metrics
//
// It runs until it is interrupted, then finishes the calls that it has. This shows what a
// noisy neighbour does to a quiet tenant, with and without firq:
//
//	examples/service/noisy-neighbour
package main

import (
	"context"
	"errors"
	"flag"
	"fmt"
	"net"
	"net/http"
	"os"
	"os/signal"
	"syscall"
	"time"
)

func main() {
	var c config
	flag.StringVar(&c.addr, "addr", "127.0.0.1:8080", "where to listen; port 0: any that is free")
	flag.IntVar(&c.slots, "slots", 8, "calls at a time")
	flag.IntVar(&c.queue, "queue", 64, "calls of one tenant that may wait; without firq: of all tenants")
	flag.BoolVar(&c.fair, "fair", true, "tenants take turns (firq); false: a plain semaphore")
	flag.DurationVar(&c.grace, "grace", 10*time.Second, "how long calls may go on after an interrupt")
	flag.Parse()
	ctx, stop := signal.NotifyContext(context.Background(), os.Interrupt, syscall.SIGTERM)
	defer stop()
	err := serve(ctx, c, func(addr net.Addr) { fmt.Printf("listening on http://%s\n", addr) })
	if err != nil {
		fmt.Fprintln(os.Stderr, "service:", err)
		os.Exit(1)
	}
}

type config struct {
	addr         string
	slots, queue int
	fair         bool
	grace        time.Duration
}

// serve serves until ctx is done; it calls ready once it listens.
func serve(ctx context.Context, c config, ready func(net.Addr)) error {
	if c.slots < 1 || c.queue < 1 {
		return errors.New("--slots and --queue must be at least 1")
	}
	limit, err := newLimiter(c)
	if err != nil {
		return err
	}
	m := newMetrics(limit)
	mux := http.NewServeMux()
	mux.Handle("GET /render", limited(limit, m, http.HandlerFunc(render)))
	mux.Handle("GET /metrics", m)
	listener, err := net.Listen("tcp", c.addr)
	if err != nil {
		return err
	}
	server := &http.Server{Handler: mux, ReadHeaderTimeout: 5 * time.Second}
	end := make(chan error, 1)
	go func() { end <- server.Serve(listener) }()
	ready(listener.Addr())
	select {
	case err := <-end:
		return err
	case <-ctx.Done():
	}
	grace, cancel := context.WithTimeout(context.WithoutCancel(ctx), c.grace)
	defer cancel()
	if err := server.Shutdown(grace); err != nil {
		return errors.Join(err, server.Close())
	}
	if err := <-end; !errors.Is(err, http.ErrServerClosed) {
		return err
	}
	return nil
}

// maxRender is the longest time that a call may ask for.
const maxRender = 10 * time.Second

// render stands for the service's work: it takes as long as the request says.
func render(w http.ResponseWriter, r *http.Request) {
	took, err := time.ParseDuration(r.FormValue("ms") + "ms")
	if err != nil || took < 0 || took > maxRender {
		http.Error(w, fmt.Sprintf("ms must be a number from 0 to %d", maxRender.Milliseconds()), http.StatusBadRequest)
		return
	}
	t := time.NewTimer(took)
	defer t.Stop()
	select {
	case <-t.C:
		_, _ = fmt.Fprintln(w, "rendered") // the client may have gone
	case <-r.Context().Done():
	}
}
