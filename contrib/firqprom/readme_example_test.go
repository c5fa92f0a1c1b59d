package firqprom_test

import (
	"github.com/prometheus/client_golang/prometheus"

	"github.com/firq-go/firq"
	"github.com/firq-go/firq/actor"
	"github.com/firq-go/firq/compute"
	"github.com/firq-go/firq/contrib/firqprom"
	"github.com/firq-go/firq/firqhttp"
	"github.com/firq-go/firq/gate"
	"github.com/firq-go/firq/watchdog"
	"github.com/firq-go/firq/worker"
)

// Readme has the README's lines, which this compiles. Fleets, nodes, queues and interceptors belong to other modules.
func Readme[F firqprom.FleetStats, C firqprom.ClusterStats, Q firqprom.RedisStats](
	s firq.Scheduler[string, string], p *worker.Pool[string, string], w *watchdog.Watchdog, f firqprom.FleetSource[F],
	n firqprom.ClusterSource[C], q firqprom.RedisSource[Q], c *compute.Server[string, string, Price], sys *actor.System,
	rec *actor.Recorder, g *gate.Gate[string], m *firqhttp.Middleware, i firqprom.TrafficSource,
) {
	opts := firqprom.Options[string]{Scheduler: "jobs"} // a label, which names this scheduler and what belongs to it
	prometheus.MustRegister(
		firqprom.Must(firqprom.New(s, opts)),              // a scheduler
		firqprom.Must(firqprom.NewPool(p, opts)),          // *worker.Pool
		firqprom.Must(firqprom.NewWatchdog(w, opts)),      // *watchdog.Watchdog
		firqprom.Must(firqprom.NewFleet(f, opts)),         // *firqfleet.Gate
		firqprom.Must(firqprom.NewCluster(n, opts)),       // *firqnats.Node
		firqprom.Must(firqprom.NewQueue(q, opts)),         // *queue.Queue, or its Survey
		firqprom.Must(firqprom.NewCompute(c, opts)),       // *compute.Server
		firqprom.Must(firqprom.NewActors(sys, rec, opts)), // *actor.System, *actor.Recorder
	)

	api := firqprom.Options[string]{Scheduler: "api"}
	prometheus.MustRegister(
		firqprom.Must(firqprom.NewGate(g, api)), // *gate.Gate: its slots, and its queue as of a scheduler
		firqprom.Must(firqprom.NewHTTP(m, api)), // *firqhttp.Middleware
		firqprom.Must(firqprom.NewGRPC(i, api)), // *firqgrpc.Interceptor
	)
}

type Price struct{ Cents int }

// misses is the gate of a compute.Server with one group.
type misses struct {
	*compute.Server[string, string, Price]
}

func (m misses) Stats() gate.Stats[string] { return m.Server.Stats().Groups[0] }

// A Server's misses by tenant, as docs/compute.md exports them.
func ExampleNewGate_compute() {
	var prices *compute.Server[string, string, Price] // of compute.New
	prometheus.MustRegister(
		firqprom.Must(firqprom.NewGate(misses{prices}, firqprom.Options[string]{Scheduler: "prices"})),
	)
}
