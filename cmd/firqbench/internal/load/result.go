package load

import (
	"math"
	"time"

	"github.com/firq-go/firq/hist"
)

// Result is what one run measured. All counts are those of the measured window.
type Result struct {
	Elapsed     time.Duration `json:"elapsed_ns"` // length of the window as it was
	Delivered   uint64        `json:"delivered"`  // by consumers
	TasksPerSec float64       `json:"tasks_per_sec"`
	Offered     uint64        `json:"offered"`
	Rejected    uint64        `json:"rejected"`
	Expired     uint64        `json:"expired"`

	// Goodput is tasks/s delivered before their deadline, by the driver's clock;
	// with Scenario.Life only.
	Goodput *float64 `json:"goodput,omitempty"`

	Enqueue Latency  `json:"enqueue"`           // the call; one in SampleEvery, with Spec.Rate all
	Refusal *Latency `json:"refusal,omitempty"` // those of them that were rejected; with Scenario.Reject only
	Queue   Latency  `json:"queue"`             // from enqueue to delivery, all tasks
	Focus   *Latency `json:"focus,omitempty"`   // the same, the tasks of Scenario.Focus; with Spec.Rate from the intended start

	Open *Open `json:"open,omitempty"` // with Spec.Rate

	AllocsPerTask float64 `json:"allocs_per_task"`
	BytesPerTask  float64 `json:"bytes_per_task"`
	Collections   uint32  `json:"gc_cycles"`
	// CPUPerTask is the processor time of the whole process, user and system, driver and
	// garbage collection included, per delivered task; SwitchesPerTask the context
	// switches of its threads. 0: the system does not say.
	CPUPerTask      float64 `json:"cpu_ns_per_task,omitempty"`
	SwitchesPerTask float64 `json:"switches_per_task,omitempty"`
	// InstructionsPerTask is what another run has counted, one thread at a time (package
	// instructions); 0: none has.
	InstructionsPerTask float64 `json:"instructions_per_task,omitempty"`
	// MeanBacklog is the mean number of queued tasks by Little's law.
	MeanBacklog float64 `json:"mean_backlog"`

	// Jain is Jain's index by delivered cost over JainTenants tenants; 0 tenants
	// where it means nothing. See fairness.
	Jain        float64 `json:"jain,omitempty"`
	JainTenants int     `json:"jain_tenants,omitempty"`

	// Service is recorded after the measured window; with Spec.Record only.
	Service *Service `json:"service,omitempty"`

	Histograms Histograms `json:"-"`
}

// Histograms are what the latencies of a Result are taken from.
type Histograms struct {
	Began   time.Time      // start of the measured window
	Queue   *hist.Snapshot // Result.Queue; with Spec.Rate Open.Queue
	Enqueue *hist.Snapshot // Result.Enqueue; with Spec.Rate Open.Enqueue
	Lag     *hist.Snapshot // Open.Lag; nil without Spec.Rate
}

// Latency summarises a histogram.
type Latency struct {
	Samples uint64        `json:"samples"`
	Mean    time.Duration `json:"mean_ns"`
	P50     time.Duration `json:"p50_ns"`
	P95     time.Duration `json:"p95_ns"`
	P99     time.Duration `json:"p99_ns"`
	P999    time.Duration `json:"p999_ns"`
	Max     time.Duration `json:"max_ns"`

	// Points are the latencies at the quantiles PointQuantile(0), (1) and so on,
	// as far as there are samples to tell them from the greatest one.
	Points []time.Duration `json:"points_ns,omitempty"`
}

// pointsPerDecade is how many points a tenfold of rarity has, and decades how
// far they go: to 99.999 %.
const (
	pointsPerDecade = 5
	decades         = 5
)

// PointQuantile returns the quantile of Points[k], k from 0: 1 - 10^(-k/5), the
// scale of HdrHistogram's percentile plots, on which each step is as much rarer
// than the one before. The first is 0, the least of all.
func PointQuantile(k int) float64 {
	return 1 - math.Pow(10, -float64(k)/pointsPerDecade)
}

func points(s *hist.Snapshot) (ps []time.Duration) {
	n := float64(s.Count())
	for k := 0; k <= pointsPerDecade*decades && (1-PointQuantile(k))*n >= 1; k++ {
		ps = append(ps, s.Quantile(PointQuantile(k)))
	}
	return ps
}

// Summary returns the latencies in s; zero if it is empty.
func Summary(s *hist.Snapshot) Latency {
	n := s.Count()
	if n == 0 {
		return Latency{}
	}
	return Latency{
		Samples: n, Mean: s.Sum() / time.Duration(n), P50: s.Quantile(0.5), P95: s.Quantile(0.95),
		P99: s.Quantile(0.99), P999: s.Quantile(0.999), Max: s.Max(), Points: points(s),
	}
}

func (r *run) result(m meter, producers []*producer, consumers []*consumer) Result {
	res := Result{Elapsed: m.elapsed, Expired: m.expired, Collections: m.collections}
	calls, refusals := hist.NewSnapshot(), hist.NewSnapshot()
	waits, focus := hist.NewSnapshot(), hist.NewSnapshot()
	inTime := uint64(0)
	for _, p := range producers {
		p.latency.AddTo(calls)
		p.refusal.AddTo(refusals)
		res.Offered += p.offered
		res.Rejected += p.rejected
	}
	for _, c := range consumers {
		c.waits.AddTo(waits)
		c.focus.AddTo(focus)
		res.Delivered += c.delivered
		inTime += c.inTime
	}
	res.Enqueue, res.Queue = Summary(calls), Summary(waits)
	if r.s.Focus != "" {
		l := Summary(focus)
		res.Focus = &l
	}
	if r.s.Reject {
		l := Summary(refusals)
		res.Refusal = &l
	}
	if s := m.elapsed.Seconds(); s > 0 {
		res.TasksPerSec = float64(res.Delivered) / s
		if r.s.Life > 0 {
			goodput := float64(inTime) / s
			res.Goodput = &goodput
		}
	}
	if res.Delivered > 0 {
		res.AllocsPerTask = float64(m.mallocs) / float64(res.Delivered)
		res.BytesPerTask = float64(m.bytes) / float64(res.Delivered)
		res.CPUPerTask = float64(m.used.CPU) / float64(res.Delivered)
		res.SwitchesPerTask = float64(m.used.Switches) / float64(res.Delivered)
	}
	res.Histograms = Histograms{Began: m.wall, Queue: waits, Enqueue: calls}
	if r.open {
		res.Open = r.opened(producers, consumers, &res.Histograms)
	}
	res.MeanBacklog = res.TasksPerSec * res.Queue.Mean.Seconds()
	return res
}
