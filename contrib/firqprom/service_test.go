package firqprom_test

import (
	"context"
	"errors"
	"fmt"
	"log/slog"
	"math"
	"net/http"
	"net/http/httptest"
	"sync"
	"testing"
	"time"

	"github.com/prometheus/client_golang/prometheus"

	"github.com/firq-go/firq"
	"github.com/firq-go/firq/actor"
	"github.com/firq-go/firq/contrib/firqprom"
	"github.com/firq-go/firq/firqhttp"
	"github.com/firq-go/firq/gate"
	"github.com/firq-go/firq/hist"
	"github.com/firq-go/firq/lockfree"
	"github.com/firq-go/firq/metrics"
	"github.com/firq-go/firq/watchdog"
	"github.com/firq-go/firq/worker"
)

// service has one of each part around a scheduler, and everything that can go
// wrong with them does: a request holds the only slot of a gate for good, another
// one waits, and further ones are rejected; handlers fail, panic and are stuck; a
// queue is stalled and a probe fails.
type service struct {
	full, open  *gate.Gate[string]
	http, grpc  *firqhttp.Middleware // grpc stands for an Interceptor: the same Traffic
	pool        *worker.Pool[string, string]
	jobs        *lockfree.Scheduler[string, string]
	cries, warn *watchdog.Watchdog
	stopped     *watchdog.Watchdog
	queues      map[string]*fakeQueue
	computes    map[string]*fakeCompute
	actors      *fakeActors
	node        *fakeNode
}

// fakeNode is a node of a cluster that answers nothing: its counters of what goes wrong grow.
type fakeNode struct {
	mu   sync.Mutex
	says metrics.ClusterStats
	took hist.Local // of calls, and of activations
}

func (n *fakeNode) Recorded() (calls map[string]map[string]*hist.Snapshot, activations map[string]*hist.Snapshot) {
	n.mu.Lock()
	defer n.mu.Unlock()
	s := hist.NewSnapshot()
	n.took.AddTo(s)
	return map[string]map[string]*hist.Snapshot{"cart": {"Add": s}}, map[string]*hist.Snapshot{"cart": s}
}

func (n *fakeNode) Stats() metrics.ClusterStats {
	n.mu.Lock()
	defer n.mu.Unlock()
	return n.says
}

func (n *fakeNode) tick() {
	n.mu.Lock()
	defer n.mu.Unlock()
	n.says.Fenced++
	n.says.Lost++
	n.says.Retried++
	n.took.Record(time.Millisecond)
}

// fakeQueue is a queue on Redis whose counters grow by step.
type fakeQueue struct {
	mu         sync.Mutex
	says, step metrics.RedisStats
	err        error
}

func (q *fakeQueue) Stats(context.Context) (metrics.RedisStats, error) {
	q.mu.Lock()
	defer q.mu.Unlock()
	return q.says, q.err
}

// QueueTimes: each delivery has waited for half a second.
func (q *fakeQueue) QueueTimes(ctx context.Context) (buckets []firq.Bucket, sum time.Duration, err error) {
	st, err := q.Stats(ctx)
	return []firq.Bucket{{UpperBound: time.Second, Count: st.Delivered}, {UpperBound: math.MaxInt64}}, time.Duration(st.Delivered) * time.Second / 2, err
}

func (q *fakeQueue) tick() {
	q.mu.Lock()
	defer q.mu.Unlock()
	q.says.Delivered += q.step.Delivered
	q.says.Dead += q.step.Dead
	q.says.LeaseLost += q.step.LeaseLost
	q.says.LeaseExpired += q.step.LeaseExpired
}

func newService(t *testing.T, stalled *lockfree.Scheduler[string, string]) *service {
	t.Helper()
	quiet := slog.New(slog.DiscardHandler)
	s := &service{
		node:     &fakeNode{says: metrics.ClusterStats{Activations: 2, Handled: 3}},
		actors:   &fakeActors{rec: actor.NewRecorder()},
		computes: map[string]*fakeCompute{"reports": {}, "falls": {falls: true}},
		full:     gate.New(1, gate.Config[string]{MaxPerTenant: 1}),
		open:     gate.New(4, gate.Config[string]{}),
		queues: map[string]*fakeQueue{
			"late":    {says: metrics.RedisStats{Queued: 1, Oldest: time.Hour}, step: metrics.RedisStats{Delivered: 4, Dead: 1, LeaseLost: 1, LeaseExpired: 1}},
			"stalled": {says: metrics.RedisStats{Queued: 1, Delivered: 1}},
			"away":    {err: errors.New("connection refused")},
		},
	}
	s.http = firqhttp.New(s.full, firqhttp.Config{Tenant: firqhttp.Header("X-Tenant"), Skip: func(r *http.Request) bool { return r.URL.Path == "/health" }})
	s.grpc = firqhttp.New(s.open, firqhttp.Config{})
	var errs [5]error
	s.jobs, errs[0] = lockfree.New(firq.Config[string, string]{})
	handler := func(ctx context.Context, it *firq.Item[string, string]) error {
		switch it.Payload {
		case "fails":
			return errors.New("no")
		case "panics":
			panic("no")
		case "is stuck":
			<-ctx.Done()
			<-t.Context().Done() // ends before Cleanup
		}
		return nil
	}
	s.pool, errs[1] = worker.New(s.jobs, handler, worker.Options[string, string]{
		Name: "mail", Concurrency: 3, Timeout: 50 * time.Millisecond, SlowAfter: time.Millisecond, TimeoutMode: worker.Cancel,
		StuckAfter: time.Millisecond, Logger: quiet,
	})
	const never = 24 * time.Hour // for what the machine is slow at
	probe := watchdog.Probe{Name: "db", Call: func(context.Context) error { return errors.New("no") }}
	slow := watchdog.QueueOf("stalled", stalled.Stats)
	slow.Warning, slow.Critical = time.Millisecond, 2*time.Millisecond
	options := watchdog.Options{Interval: 100 * time.Millisecond, Warning: time.Second, Critical: never, Remind: -1, Probes: []watchdog.Probe{probe}, Logger: quiet}
	s.warn, errs[2] = watchdog.New(options)
	options.Queues = []watchdog.Queue{slow}
	s.cries, errs[3] = watchdog.New(options)
	s.stopped, errs[4] = watchdog.New(options)
	if err := errors.Join(errs[:]...); err != nil {
		t.Fatal(err)
	}
	return s
}

func (s *service) register(t *testing.T, reg prometheus.Registerer) {
	t.Helper()
	named := func(name string) firqprom.Options[string] {
		return firqprom.Options[string]{Scheduler: name, NativeHistogram: true}
	}
	for _, c := range []prometheus.Collector{
		firqprom.Must(firqprom.NewGate(s.full, named("full"))),
		firqprom.Must(firqprom.NewGate(s.open, named("open"))),
		firqprom.Must(firqprom.NewHTTP(s.http, named("full"))),
		firqprom.Must(firqprom.NewGRPC(s.grpc, named("open"))),
		firqprom.Must(firqprom.New(s.jobs, named("jobs"))),
		firqprom.Must(firqprom.NewPool(s.pool, named("jobs"))),
		firqprom.Must(firqprom.NewCompute(s.computes["reports"], named("reports"))),
		firqprom.Must(firqprom.NewCompute(s.computes["falls"], named("falls"))),
		firqprom.Must(firqprom.NewActors(s.actors, s.actors.rec, named("rooms"))),
		firqprom.Must(firqprom.NewCluster(s.node, named("shop"))),
		firqprom.Must(firqprom.NewWatchdog(s.cries, named("cries"))),
		firqprom.Must(firqprom.NewWatchdog(s.warn, named("warns"))),
		firqprom.Must(firqprom.NewWatchdog(s.stopped, named("stopped"))),
	} {
		if err := reg.Register(c); err != nil {
			t.Fatal(err)
		}
	}
	for name, q := range s.queues {
		if err := reg.Register(firqprom.Must(firqprom.NewRedis(q, named(name)))); err != nil {
			t.Fatal(err)
		}
	}
}

// run keeps all of it busy until ctx is done, and waits for it.
func (s *service) run(ctx context.Context) {
	var all sync.WaitGroup
	defer all.Wait()
	all.Go(func() { _ = s.cries.Run(ctx) })
	all.Go(func() { _ = s.warn.Run(ctx) })
	all.Go(func() { _ = s.pool.Run(ctx) })
	ask := func(m *firqhttp.Middleware, path, tenant string, h http.HandlerFunc) {
		r := httptest.NewRequest(http.MethodGet, path, nil).WithContext(ctx)
		r.Header.Set("X-Tenant", tenant)
		m.Handler(h).ServeHTTP(httptest.NewRecorder(), r)
	}
	nothing := func(http.ResponseWriter, *http.Request) {}
	held := make(chan struct{})
	all.Go(func() {
		ask(s.http, "/", "holder", func(http.ResponseWriter, *http.Request) { close(held); <-ctx.Done() })
	})
	<-held
	all.Go(func() { ask(s.http, "/", "waits", nothing) })
	_ = s.jobs.Enqueue("a", firq.Task[string]{Payload: "is stuck"})
	tick := time.NewTicker(25 * time.Millisecond)
	defer tick.Stop()
	for i := 0; ; i++ {
		select {
		case <-ctx.Done():
			return
		case <-tick.C:
		}
		for _, q := range s.queues {
			q.tick()
		}
		for _, c := range s.computes {
			c.tick()
		}
		s.actors.tick()
		s.node.tick()
		if s.full.Stats().Queue.QueueLen == 1 { // the tenant may have no other waiting: this one does not
			ask(s.http, "/", "waits", nothing)
		}
		ask(s.http, "/health", "", nothing)
		ask(s.grpc, "/", "a", nothing)
		payloads := []string{"", "fails", "", "panics"}
		_ = s.jobs.Enqueue(fmt.Sprint("t", i%3), firq.Task[string]{Payload: payloads[i%len(payloads)]})
	}
}

// expect puts what the series of the parts must say at rest into want, those of
// the schedulers in them included.
func (s *service) expect(want map[string]float64) {
	for name, g := range map[string]*gate.Gate[string]{"full": s.full, "open": s.open} {
		st := g.Stats()
		expect(want, name, st.Queue)
		want["firq_gate_limit "+name+" "] = float64(st.Limit)
		want["firq_gate_in_use "+name+" "] = float64(st.InUse)
		want["firq_gate_waiting "+name+" "] = float64(st.Waiting)
		want["firq_gate_aside "+name+" "] = float64(st.Aside)
		want["firq_gate_forgone_total "+name+" "] = float64(st.Forgone)
		want["firq_gate_immediate_total "+name+" "] = float64(st.Immediate)
		want["firq_gate_timed_out_total "+name+" "] = float64(st.TimedOut)
	}
	for name, m := range map[string]*firqhttp.Middleware{"full": s.http, "open": s.grpc} {
		st := m.Stats()
		want["firq_requests_in_flight "+name+" "] = float64(st.InFlight)
		want["firq_requests_waiting "+name+" "] = float64(st.Waiting)
		want["firq_requests_reading "+name+" "] = float64(st.Reading)
		want["firq_requests_served_total "+name+" "] = float64(st.Served)
		want["firq_requests_skipped_total "+name+" "] = float64(st.Skipped)
		for reason := range m.Traffic().Rejected {
			want["firq_requests_rejected_total "+name+" "+reason] = float64(st.Rejected[firqhttp.Reason(reason)])
		}
	}
	for name, q := range s.queues {
		st, err := q.Stats(context.Background())
		if want["firq_queue_up "+name+" "] = 0; err != nil {
			continue
		}
		want["firq_queue_up "+name+" "] = 1
		for metric, value := range map[string]float64{
			"delivered_total": float64(st.Delivered), "dead_total": float64(st.Dead), "lease_lost_total": float64(st.LeaseLost),
			"reaped_total": float64(st.LeaseExpired), "queued": float64(st.Queued), "oldest_seconds": st.Oldest.Seconds(),
			"pushed_total": 0, "requeued_total": 0, "acked_total": 0, "cancelled_total": 0, "expired_total": 0, "purged_total": 0,
			"retried_total": 0, "released_total": 0, "duplicates_total": 0, "rejected_total": 0, "delayed": 0, "in_flight": 0,
			"dead_letters": 0, "tenants": 0, "paused": 0, "held": 0,
		} {
			want["firq_queue_"+metric+" "+name+" "] = value
		}
		waited := float64(st.Delivered)
		want["firq_queue_queue_seconds_bucket "+name+" 1"], want["firq_queue_queue_seconds_bucket "+name+" +Inf"] = waited, waited
		want["firq_queue_queue_seconds_count "+name+" "], want["firq_queue_queue_seconds_sum "+name+" "] = waited, waited/2
	}
	for name, c := range s.computes {
		c.expect(want, name)
	}
	s.actors.expect(want, "rooms")
	node := s.node.Stats()
	for metric, value := range map[string]float64{
		"activations": float64(node.Activations), "fenced_total": float64(node.Fenced), "lost_total": float64(node.Lost),
		"retried_total": float64(node.Retried), "handled_total": float64(node.Handled), "activated_total": 0, "passivated_total": 0,
		"moved_total": 0, "sent_total": 0, "saves_total": 0,
	} {
		want["firq_cluster_"+metric+" shop "] = value
	}
	calls, _ := s.node.Recorded()
	expectTimes(want, "firq_cluster_call_seconds", "shop cartAdd", calls["cart"]["Add"])
	expectTimes(want, "firq_cluster_activation_seconds", "shop cart", calls["cart"]["Add"])
	expect(want, "jobs", s.jobs.Stats())
	st := s.pool.Stats()
	for metric, value := range map[string]float64{
		"started_total": float64(st.Started), "finished_total": float64(st.Finished), "failed_total": float64(st.Failed),
		"panicked_total": float64(st.Panicked), "slow_total": float64(st.Slow), "timed_out_total": float64(st.TimedOut),
		"stuck_total": float64(st.Stuck), "running": float64(st.Running), "stuck_now": float64(st.StuckNow), "workers": float64(st.Workers),
	} {
		want["firq_pool_"+metric+" jobs "] = value
	}
	expectTimes(want, "firq_pool_handler_duration_seconds", "jobs ", st.HandlerTime)
}

// expectTimes puts what a histogram must say into want.
func expectTimes(want map[string]float64, metric, labels string, s *hist.Snapshot) {
	var upTo uint64
	for _, b := range s.Buckets() {
		upTo += b.Count
		want[fmt.Sprintf("%s_bucket %s%v", metric, labels, b.UpperBound.Seconds())] = float64(upTo)
	}
	want[metric+"_bucket "+labels+"+Inf"] = float64(upTo)
	want[metric+"_sum "+labels], want[metric+"_count "+labels] = s.Sum().Seconds(), float64(s.Count())
}
