package compute

import (
	"context"
	"fmt"
	"time"

	"github.com/firq-go/firq"
	"github.com/firq-go/firq/gate"
)

// Server answers calls.
type Server[T, K comparable, V any] struct {
	cfg Config[T, K, V]
}

// New returns a Server.
func New[T, K comparable, V any](exec Exec[T, K, V], cfg Config[T, K, V]) (*Server[T, K, V], error) {
	if exec == nil {
		return nil, fmt.Errorf("%w: exec is nil", firq.ErrInvalidArgument)
	}
	cfg, err := cfg.check()
	if err != nil {
		return nil, err
	}
	if _, err := gate.Open(cfg.Limit, cfg.Gate); err != nil {
		return nil, err
	}
	return &Server[T, K, V]{cfg: cfg}, nil
}

const skeleton = "firq: compute: not there yet"

func (s *Server[T, K, V]) Do(ctx context.Context, tenant T, key K) (V, error) { panic(skeleton) }
func (s *Server[T, K, V]) DoInfo(ctx context.Context, tenant T, key K, o ...DoOption) (V, Info, error) {
	panic(skeleton)
}
func (s *Server[T, K, V]) Peek(tenant T, key K) (V, Info, bool) { panic(skeleton) }
func (s *Server[T, K, V]) Forget(tenant T, keys ...K)           { panic(skeleton) }
func (s *Server[T, K, V]) ForgetTenant(tenant T)                { panic(skeleton) }
func (s *Server[T, K, V]) ForgetAll()                           { panic(skeleton) }
func (s *Server[T, K, V]) Warm(tenant T, key K, v V)            { panic(skeleton) }
func (s *Server[T, K, V]) SetLimit(n int)                       { panic(skeleton) }
func (s *Server[T, K, V]) SetGroups(n int)                      { panic(skeleton) }
func (s *Server[T, K, V]) SetQuantum(tenant T, q int64)         { panic(skeleton) }
func (s *Server[T, K, V]) Stats() Stats[T]                      { panic(skeleton) }
func (s *Server[T, K, V]) Shutdown(ctx context.Context) error   { panic(skeleton) }
func (s *Server[T, K, V]) Close() error                         { panic(skeleton) }

// Batcher executes calls in batches.
type Batcher[T, K comparable, V any] struct{ timeout time.Duration }

// NewBatcher returns a Batcher.
func NewBatcher[T, K comparable, V any](exec func(ctx context.Context, calls []Call[T, K]) ([]V, error), cfg BatchConfig[T]) (*Batcher[T, K, V], error) {
	return &Batcher[T, K, V]{}, nil
}
func (b *Batcher[T, K, V]) Do(ctx context.Context, tenant T, key K) (V, error) { panic(skeleton) }
func (b *Batcher[T, K, V]) SetLimit(n int)                                     { panic(skeleton) }
func (b *Batcher[T, K, V]) Stats() BatchStats[T]                               { panic(skeleton) }
func (b *Batcher[T, K, V]) Shutdown(ctx context.Context) error                 { panic(skeleton) }
func (b *Batcher[T, K, V]) Close() error                                       { panic(skeleton) }

// Errors are one per call.
type Errors []error

// Error says them all.
func (e Errors) Error() string { return skeleton }
