package replay

import (
	"context"
	"errors"
	"fmt"
	"runtime"
	"sync"
	"sync/atomic"
	"time"

	"github.com/firq-go/firq"
	"github.com/firq-go/firq/cmd/firqbench/internal/contest"
	"github.com/firq-go/firq/cmd/firqbench/internal/load"
	"github.com/firq-go/firq/cmd/firqbench/internal/trace"
	"github.com/firq-go/firq/cmd/firqbench/internal/usage"
	"github.com/firq-go/firq/hist"
)

// grain is the step in which workers sleep. Timers are late by about a
// millisecond on an idle machine, hence a worker sleeps for several short tasks
// together rather than for each.
const grain = time.Millisecond

// Result is what one contestant did with the trace, in one pass or more.
type Result struct {
	Contestant string        `json:"contestant"`
	Rounds     int           `json:"rounds,omitempty"` // passes; files of before they were counted have one
	Elapsed    time.Duration `json:"elapsed_ns"`       // first arrival to last delivery, in the longest pass
	// Requests, of all passes.
	Delivered int `json:"delivered"`
	Expired   int `json:"expired"`
	Rejected  int `json:"rejected"`
	// CPU and Switches are the processor time and the context switches of the
	// whole process, with arrivals and workers, in all passes.
	CPU      time.Duration `json:"cpu_ns,omitempty"`
	Switches uint64        `json:"context_switches,omitempty"`
	// Others is the part of the machine's processor time, 0 to 1, that other programs used
	// in the same time; of several passes the largest. 0 also where the system does not say.
	Others float64 `json:"others,omitempty"`
	// Lag is how much later than intended requests were enqueued. Queue times
	// are since the intended arrival and include it.
	Lag    load.Latency `json:"lag"`
	Groups []GroupTime  `json:"groups"`
	// Service records which tenants were served when, in units of cost, in the first pass.
	Service *load.Service `json:"service,omitempty"`

	late *hist.Snapshot // of Lag
}

// Add pools another pass, which the same contestant has made over the same trace.
func (r *Result) Add(pass Result) {
	r.Rounds += pass.Rounds
	r.Elapsed = max(r.Elapsed, pass.Elapsed)
	r.Delivered += pass.Delivered
	r.Expired += pass.Expired
	r.Rejected += pass.Rejected
	r.CPU += pass.CPU
	r.Switches += pass.Switches
	r.Others = max(r.Others, pass.Others)
	r.late.Merge(pass.late)
	r.Lag = load.Summary(r.late)
	for i := range r.Groups {
		g, more := &r.Groups[i], &pass.Groups[i]
		g.waits.Merge(more.waits)
		g.Queue = load.Summary(g.waits)
		g.P99s = append(g.P99s, more.P99s...)
	}
}

// On a machine that keeps up, arrivals are late by the grain of a timer, a millisecond, and a
// few by some ten more.
const (
	mostLate     = 5 * time.Millisecond  // at the 99th percentile
	mostEverLate = 50 * time.Millisecond // at the worst
)

// Late reports whether the machine did not keep the pace of p: requests arrived so late that the
// queue times, which count from when they were to arrive, are not the contestant's. Where all
// requests arrive together there is no pace.
func (r *Result) Late(p *Plan) bool {
	return p.Speed > 0 && (r.Lag.P99 > mostLate || r.Lag.Max > mostEverLate)
}

// Progress is called now and then with the number of requests that are settled.
type Progress func(contestant string, settled int)

// replayer replays a trace once. A request's wait is written once, by the goroutine that
// settles it: atomically, so that a contestant that delivers it twice is found
// out. The waits are read when all workers have ended.
type replayer struct {
	t     *trace.Trace
	p     Plan
	q     contest.Queue
	began time.Duration // when trace time 0 is, on the driver's clock

	waits    []atomic.Int64 // per request; unsettled, lost or the queue time
	lag      *hist.Local    // written by the arrivals alone
	rejected int            // likewise
	expired  atomic.Int64
	settled  atomic.Int64
	over     chan struct{} // closed when all requests are settled
	twice    atomic.Int64  // requests delivered again
	last     atomic.Int64  // last delivery, on the driver's clock
	failure  atomic.Pointer[error]
}

const (
	unsettled = -1
	lost      = -2 // expired or rejected
)

// Run replays t once. When ctx ends first it returns what there is, and
// ctx.Err().
func Run(ctx context.Context, t *trace.Trace, p Plan, c contest.Contestant, progress Progress) (Result, error) {
	runtime.GC() // what the previous contestant left behind is not this one's
	r := &replayer{t: t, p: p, lag: hist.NewLocal(), over: make(chan struct{}), waits: make([]atomic.Int64, len(t.Requests))}
	for i := range r.waits {
		r.waits[i].Store(unsettled)
	}
	var err error
	r.q, err = c.New(contest.Config{
		MaxGlobal: len(t.Requests), // rejecting is not the subject
		Quantum:   p.Quantum, Shards: p.Shards, MaxInFlightPerTenant: p.InFlight,
		OnDrop: func(_ string, payload uint64, _ firq.DropReason) { r.drop(int(payload)) },
	})
	if err != nil {
		return Result{}, err
	}
	defer r.q.Close() //nolint:errcheck // always nil
	ctx, cancel := context.WithCancel(ctx)
	defer cancel()

	before, idle := usage.Now(), usage.OfMachine()
	done := make(chan struct{})
	r.began = contest.Now()
	go func() {
		defer close(done)
		r.drive(ctx, cancel)
	}()
	r.watch(done, c.Name, progress)
	used := usage.Now().Since(before)
	res := r.result(c.Name)
	res.CPU, res.Switches = used.CPU, used.Switches
	res.Others = usage.OfMachine().Others(idle)
	if err := r.failure.Load(); err != nil {
		return res, fmt.Errorf("%s: %w", c.Name, *err)
	}
	if ctx.Err() != nil {
		return res, ctx.Err()
	}
	if err := r.verify(); err != nil {
		return res, fmt.Errorf("%s: %w", c.Name, err)
	}
	return res, nil
}

// drive runs the workers and the arrivals, and returns when all have ended.
func (r *replayer) drive(ctx context.Context, cancel context.CancelFunc) {
	var workers sync.WaitGroup
	for range r.p.Workers {
		workers.Go(func() { r.work(ctx, cancel) })
	}
	err := r.arrive(ctx)
	if err == nil {
		err = r.q.Shutdown(ctx)
	}
	if err != nil {
		r.fail(ctx, cancel, err)
	}
	workers.Wait()
}

func (r *replayer) fail(ctx context.Context, cancel context.CancelFunc, err error) {
	if ctx.Err() == nil {
		r.failure.CompareAndSwap(nil, &err)
	}
	cancel()
}

// watch reports progress until done. It takes no CPU time: the workers sleep.
func (r *replayer) watch(done <-chan struct{}, name string, progress Progress) {
	tick := time.NewTicker(250 * time.Millisecond)
	defer tick.Stop()
	for {
		progress(name, int(r.settled.Load()))
		select {
		case <-done:
			return
		case <-tick.C:
		}
	}
}

// due returns when a request arrives, on the driver's clock.
func (r *replayer) due(i int) time.Duration {
	return r.began + scaled(r.t.Requests[i].At, r.p.Speed)
}

// arrive enqueues each request at its time, whatever became of those before.
func (r *replayer) arrive(ctx context.Context) error {
	for i, req := range r.t.Requests {
		due := r.due(i)
		if wait := due - contest.Now(); wait > 0 {
			if err := r.sleep(ctx, wait); err != nil {
				return err
			}
		} else if ctx.Err() != nil {
			return ctx.Err()
		}
		task := contest.Task{Payload: uint64(i), Cost: req.Cost, Priority: firq.Priority(req.Priority)}
		if req.Life > 0 {
			life := req.Life // shrinks with the time between the arrivals
			if r.p.Speed > 0 {
				life = scaled(life, r.p.Speed)
			}
			task.Deadline = contest.TimeAt(due + life)
		}
		r.lag.Record(max(0, contest.Now()-due))
		err := r.q.Enqueue(r.t.Tenants[req.Tenant], task)
		if errors.Is(err, firq.ErrRejected) {
			r.rejected++
			r.settle(i, lost)
		} else if err != nil {
			return err
		}
	}
	return nil
}

// work is a worker that is busy for the service time of each request.
//
// It sleeps rather than computes: more workers than cores can then be busy at
// the same time, as workers that wait for a disk or another service are, and the
// schedulers have the CPU to themselves. free is when the worker would be done
// with what it took so far. It sleeps only when that is a grain away, and when
// it has overslept the next request, if that was waiting, counts from free: the
// workers are neither faster nor slower than --service says, but a single queue
// time is exact to about a grain only.
func (r *replayer) work(ctx context.Context, cancel context.CancelFunc) {
	for free := r.began; ; {
		it, err := r.q.Dequeue(ctx)
		if err != nil {
			if !errors.Is(err, firq.ErrClosed) {
				r.fail(ctx, cancel, err)
			}
			return
		}
		now := contest.Now()
		i := int(it.Payload)
		due := r.due(i)
		r.settle(i, max(0, now-due))
		r.last.Store(int64(now))
		free = max(free, due) + time.Duration(float64(r.t.Requests[i].Cost)*r.p.ServiceNs)
		ahead := free - now
		if ahead >= grain && r.sleep(ctx, ahead) != nil {
			return
		}
		it.Done()
	}
}

func (r *replayer) settle(i int, wait time.Duration) {
	if i >= len(r.waits) || !r.waits[i].CompareAndSwap(unsettled, int64(wait)) {
		r.twice.Add(1)
		return
	}
	if int(r.settled.Add(1)) == len(r.waits) {
		close(r.over) // no goroutine needs to wait for the end of the last requests
	}
}

// drop is Config.OnDrop: the request has expired, or the replay was interrupted
// and the queue is closed.
func (r *replayer) drop(i int) {
	r.settle(i, lost)
	r.expired.Add(1)
}

// verify proves that every request ended exactly once.
func (r *replayer) verify() error {
	if n := r.twice.Load(); n > 0 {
		return fmt.Errorf("%d requests were delivered twice", n)
	}
	if n := len(r.waits) - int(r.settled.Load()); n > 0 {
		return fmt.Errorf("%d of %d requests were neither delivered nor dropped", n, len(r.waits))
	}
	return nil
}

func (r *replayer) result(name string) Result {
	lag := hist.NewSnapshot()
	r.lag.AddTo(lag)
	expired := int(r.expired.Load())
	elapsed := time.Duration(r.last.Load()) - r.began
	groups := Groups(r.t, r.p.Busiest)
	return Result{
		Contestant: name,
		Rounds:     1,
		Elapsed:    elapsed,
		Delivered:  int(r.settled.Load()) - expired - r.rejected,
		Expired:    expired, Rejected: r.rejected,
		Lag: load.Summary(lag), late: lag,
		Groups: times(r.t, groups, r.waits), Service: service(r.t, r.p, groups, r.waits, elapsed),
	}
}

// sleep waits for d, or for the end of the replay.
func (r *replayer) sleep(ctx context.Context, d time.Duration) error {
	timer := time.NewTimer(d)
	defer timer.Stop()
	select {
	case <-timer.C:
		return nil
	case <-r.over:
		return nil
	case <-ctx.Done():
		return ctx.Err()
	}
}
