// Package load drives one contestant through one scenario once and says what
// came out.
//
// What could make the numbers lie, and what is done about it:
//
//   - Throughput counts tasks that consumers received inside the measured
//     window, not tasks that producers got rid of.
//   - Without a rate all loops but that of overload are closed: latencies are
//     those of a system that pushes back. They do not say what clients see that
//     come at their own rate (coordinated omission). With Spec.Rate they do:
//     see Open; so does replay.
//   - Producers wait by a window of unfinished tasks outside the contestant
//     (see window), so the queue does not fill and no producer burns the CPU with
//     attempts that are rejected. Only capacity_pressure and overload are about
//     rejects.
//   - A goroutine's counters are its own and plain; they are read after it has
//     ended. Tenants' names and random numbers cost no call.
//   - Each enqueue would need two clock reads to be timed, as much as the call
//     itself: one in SampleEvery is.
//   - The run starts after a garbage collection, with every tenant known, and
//     with a warm-up that is not counted.
//   - In the end the backlog is drained and every accepted task must have been
//     delivered or dropped, once. If not, the run has no result, but an error.
package load

import (
	"context"
	"errors"
	"fmt"
	"runtime"
	"sync"
	"sync/atomic"
	"time"

	"github.com/firq-go/firq"
	"github.com/firq-go/firq/cmd/firqbench/internal/arrivals"
	"github.com/firq-go/firq/cmd/firqbench/internal/contest"
	"github.com/firq-go/firq/cmd/firqbench/internal/neighbour"
	"github.com/firq-go/firq/cmd/firqbench/internal/scenario"
	"github.com/firq-go/firq/cmd/firqbench/internal/spin"
)

// SampleEvery says that one enqueue call in this many is timed. In ping_pong all
// are.
const SampleEvery = 16

// drainLimit is how long the backlog may take when the producers have ended. It
// is far more than any backlog needs: it turns a lost task into an error.
const drainLimit = 30 * time.Second

// Spec is what to run.
type Spec struct {
	Scenario   scenario.Scenario
	Contestant contest.Contestant
	Work       time.Duration // CPU time per task or call (Scenario.WorkPerCall), on each side
	Idle       time.Duration // ping-pong: the sleep between two rounds
	Warmup     time.Duration
	Measure    time.Duration
	Tasks      int // the run sends this many tasks, and Warmup and Measure count for nothing; 0: it goes by them
	Probe      int // tasks per tenant in the fairness probe; 0: 128; below 0: no probe

	// Rate makes an open loop of a Flow: the producers together send this many
	// tasks per second by the clock, in the given shape; 0: as the scenario has it.
	Rate     float64
	Arrivals arrivals.Shape

	// Record: after the measured window the run goes on for so long, to record
	// Result.Service.
	Record time.Duration
	// Watch, where it is not nil, is called when something happens after the measured window;
	// there is no record then.
	Watch *Watch
}

// Phases of a run. The driver's goroutines look at the phase once per task.
const (
	warming int32 = iota
	measuring
	finishing // with Spec.Rate: what was due in the window is still sent and served
	recording // where there is a Watch: the load goes on
	stopping
)

// run is a run in progress. Everything but the phase, the window, the drops
// and the failure is immutable once the goroutines have started.
type run struct {
	Spec
	s     scenario.Scenario
	work  spin.Work // between calls
	serve spin.Work // a consumer's, per task: Scenario.Service
	keys  []string
	zipf  []float64 // Scenario.Skew: the parts of the tenants up to this one; nil: none
	// handles are by tenant, as keys are; nil: producers enqueue by key.
	handles []firq.Handle[string, uint64]
	q       contest.Queue
	ctx     context.Context
	every   uint64 // one enqueue in this many is timed

	paced    bool // all producers go by the clock: overload, and open
	open     bool // with Spec.Rate: latencies are from the intended start
	schedule arrivals.Schedule
	origin   time.Duration // when the schedule starts, by contest.Now
	from, to time.Duration // open: the measured window, since origin
	end      time.Duration // open: when the producers end by themselves

	_     [64]byte
	phase atomic.Int32 // written by measure and finish, or by fail
	_     [64]byte

	window *window // nil: producers go by the clock
	drops  drops

	producers, consumers []*sight // with a Watch

	sending atomic.Int32  // with Spec.Tasks: producers that have not ended
	sent    chan struct{} // closed by the last of them

	failure  error // the first one; guarded by failOnce
	failOnce sync.Once
}

// Run measures. It returns ctx.Err() if ctx ends first; there is no result then.
func Run(ctx context.Context, spec Spec) (Result, error) {
	r := &run{Spec: spec, s: spec.Scenario, work: spin.Of(spec.Work), serve: spin.Of(spec.Scenario.Service), every: SampleEvery}
	var rec recorder
	if spec.Record > 0 && spec.Watch == nil {
		r.Watch = rec.watch(spec.Record)
	}
	if err := r.plan(); err != nil {
		return Result{}, err
	}
	if r.Tasks > 0 {
		if !r.s.CanCount() || r.open {
			return Result{}, fmt.Errorf("%s goes by the clock and cannot run a number of tasks", r.s.Name)
		}
		if r.s.Deep && r.Tasks < r.s.Window { // consumers would pause for ever
			return Result{}, fmt.Errorf("%s needs %d tasks at least", r.s.Name, r.s.Window)
		}
		r.sending.Store(int32(r.s.Producers))
		r.sent = make(chan struct{})
	}
	r.keys = tenantKeys(r.s.Tenants)
	r.zipf = zipf(r.s.Tenants, r.s.Skew)
	var cancel context.CancelFunc
	r.ctx, cancel = context.WithCancel(ctx)
	defer cancel()

	result, err := r.do(cancel)
	result.Service = rec.service(r.keys, r.s.Hot())
	if ctx.Err() != nil {
		return Result{}, ctx.Err()
	}
	if err == nil && spec.Probe >= 0 {
		result.Jain, result.JainTenants, err = fairness(ctx, spec)
	}
	if err != nil {
		return Result{}, fmt.Errorf("%s, %s: %w", r.s.Name, spec.Contestant.Name, err)
	}
	return result, nil
}

func (r *run) do(cancel context.CancelFunc) (result Result, err error) {
	runtime.GC() // what the previous contestant left behind is not this one's
	free, err := r.confine()
	if err != nil {
		return Result{}, err
	}
	defer func() { err = errors.Join(err, free()) }()
	if r.q, err = r.Contestant.New(r.config()); err != nil {
		return Result{}, err
	}
	defer r.q.Close() //nolint:errcheck // always nil
	if r.s.Neighbour {
		n, err := neighbour.Start(neighbour.Threads(runtime.GOMAXPROCS(0)))
		if err != nil {
			return Result{}, err
		}
		defer n.Stop()
	}
	if _, ok := r.q.(contest.Runner); ok && (r.s.Shape != scenario.Flow || r.s.Batch > 1) {
		return Result{}, errRunner
	}
	switch r.s.Shape {
	case scenario.Pair:
		return r.pair()
	case scenario.PingPong:
		r.every = 1
		return r.pingPong(cancel)
	}
	return r.flow(cancel)
}

// config is the contestant's. A capacity that is not the subject is above all
// that the window lets through.
func (r *run) config() contest.Config {
	capacity := r.s.Capacity
	if capacity == 0 {
		capacity = max(1<<16, 2*r.s.Window)
	}
	return contest.Config{
		Shards: r.s.Shards, MaxGlobal: capacity, MaxPerTenant: r.s.PerTenant,
		OnDrop: r.dropped,
	}
}

// flow is the shape of most scenarios: producers here, consumers there.
func (r *run) flow(cancel context.CancelFunc) (Result, error) {
	if err := r.prime(); err != nil {
		return Result{}, err
	}
	if !r.open {
		r.window = newWindow(r.s.Window, r.s.Burst, r.s.Consumers)
		if r.s.Deep && r.s.Capacity == 0 { // else there may never be so much
			r.window.keepDeep()
		}
	}
	producers := make([]*producer, r.s.Producers)
	consumers := make([]*consumer, r.s.Consumers)
	sends, receives := newLabels(r.ctx, "producer"), newLabels(r.ctx, "consumer")
	var sending, receiving sync.WaitGroup
	r.origin = contest.Now()
	for i := range consumers {
		consumers[i] = newConsumer(r)
		consumers[i].labels = receives()
	}
	if runner, ok := r.q.(contest.Runner); ok {
		runner.Serve(len(consumers), newDesks(consumers).handle)
	} else {
		for _, c := range consumers {
			receiving.Go(c.loop)
		}
	}
	for i := range producers {
		producers[i] = newProducer(r, i)
		producers[i].labels = sends()
		sending.Go(producers[i].loop)
	}
	if !r.open && r.Tasks == 0 { // a number of tasks may be through before we look
		r.window.fill(r.ctx, &r.phase)
	}
	m := r.measure()
	if r.window != nil {
		r.window.stop()
	}
	var err error
	r.region(stopping, func() { err = r.finish(cancel, &sending, &receiving, r.q) })
	if _, ok := r.q.(contest.Runner); ok && err != nil {
		return Result{}, err // its workers may still be at work
	}
	return r.result(m, producers, consumers), errors.Join(err, r.verify(producers, consumers))
}

// enough reports whether a producer that has sent the given number of tasks has sent its share of
// Spec.Tasks.
func (r *run) enough(sent uint64) bool {
	return r.Tasks > 0 && sent >= uint64((r.Tasks+r.s.Producers-1)/r.s.Producers)
}

// ended is called once by each producer, at its end.
func (r *run) ended() {
	if r.Tasks > 0 && r.sending.Add(-1) == 0 {
		close(r.sent)
	}
}

// measure waits out the warm-up, the measured window, and the watch.
func (r *run) measure() (m meter) {
	if r.Tasks > 0 {
		m.start(r)
		select {
		case <-r.sent:
		case <-r.ctx.Done():
		}
		m.stop(r)
		return m
	}
	r.region(warming, func() { sleep(r.ctx, r.Warmup) })
	m.start(r)
	r.region(measuring, func() { sleep(r.ctx, r.Measure) })
	m.stop(r)
	if r.Watch != nil {
		r.watch()
		r.phase.Store(stopping)
	}
	return m
}

// finish waits for the producers, then has the backlog drained.
func (r *run) finish(cancel context.CancelFunc, sending, receiving *sync.WaitGroup, queues ...contest.Queue) error {
	limit := time.AfterFunc(drainLimit, cancel)
	defer limit.Stop()
	if r.open {
		hurry := time.AfterFunc(r.grace(), func() { r.phase.Store(stopping) })
		defer hurry.Stop()
	}
	sending.Wait()
	for _, q := range queues {
		if err := r.shutdown(q); err != nil && r.ctx.Err() == nil {
			r.fail(fmt.Errorf("shutdown: %w", err))
		}
	}
	receiving.Wait()
	if r.failure == nil && r.ctx.Err() != nil {
		return fmt.Errorf("the backlog was not drained within %v", drainLimit)
	}
	return r.failure
}

// shutdown stops q. The workers of a contest.Runner are waited for even if the
// run was interrupted, as only they know when they are done.
func (r *run) shutdown(q contest.Queue) error {
	ctx := r.ctx
	if _, ok := q.(contest.Runner); ok {
		var cancel context.CancelFunc
		ctx, cancel = context.WithTimeout(context.WithoutCancel(ctx), drainLimit)
		defer cancel()
	}
	return q.Shutdown(ctx)
}

// fail ends the run early, because of err.
func (r *run) fail(err error) {
	r.failOnce.Do(func() { r.failure = err })
	r.phase.Store(stopping)
}

// prime makes every tenant known, so that a run does not measure the first
// sight of its tenants.
func (r *run) prime() error {
	if h, ok := r.q.(contest.Handler); ok && r.s.Handles {
		for _, key := range r.keys {
			r.handles = append(r.handles, h.Tenant(key))
		}
	}
	if p, ok := r.q.(contest.Primer); ok {
		if err := p.Prime(r.ctx, r.keys); err != nil {
			return fmt.Errorf("prime: %w", err)
		}
		runtime.GC()
		return nil
	}
	const chunk = 512 // below every capacity
	for rest := r.keys; len(rest) > 0; {
		n := min(chunk, len(rest), r.config().MaxGlobal)
		for _, key := range rest[:n] {
			if err := r.q.EnqueueWait(r.ctx, key, contest.Task{}); err != nil {
				return fmt.Errorf("first task of a tenant: %w", err)
			}
		}
		for i := range n {
			if _, ok := r.q.TryDequeue(); !ok {
				return fmt.Errorf("TryDequeue found nothing, though %d tasks were queued", n-i)
			}
		}
		rest = rest[n:]
	}
	runtime.GC()
	return nil
}

// sleep waits for d or for the end of ctx.
func sleep(ctx context.Context, d time.Duration) {
	t := time.NewTimer(d)
	defer t.Stop()
	select {
	case <-t.C:
	case <-ctx.Done():
	}
}

var keys struct {
	sync.Mutex
	names []string
}

// tenantKeys returns the names of n tenants, made once.
func tenantKeys(n int) []string {
	keys.Lock()
	defer keys.Unlock()
	for i := len(keys.names); i < n; i++ {
		keys.names = append(keys.names, fmt.Sprintf("tenant-%06d", i))
	}
	return keys.names[:n:n]
}
