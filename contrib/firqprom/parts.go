package firqprom

import (
	"cmp"
	"time"

	"github.com/firq-go/firq"
	"github.com/firq-go/firq/gate"
	"github.com/firq-go/firq/hist"
	"github.com/firq-go/firq/worker"
)

// gateTable is about a gate, without its queue.
func gateTable[K comparable]() table[gate.Stats[K]] {
	type stats = gate.Stats[K]
	return table[stats]{
		{name: "firq_gate_limit", kind: gauge, help: "How many slots there are, as set last.",
			value: func(s *stats) float64 { return float64(s.Limit) }},
		{name: "firq_gate_in_use", kind: gauge, help: "Slots that are taken: the weights of the permits that are out.",
			value: func(s *stats) float64 { return float64(s.InUse) }},
		{name: "firq_gate_waiting", kind: gauge, help: "Calls that wait for a permit, or are about to.",
			value: func(s *stats) float64 { return float64(s.Waiting) }},
		{name: "firq_gate_aside", kind: gauge, help: "Those of the waiting calls that ask for more slots than the limit.",
			value: func(s *stats) float64 { return float64(s.Aside) }},
		{name: "firq_gate_immediate_total", kind: counter, help: "Permits that were given out without queueing.",
			value: func(s *stats) float64 { return float64(s.Immediate) }},
		{name: "firq_gate_forgone_total", kind: counter, help: "Calls whose turn came and went without a permit.",
			value: func(s *stats) float64 { return float64(s.Forgone) }},
		{name: "firq_gate_timed_out_total", kind: counter, help: "Calls that ended because their deadline or the longest wait had passed.",
			value: func(s *stats) float64 { return float64(s.TimedOut) }},
	}
}

// trafficTable is about the requests of a middleware.
func trafficTable() table[gate.Traffic] {
	type traffic = gate.Traffic
	return table[traffic]{
		{name: "firq_requests_in_flight", kind: gauge, help: "Requests that hold a slot.",
			value: func(t *traffic) float64 { return float64(t.InFlight) }},
		{name: "firq_requests_waiting", kind: gauge, help: "Requests that wait for a slot.",
			value: func(t *traffic) float64 { return float64(t.Waiting) }},
		{name: "firq_requests_reading", kind: gauge, help: "Those of the waiting requests whose bodies are being read first.",
			value: func(t *traffic) float64 { return float64(t.Reading) }},
		{name: "firq_requests_served_total", kind: counter, help: "Requests that got a slot.",
			value: func(t *traffic) float64 { return float64(t.Served) }},
		{name: "firq_requests_skipped_total", kind: counter, help: "Requests that were let through without a slot.",
			value: func(t *traffic) float64 { return float64(t.Skipped) }},
		{name: "firq_requests_rejected_total", kind: counter, help: "Requests that got no slot, by reason.",
			labels: []string{"reason"}, each: func(t *traffic, send sender) {
				for reason, n := range t.Rejected {
					send(float64(n), reason)
				}
			}},
	}
}

// poolTable is about a pool of workers.
func poolTable() table[worker.Stats] {
	type stats = worker.Stats
	return table[stats]{
		{name: "firq_pool_started_total", kind: counter, help: "Handlers started, one per task taken.",
			value: func(s *stats) float64 { return float64(s.Started) }},
		{name: "firq_pool_finished_total", kind: counter, help: "Handlers that have returned, in whatever way.",
			value: func(s *stats) float64 { return float64(s.Finished) }},
		{name: "firq_pool_failed_total", kind: counter, help: "Handlers that returned an error, or left by runtime.Goexit.",
			value: func(s *stats) float64 { return float64(s.Failed) }},
		{name: "firq_pool_panicked_total", kind: counter, help: "Handlers that panicked.",
			value: func(s *stats) float64 { return float64(s.Panicked) }},
		{name: "firq_pool_slow_total", kind: counter, help: "Handlers that ran for SlowAfter or longer.",
			value: func(s *stats) float64 { return float64(s.Slow) }},
		{name: "firq_pool_timed_out_total", kind: counter, help: "Handlers that ran for Timeout or longer.",
			value: func(s *stats) float64 { return float64(s.TimedOut) }},
		{name: "firq_pool_stuck_total", kind: counter, help: "Handlers that ran on for StuckAfter after they were cancelled.",
			value: func(s *stats) float64 { return float64(s.Stuck) }},

		{name: "firq_pool_running", kind: gauge, help: "Handlers that run now.",
			value: func(s *stats) float64 { return float64(s.Running) }},
		// Not firq_pool_stuck: OpenMetrics calls the family of the counter so.
		{name: "firq_pool_stuck_now", kind: gauge, help: "Handlers that run now and are stuck.",
			value: func(s *stats) float64 { return float64(s.StuckNow) }},
		{name: "firq_pool_workers", kind: gauge, help: "Goroutines that take tasks, or run a handler that is not stuck.",
			value: func(s *stats) float64 { return float64(s.Workers) }},

		{name: "firq_pool_handler_duration_seconds", help: "How long finished handlers ran.",
			unit: time.Second, hist: func(s *stats) firq.QueueTime {
				h := cmp.Or(s.HandlerTime, hist.NewSnapshot()) // a source that is no Pool may have none
				return firq.QueueTime{Buckets: h.Buckets(), Sum: h.Sum()}
			}},
	}
}
