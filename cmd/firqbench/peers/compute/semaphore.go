package main

import (
	"context"

	"github.com/maypok86/otter/v2"
	"golang.org/x/sync/semaphore"
	"golang.org/x/sync/singleflight"
)

// semaphoreSystem is what many services have: a cache, calls of one key made one, and a semaphore
// so that not too many execute. The call that leads executes on its own goroutine.
type semaphoreSystem struct {
	cache   *otter.Cache[key, uint64] // nil: nothing is kept
	flights singleflight.Group
	slots   *semaphore.Weighted
	work    work
}

func newSemaphored(s setup) (system, error) {
	p := &semaphoreSystem{slots: semaphore.NewWeighted(int64(s.slots)), work: s.work}
	if s.size > 0 {
		c, err := newOtter[key](s.size, true)
		if err != nil {
			return nil, err
		}
		p.cache = c
	}
	return p, nil
}

func (p *semaphoreSystem) do(ctx context.Context, k key) (uint64, error) {
	if p.cache != nil {
		if v, ok := p.cache.GetIfPresent(k); ok {
			return v, nil
		}
	}
	v, err, _ := p.flights.Do(name(k), func() (any, error) {
		if err := p.slots.Acquire(ctx, 1); err != nil {
			return nil, err
		}
		defer p.slots.Release(1)
		v, err := p.work(ctx, k)
		if err == nil && p.cache != nil {
			p.cache.Set(k, v)
		}
		return v, err
	})
	if err != nil {
		return 0, err
	}
	return v.(uint64), nil
}

func (p *semaphoreSystem) close() {
	if p.cache != nil {
		p.cache.StopAllGoroutines()
	}
}
