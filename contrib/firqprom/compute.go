package firqprom

import (
	"time"

	"github.com/prometheus/client_golang/prometheus"

	"github.com/firq-go/firq"
	"github.com/firq-go/firq/compute"
)

// ComputeSource is a *compute.Server, or what hands on its Stats. What Source says of
// Stats holds for it too.
type ComputeSource[K comparable] interface{ Stats() compute.Stats[K] }

// NewCompute returns a Collector for a compute.Server.
func NewCompute[K comparable](s ComputeSource[K], opts Options[K]) (*Collector[K], error) {
	c, err := newCollector(s, opts)
	if err != nil {
		return nil, err
	}
	all := add(c, computeTable[K]())
	c.collect = func(ch chan<- prometheus.Metric) {
		st := s.Stats()
		all.send(ch, &st, opts.NativeHistogram)
	}
	return c, nil
}

// computeTable is about a compute server.
func computeTable[K comparable]() table[compute.Stats[K]] {
	type stats = compute.Stats[K]
	return table[stats]{
		{name: "firq_compute_requests_total", kind: counter, help: "Calls that were answered or refused, by where the answer came from.",
			labels: []string{"source"}, each: func(s *stats, send sender) {
				send(float64(s.Hits), compute.Hit.String())
				send(float64(s.Stale), compute.Stale.String())
				send(float64(s.Coalesced), compute.Coalesced.String())
				send(float64(s.Executed), compute.Executed.String())
				send(float64(s.Refused+s.GaveUp+s.Closed), compute.None.String())
			}},
		{name: "firq_compute_refused_total", kind: counter, help: "Calls that were refused, by reason.",
			labels: []string{"reason"}, each: func(s *stats, send sender) {
				send(float64(s.RefusedGlobal), "global")
				send(float64(s.RefusedTenant), "tenant")
				send(float64(s.RefusedTimeout), "timeout")
				send(float64(s.RefusedWaiters), "waiters")
			}},
		{name: "firq_compute_gave_up_total", kind: counter, help: "Calls whose context ended before there was an answer.",
			value: func(s *stats) float64 { return float64(s.GaveUp) }},
		{name: "firq_compute_closed_total", kind: counter, help: "Calls that ended because the server was closed.",
			value: func(s *stats) float64 { return float64(s.Closed) }},

		{name: "firq_compute_executions_total", kind: counter, help: "Executions begun, those behind included.",
			value: func(s *stats) float64 { return float64(s.Executions) }},
		{name: "firq_compute_succeeded_total", kind: counter, help: "Executions that ended without an error.",
			value: func(s *stats) float64 { return float64(s.Succeeded) }},
		{name: "firq_compute_failed_total", kind: counter, help: "Executions that ended with an error, or a panic.",
			value: func(s *stats) float64 { return float64(s.Failed) }},
		{name: "firq_compute_panicked_total", kind: counter, help: "Those of the failed executions that panicked, or called runtime.Goexit.",
			value: func(s *stats) float64 { return float64(s.Panics) }},
		{name: "firq_compute_abandoned_total", kind: counter, help: "Executions that were cancelled because nobody waited any more.",
			value: func(s *stats) float64 { return float64(s.Abandoned) }},
		{name: "firq_compute_behind_total", kind: counter, help: "Executions begun to refresh what was kept, while nobody waited.",
			value: func(s *stats) float64 { return float64(s.Behind) }},
		{name: "firq_compute_spilled_total", kind: counter, help: "Executions in another group than the home of their key.",
			value: func(s *stats) float64 { return float64(s.Spilled) }},
		{name: "firq_compute_exec_seconds", help: "How long executions took.",
			unit: time.Second, hist: func(s *stats) firq.QueueTime { return s.ExecTime }},

		{name: "firq_compute_limit", kind: gauge, help: "How many executions there may be at once, all groups together.",
			value: func(s *stats) float64 { return float64(s.Limit) }},
		{name: "firq_compute_executing", kind: gauge, help: "Executions in progress.",
			value: func(s *stats) float64 { return float64(s.Executing) }},
		{name: "firq_compute_waiting", kind: gauge, help: "Calls that wait for a slot.",
			value: func(s *stats) float64 { return float64(s.Waiting) }},
		{name: "firq_compute_flights", kind: gauge, help: "Keys that are being made, or wait for a slot.",
			value: func(s *stats) float64 { return float64(s.Flights) }},
		{name: "firq_compute_entries", kind: gauge, help: "Results and errors that are kept.",
			value: func(s *stats) float64 { return float64(s.Entries) }},
		{name: "firq_compute_weight", kind: gauge, help: "What these weigh together; without Config.Weigh as many as there are.",
			value: func(s *stats) float64 { return float64(s.Weight) }},
	}
}
