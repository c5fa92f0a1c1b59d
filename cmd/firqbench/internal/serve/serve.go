// Package serve shows a running benchmark to a browser, with the profiles of
// net/http/pprof next to it.
package serve

import (
	"context"
	"errors"
	"fmt"
	"net"
	"net/http"
	"net/http/pprof"
	"time"
)

// Pages is what there is to see.
type Pages = http.Handler

// Server is a web server that runs. Its methods may be called from anywhere.
type Server struct {
	server   http.Server
	listener net.Listener
	stop     context.CancelFunc // ends the requests' contexts
	ended    chan error         // what Serve returned
}

// Start listens on addr, host:port, and serves pages on /, and profiles of this
// process on /debug/pprof/. A port without a host is one of the loopback
// interface; port 0 is any that is free.
//
// It answers 403 to what a page of another server makes a browser ask for, and on
// the loopback interface to all that calls it neither localhost nor by a loopback
// address.
//
// Requests that go on, such as events, have to end with their context: Close ends
// it.
func Start(addr string, pages Pages) (*Server, error) {
	host, port, err := net.SplitHostPort(addr)
	if err != nil {
		return nil, err
	}
	if host == "" {
		host = "127.0.0.1"
	}
	listener, err := net.Listen("tcp", net.JoinHostPort(host, port))
	if err != nil {
		return nil, err
	}
	mux := http.NewServeMux()
	mux.Handle("/", pages)
	mux.HandleFunc("/debug/pprof/", pprof.Index)
	mux.HandleFunc("/debug/pprof/cmdline", pprof.Cmdline)
	mux.HandleFunc("/debug/pprof/profile", pprof.Profile)
	mux.HandleFunc("/debug/pprof/symbol", pprof.Symbol)
	mux.HandleFunc("/debug/pprof/trace", pprof.Trace)
	ctx, stop := context.WithCancel(context.Background())
	s := &Server{listener: listener, stop: stop, ended: make(chan error, 1)}
	s.server = http.Server{
		Handler: guard(!s.Exposed(), mux), ReadHeaderTimeout: 5 * time.Second, IdleTimeout: time.Minute,
		BaseContext: func(net.Listener) context.Context { return ctx },
	}
	go func() { s.ended <- s.server.Serve(listener) }()
	return s, nil
}

// URL returns where the pages are.
func (s *Server) URL() string { return "http://" + s.listener.Addr().String() + "/" }

// Exposed reports whether others than the programs of this machine can reach the
// server.
func (s *Server) Exposed() bool {
	addr, ok := s.listener.Addr().(*net.TCPAddr)
	return !ok || !addr.IP.IsLoopback()
}

// Close ends all requests and the server, and returns when they have ended; after
// 5 s it does not wait any more for what is still on, a CPU profile for example.
func (s *Server) Close() error {
	s.stop()
	ctx, cancel := context.WithTimeout(context.Background(), 5*time.Second)
	defer cancel()
	err := s.server.Shutdown(ctx)
	if errors.Is(err, context.DeadlineExceeded) {
		err = s.server.Close()
	}
	if served := <-s.ended; !errors.Is(served, http.ErrServerClosed) {
		err = errors.Join(err, fmt.Errorf("serving: %w", served))
	}
	return err
}
