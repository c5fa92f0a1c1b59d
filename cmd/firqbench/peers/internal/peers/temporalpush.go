package peers

import (
	"context"

	"go.temporal.io/server/common/dynamicconfig"
	"go.temporal.io/server/common/log"
	"go.temporal.io/server/common/tasks"

	"github.com/firq-go/firq/cmd/firqbench/internal/contest"
)

// temporalPush is the round robin before Temporal's FIFOScheduler.
type temporalPush struct {
	pushed
	temporal
	tenants []string
	workers int
	err     error // of Serve
	run     func(*temporalJob)
}

func newTemporalPush(contest.Config) (contest.Queue, error) {
	return &temporalPush{temporal: temporal{waits: newWaits()}}, nil
}

// Prime keeps the tenants for Serve: before, there is nothing to make channels in.
func (p *temporalPush) Prime(_ context.Context, tenants []string) error {
	p.tenants = tenants
	return nil
}

func (p *temporalPush) Serve(workers int, handle func(*contest.Item)) {
	p.workers = workers
	p.run = func(j *temporalJob) {
		it := p.deliver(&j.job)
		handle(&it)
	}
	count := func(func(int)) (int, func()) { return workers, func() {} }
	fifo := tasks.NewFIFOScheduler[*temporalJob](&tasks.FIFOSchedulerOptions{
		QueueSize: temporalQueue, WorkerCount: dynamicconfig.TypedSubscribable[int](count),
	}, log.NewNoopLogger())
	p.start(temporalQueue+workers+1, fifo)
	closed := make(chan struct{})
	p.err = p.prime(context.Background(), p.tenants, func(*temporalJob) {
		<-closed // until all are there
		p.controlled()
	}, func() { close(closed) })
}

func (p *temporalPush) job(tenant string, t *contest.Task) *temporalJob {
	return &temporalJob{job: newJob(tenant, t), run: p.run}
}

func (p *temporalPush) Enqueue(tenant string, t contest.Task) error {
	if p.err != nil {
		return p.err
	}
	return p.enqueue(p.job(tenant, &t))
}

func (p *temporalPush) EnqueueWait(ctx context.Context, tenant string, t contest.Task) error {
	return p.enqueueWait(ctx, p.job(tenant, &t))
}

func (p *temporalPush) EnqueueBatch(tenant string, ts []contest.Task) (int, error) {
	return enqueueBatch(p, tenant, ts)
}

// Shutdown waits until all has come out, and then until all workers are at a
// control task at the same time: none of them is at work any more.
func (p *temporalPush) Shutdown(ctx context.Context) error {
	if err := p.flush(ctx, func(*temporalJob) { p.controlled() }); err != nil {
		return err
	}
	all := make(chan struct{})
	err := p.sendControls(ctx, []string{""}, p.workers, func(*temporalJob) {
		p.controlled()
		<-all
	})
	if err == nil {
		err = await(ctx, p.idle)
	}
	close(all)
	return err
}

func (p *temporalPush) Close() error {
	if p.iwrr != nil {
		p.stop()
	}
	return nil
}
