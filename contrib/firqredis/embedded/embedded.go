// Package embedded makes queues whose server runs in this process, for tests and for a quick start. The server
// keeps nothing on disk, and is about twenty times slower than a real one.
package embedded

import (
	"context"
	"fmt"
	"time"

	"github.com/alicebob/miniredis/v2"
	"github.com/redis/go-redis/v9"

	"github.com/firq-go/firq"
	"github.com/firq-go/firq/contrib/firqredis"
)

// New returns a queue on its own server, which ends when the queue is closed. Client must be nil.
func New[T any](ctx context.Context, c firqredis.Config[T]) (*firqredis.Queue[T], error) {
	switch {
	case ctx == nil:
		return nil, fmt.Errorf("%w: embedded: New: nil context", firq.ErrInvalidArgument)
	case c.Client != nil:
		return nil, fmt.Errorf("%w: embedded: Client: must be nil", firq.ErrInvalidConfig)
	}
	s := miniredis.NewMiniRedis()
	if err := s.Start(); err != nil {
		return nil, fmt.Errorf("embedded: %w", err)
	}
	c.Client = redis.NewClient(&redis.Options{Addr: s.Addr()})
	q, err := firqredis.New(ctx, c)
	if err != nil {
		_ = c.Client.Close()
		s.Close()
		return nil, err
	}
	go tick(s, c.Client, q.Done())
	return q, nil
}

// tick lets time pass, which miniredis does not do by itself, until the queue is closed.
func tick(s *miniredis.Miniredis, client redis.UniversalClient, done <-chan struct{}) {
	const step = 10 * time.Millisecond
	t := time.NewTicker(step)
	defer t.Stop()
	for last := time.Now(); ; {
		select {
		case now := <-t.C:
			s.FastForward(now.Sub(last))
			last = now
		case <-done:
			_ = client.Close()
			s.Close()
			return
		}
	}
}
