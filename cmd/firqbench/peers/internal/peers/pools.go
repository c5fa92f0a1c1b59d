package peers

import (
	"context"

	"github.com/alitto/pond/v2"
	"github.com/panjf2000/ants/v2"

	"github.com/firq-go/firq"
	"github.com/firq-go/firq/cmd/firqbench/internal/contest"
)

// pondPool drives alitto/pond: as many workers as there are consumers, and a
// bounded queue before them.
//
// Configuration, for throughput: Go, which makes no future for the caller, where
// Submit does; WithoutPanicRecovery; a queue as large as the other contestants'
// (WithQueueSize), at whose end Go blocks. Each task is a closure, as pond's
// documentation has it. No tenants: first in, first out.
type pondPool struct {
	pushed
	waits
	size   int
	pool   pond.Pool
	handle func(*contest.Item)
}

func newPond(cfg contest.Config) (contest.Queue, error) {
	cfg, err := cfg.Resolve()
	if err != nil {
		return nil, err
	}
	return &pondPool{waits: newWaits(), size: cfg.MaxGlobal}, nil
}

func (p *pondPool) Prime(context.Context, []string) error { return nil }

func (p *pondPool) Serve(workers int, handle func(*contest.Item)) {
	p.handle = handle
	p.pool = pond.NewPool(workers, pond.WithQueueSize(p.size), pond.WithoutPanicRecovery())
}

func (p *pondPool) Enqueue(tenant string, t contest.Task) error {
	j := newJob(tenant, &t)
	err := p.pool.Go(func() {
		it := p.deliver(&j)
		p.handle(&it)
	})
	if err != nil {
		return firq.ErrClosed
	}
	return nil
}

func (p *pondPool) EnqueueWait(_ context.Context, tenant string, t contest.Task) error {
	return p.Enqueue(tenant, t)
}

func (p *pondPool) EnqueueBatch(tenant string, ts []contest.Task) (int, error) {
	return enqueueBatch(p, tenant, ts)
}

func (p *pondPool) Shutdown(ctx context.Context) error { return await(ctx, p.pool.Stop().Done()) }

func (p *pondPool) Close() error {
	if p.pool != nil {
		p.pool.Stop()
	}
	return nil
}

// antsPool drives panjf2000/ants: as many workers as there are consumers.
//
// Configuration, for throughput: PoolWithFuncGeneric, which passes each task by
// value to one function and allocates nothing; PreAlloc; DisablePurge, so that
// workers stay and no clock ticks. It has no queue: Invoke blocks while all
// workers are busy, without a limit on how many wait. No tenants.
type antsPool struct {
	pushed
	waits
	pool *ants.PoolWithFuncGeneric[job]
	err  error // of Serve
}

func newAnts(contest.Config) (contest.Queue, error) { return &antsPool{waits: newWaits()}, nil }

func (p *antsPool) Prime(context.Context, []string) error { return nil }

func (p *antsPool) Serve(workers int, handle func(*contest.Item)) {
	p.pool, p.err = ants.NewPoolWithFuncGeneric(workers, func(j job) {
		it := p.deliver(&j)
		handle(&it)
	}, ants.WithPreAlloc(true), ants.WithDisablePurge(true))
}

func (p *antsPool) Enqueue(tenant string, t contest.Task) error {
	if p.err != nil {
		return p.err
	}
	return p.pool.Invoke(newJob(tenant, &t))
}

func (p *antsPool) EnqueueWait(_ context.Context, tenant string, t contest.Task) error {
	return p.Enqueue(tenant, t)
}

func (p *antsPool) EnqueueBatch(tenant string, ts []contest.Task) (int, error) {
	return enqueueBatch(p, tenant, ts)
}

// Shutdown waits for the workers.
func (p *antsPool) Shutdown(ctx context.Context) error { return p.pool.ReleaseContext(ctx) }

func (p *antsPool) Close() error {
	if p.pool != nil && !p.pool.IsClosed() {
		p.pool.Release()
	}
	return nil
}
