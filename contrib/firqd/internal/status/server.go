package status

import (
	"context"
	"errors"
	"fmt"
	"net"
	"net/http"
	"time"
)

// Server is a web server that runs. Its methods may be called from anywhere.
type Server struct {
	server   http.Server
	listener net.Listener
	ended    chan error // what Serve returned; then closed
}

// Start listens on addr, host:port, and serves the pages there. A port without a host is one of the loopback
// interface; port 0 is any that is free.
func Start(addr string, o Options) (*Server, error) {
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
	s := &Server{listener: listener, ended: make(chan error, 1)}
	s.server = http.Server{
		Handler: newPages(o, s.Exposed()), ReadHeaderTimeout: 5 * time.Second, ReadTimeout: 10 * time.Second,
		WriteTimeout: 30 * time.Second, IdleTimeout: time.Minute, MaxHeaderBytes: 64 << 10,
	}
	go func() {
		s.ended <- s.server.Serve(listener)
		close(s.ended)
	}()
	return s, nil
}

// URL returns where the pages are.
func (s *Server) URL() string { return "http://" + s.listener.Addr().String() + "/" }

// Exposed reports whether others than the programs of this machine can reach the server.
func (s *Server) Exposed() bool {
	addr, ok := s.listener.Addr().(*net.TCPAddr)
	return !ok || !addr.IP.IsLoopback()
}

// Ended returns a channel that gets an error if the server ends before Close.
func (s *Server) Ended() <-chan error { return s.ended }

// Close ends the server, and returns when all requests have ended; after 5 s it does not wait any more.
func (s *Server) Close() error {
	ctx, cancel := context.WithTimeout(context.Background(), 5*time.Second)
	defer cancel()
	err := s.server.Shutdown(ctx)
	if errors.Is(err, context.DeadlineExceeded) {
		err = s.server.Close()
	}
	if served, ok := <-s.ended; ok && !errors.Is(served, http.ErrServerClosed) { // else it was read from Ended
		err = errors.Join(err, fmt.Errorf("serving: %w", served))
	}
	return err
}
