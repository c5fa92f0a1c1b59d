package peers

import (
	"context"
	"time"

	"github.com/firq-go/firq"
	"github.com/firq-go/firq/cmd/firqbench/internal/contest"
	"github.com/firq-go/firq/hist"
)

// job is what a peer carries: the tenant's name, the payload, and when the task
// came in. What a peer has no notion of (costs, priorities, deadlines) is not
// carried.
type job struct {
	tenant  string
	payload uint64
	at      time.Duration // by contest.Now
}

func newJob(tenant string, t *contest.Task) job {
	return job{tenant, t.Payload, contest.Now()}
}

// waits is the histogram of queue times that every contestant keeps: firq's cores
// have one each, and so has the channel of package contest.
type waits struct{ *hist.Histogram }

func newWaits() waits { return waits{hist.New()} }

// deliver makes an item of j as it goes out: one read of the clock, one record.
func (w waits) deliver(j *job) contest.Item {
	// The stamp can be a little in the future where two processors' clocks differ.
	wait := max(0, contest.Now()-j.at)
	w.Record(wait)
	return contest.Item{
		Tenant: j.tenant, Payload: j.payload, Cost: 1, Priority: firq.PriorityNormal, Wait: wait,
	}
}

// pushed is the half of contest.Queue that a peer with its own workers does not
// have. The driver never calls it.
type pushed struct{}

func (pushed) TryDequeue() (contest.Item, bool) { panic("firq: this peer runs its tasks itself") }

func (pushed) Dequeue(context.Context) (contest.Item, error) {
	panic("firq: this peer runs its tasks itself")
}

func (pushed) DequeueBatch(context.Context, []contest.Item) (int, error) {
	panic("firq: this peer runs its tasks itself")
}

// enqueuer is a peer's way in.
type enqueuer interface {
	Enqueue(tenant string, t contest.Task) error
}

// enqueueBatch is EnqueueBatch for peers that take one task per call.
func enqueueBatch(q enqueuer, tenant string, ts []contest.Task) (int, error) {
	for i := range ts {
		if err := q.Enqueue(tenant, ts[i]); err != nil {
			return i, err
		}
	}
	return len(ts), nil
}

// await waits until done is closed, or ctx is.
func await(ctx context.Context, done <-chan struct{}) error {
	select {
	case <-done:
		return nil
	case <-ctx.Done():
		return ctx.Err()
	}
}
