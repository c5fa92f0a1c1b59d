package peers

import (
	"context"

	"github.com/firq-go/firq"
	"github.com/firq-go/firq/cmd/firqbench/internal/contest"
)

// temporalPull is the round robin before a channel that consumers read.
type temporalPull struct {
	temporal
	out *outbox
}

// outbox is the tasks.Scheduler behind the round robin.
type outbox struct {
	ch     chan *temporalJob
	closed chan struct{}
}

func (o *outbox) Start() {}
func (o *outbox) Stop()  { close(o.closed) }

func (o *outbox) Submit(j *temporalJob) {
	if o.TrySubmit(j) { // one case and a default cost far less than two cases
		return
	}
	select {
	case o.ch <- j:
	case <-o.closed:
	}
}

func (o *outbox) TrySubmit(j *temporalJob) bool {
	select {
	case o.ch <- j:
		return true
	default:
		return false
	}
}

func newTemporalPull(contest.Config) (contest.Queue, error) {
	p := &temporalPull{
		temporal: temporal{waits: newWaits()},
		out:      &outbox{make(chan *temporalJob, temporalQueue), make(chan struct{})},
	}
	p.start(temporalQueue+1, p.out)
	return p, nil
}

// Prime makes the tenants' channels. No consumer dequeues yet.
func (p *temporalPull) Prime(ctx context.Context, tenants []string) error {
	open := func() {
		go func() {
			for p.controls.Load() > 0 {
				<-p.out.ch
				p.controlled()
			}
		}()
	}
	return p.prime(ctx, tenants, nil, open)
}

func (p *temporalPull) Enqueue(tenant string, t contest.Task) error {
	return p.enqueue(&temporalJob{job: newJob(tenant, &t)})
}

func (p *temporalPull) EnqueueWait(ctx context.Context, tenant string, t contest.Task) error {
	return p.enqueueWait(ctx, &temporalJob{job: newJob(tenant, &t)})
}

func (p *temporalPull) EnqueueBatch(tenant string, ts []contest.Task) (int, error) {
	return enqueueBatch(p, tenant, ts)
}

// TryDequeue can find nothing while the round robin is about to hand something on.
func (p *temporalPull) TryDequeue() (contest.Item, bool) {
	for {
		select {
		case j := <-p.out.ch:
			if it, ok := p.item(j); ok {
				return it, true
			}
			if j == nil {
				return contest.Item{}, false
			}
		default:
			return contest.Item{}, false
		}
	}
}

func (p *temporalPull) Dequeue(ctx context.Context) (contest.Item, error) {
	for {
		var j *temporalJob
		select {
		case j = <-p.out.ch:
		default:
			select {
			case j = <-p.out.ch:
			case <-ctx.Done():
				return contest.Item{}, ctx.Err()
			}
		}
		if j == nil {
			return contest.Item{}, firq.ErrClosed
		}
		if it, ok := p.item(j); ok {
			return it, nil
		}
	}
}

// item makes an item of j, unless that is a control task, or nil: the channel was
// closed.
func (p *temporalPull) item(j *temporalJob) (contest.Item, bool) {
	switch {
	case j == nil:
		return contest.Item{}, false
	case j.control:
		p.controlled()
		return contest.Item{}, false
	}
	return p.deliver(&j.job), true
}

func (p *temporalPull) DequeueBatch(ctx context.Context, dst []contest.Item) (int, error) {
	it, err := p.Dequeue(ctx)
	if err != nil {
		return 0, err
	}
	dst[0] = it
	return 1, nil
}

// Shutdown waits until consumers have taken all, and closes their channel: the
// round robin has nothing left to send.
func (p *temporalPull) Shutdown(ctx context.Context) error {
	if err := p.flush(ctx, nil); err != nil {
		return err
	}
	close(p.out.ch)
	return nil
}

func (p *temporalPull) Close() error {
	p.stop()
	return nil
}
