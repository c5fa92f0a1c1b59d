package peers

import (
	"context"
	"sync"
	"sync/atomic"

	"go.temporal.io/server/common/backoff"
	"go.temporal.io/server/common/log"
	"go.temporal.io/server/common/tasks"

	"github.com/firq-go/firq"
)

// temporal drives the interleaved weighted round robin scheduler of Temporal's
// server: a channel of 1,000 tasks per tenant, and one goroutine that goes round
// the channels and hands what it takes to a first in, first out scheduler behind
// it (common/tasks). All tenants have the weight 1: one task each per round.
//
// There are two contestants. In temporalPull what is behind it is a plain Go
// channel that the driver's consumers read: the least that there can be, so that
// what is measured is the round robin. In temporalPush it is Temporal's own
// FIFOScheduler with as many workers as there are consumers, as the server has it.
//
// Configuration, for throughput: a logger that does nothing; no weight updates and
// no deletion of inactive channels; TrySubmit, and Submit, which blocks, where the
// tenant's channel is full. Each task is a pointer, as in the server: structs by
// value save an allocation, and were not faster beyond the noise, as each tenant's
// channel then is some 40 KB that its tasks walk through.
type temporal struct {
	waits
	iwrr *tasks.InterleavedWeightedRoundRobinScheduler[*temporalJob, string]
	// behind is how many tasks the stage behind the round robin holds at most:
	// its channel, its workers, and one that the round robin waits with.
	behind int

	mu       sync.Mutex
	channels []string // tenants that have a channel, guarded by mu

	controls atomic.Int64 // control tasks to come until idle is closed
	idle     chan struct{}
	stopped  sync.Once
}

// temporalQueue is the capacity of the channel behind the round robin. The server
// has 10 there. From 10 to 1,024 no difference beyond the noise was measured; the
// more there are, the more tasks are past the round robin and out of its order.
const temporalQueue = 64

// temporalJob is a task as Temporal wants it.
type temporalJob struct {
	job
	run     func(*temporalJob) // by whom it is run; nil: by the driver's consumers
	control bool               // of the adapter: not the driver's
}

func (t *temporal) start(behind int, fifo tasks.Scheduler[*temporalJob]) {
	t.behind = behind
	t.iwrr = tasks.NewInterleavedWeightedRoundRobinScheduler(
		tasks.InterleavedWeightedRoundRobinSchedulerOptions[*temporalJob, string]{
			TaskChannelKeyFn: func(j *temporalJob) string { return j.tenant },
			ChannelWeightFn: func(tenant string) int { // once, when the channel is made
				t.mu.Lock()
				t.channels = append(t.channels, tenant)
				t.mu.Unlock()
				return 1
			},
		}, fifo, log.NewNoopLogger())
	t.iwrr.Start()
}

func (t *temporal) enqueue(j *temporalJob) error {
	if t.iwrr.TrySubmit(j) {
		return nil
	}
	return firq.ErrTenantFull
}

// enqueueWait knows no end of ctx while Submit blocks.
func (t *temporal) enqueueWait(ctx context.Context, j *temporalJob) error {
	if ctx.Err() != nil {
		return firq.ErrTimeout
	}
	t.iwrr.Submit(j)
	return nil
}

// sendControls sends one control task for each of the tenants, which comes out
// after all that the tenant has queued, n times over.
func (t *temporal) sendControls(ctx context.Context, tenants []string, n int, run func(*temporalJob)) error {
	t.controls.Store(int64(n * len(tenants)))
	t.idle = make(chan struct{})
	for range n {
		for _, tenant := range tenants {
			j := &temporalJob{job: job{tenant: tenant}, run: run, control: true}
			if t.enqueue(j) == nil {
				continue
			}
			if err := t.enqueueWait(ctx, j); err != nil {
				return err
			}
		}
	}
	return nil
}

// controlled counts a control task that has come out.
func (t *temporal) controlled() {
	if t.controls.Add(-1) == 0 {
		close(t.idle)
	}
}

// prime makes each tenant's channel. A task goes into a channel only if the stage
// behind is full, else directly there; so it has to be filled first.
func (t *temporal) prime(ctx context.Context, tenants []string, run func(*temporalJob), open func()) error {
	if len(tenants) == 0 {
		return nil
	}
	rounds := (t.behind+1)/len(tenants) + 2
	err := t.sendControls(ctx, tenants, rounds, run)
	open()
	if err != nil {
		return err
	}
	return await(ctx, t.idle)
}

// flush waits until all that was enqueued has come out. No goroutine may enqueue.
// The round robin cannot be asked for that: its Stop aborts what is queued.
func (t *temporal) flush(ctx context.Context, run func(*temporalJob)) error {
	t.mu.Lock()
	tenants := append([]string{""}, t.channels...) // "": what went past the channels
	t.mu.Unlock()
	if err := t.sendControls(ctx, tenants, 1, run); err != nil {
		return err
	}
	return await(ctx, t.idle)
}

func (t *temporal) stop() { t.stopped.Do(t.iwrr.Stop) }

// The rest is what Temporal asks of a task. Execute is called by a worker of
// FIFOScheduler, and what follows it, Ack, does nothing.

func (j *temporalJob) Execute() error {
	j.run(j)
	return nil
}

func (j *temporalJob) HandleErr(err error) error        { return err }
func (j *temporalJob) IsRetryableError(error) bool      { return false }
func (j *temporalJob) RetryPolicy() backoff.RetryPolicy { return backoff.DisabledRetryPolicy }
func (j *temporalJob) Abort()                           {}
func (j *temporalJob) Cancel()                          {}
func (j *temporalJob) Ack()                             {}
func (j *temporalJob) Nack(error)                       {}
func (j *temporalJob) Reschedule()                      {}
func (j *temporalJob) State() tasks.State               { return tasks.TaskStatePending }
