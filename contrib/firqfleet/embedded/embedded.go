// Package embedded makes a member of a fleet whose server runs in this process, for tests and for a quick start: a fleet of one. The
// server keeps nothing on disk, and is slower than a real one.
package embedded

import (
	"context"
	"fmt"
	"time"

	"github.com/alicebob/miniredis/v2"
	"github.com/redis/go-redis/v9"

	"github.com/firq-go/firq"
	"github.com/firq-go/firq/contrib/firqfleet"
)

// Server is a server in this process, for several members, or for rates.
type Server struct {
	mini *miniredis.Miniredis
	quit chan struct{}
	done chan struct{}
}

// Start starts a Server.
func Start() (*Server, error) {
	m := miniredis.NewMiniRedis()
	if err := m.Start(); err != nil {
		return nil, fmt.Errorf("embedded: %w", err)
	}
	s := &Server{mini: m, quit: make(chan struct{}), done: make(chan struct{})}
	go s.tick()
	return s, nil
}

// tick lets time pass, which miniredis does not do by itself.
func (s *Server) tick() {
	defer close(s.done)
	t := time.NewTicker(10 * time.Millisecond)
	defer t.Stop()
	for last := time.Now(); ; {
		select {
		case now := <-t.C:
			s.mini.FastForward(now.Sub(last))
			last = now
		case <-s.quit:
			return
		}
	}
}

// Client returns a client of the server, which the caller closes.
func (s *Server) Client() *redis.Client {
	return redis.NewClient(&redis.Options{Addr: s.mini.Addr(), MaxRetries: -1})
}

// Close ends the server, after the members that use it.
func (s *Server) Close() {
	close(s.quit)
	<-s.done
	s.mini.Close()
}

// New returns a member on its own server, which ends when the member has ended, after Close or Shutdown. Client must be nil.
func New(ctx context.Context, limit int, cfg firqfleet.Config) (*firqfleet.Gate, error) {
	if cfg.Client != nil {
		return nil, fmt.Errorf("%w: embedded: Client: must be nil", firq.ErrInvalidConfig)
	}
	s, err := Start()
	if err != nil {
		return nil, err
	}
	c := s.Client()
	cfg.Client = c
	g, err := firqfleet.New(ctx, limit, cfg)
	if err != nil {
		_ = c.Close()
		s.Close()
		return nil, err
	}
	go func() {
		<-g.Done()
		_ = c.Close()
		s.Close()
	}()
	return g, nil
}
