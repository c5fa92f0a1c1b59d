package metrics

import (
	"cmp"

	"github.com/firq-go/firq"
	"github.com/firq-go/firq/gate"
	"github.com/firq-go/firq/hist"
	"github.com/firq-go/firq/worker"
)

// Gate is about a gate, without its queue.
func Gate[K comparable]() Table[gate.Stats[K]] {
	type stats = gate.Stats[K]
	return Table[stats]{
		{Name: "gate.limit", Unit: "{slot}", Kind: Level, Text: "How many slots there are, as set last.",
			Value: func(s *stats) float64 { return float64(s.Limit) }},
		{Name: "gate.in_use", Unit: "{slot}", Kind: Level, Text: "Slots that are taken: the weights of the permits that are out.",
			Value: func(s *stats) float64 { return float64(s.InUse) }},
		{Name: "gate.waiting", Unit: "{call}", Kind: Level, Text: "Calls that wait for a permit, or are about to.",
			Value: func(s *stats) float64 { return float64(s.Waiting) }},
		{Name: "gate.aside", Unit: "{call}", Kind: Level, Text: "Those of the waiting calls that ask for more slots than the limit.",
			Value: func(s *stats) float64 { return float64(s.Aside) }},
		{Name: "gate.immediate", Unit: "{permit}", Kind: Counter, Text: "Permits that were given out without queueing.",
			Value: func(s *stats) float64 { return float64(s.Immediate) }},
		{Name: "gate.forgone", Unit: "{call}", Kind: Counter, Text: "Calls whose turn came and went without a permit.",
			Value: func(s *stats) float64 { return float64(s.Forgone) }},
		{Name: "gate.timed_out", Unit: "{call}", Kind: Counter, Text: "Calls that ended because their deadline or the longest wait had passed.",
			Value: func(s *stats) float64 { return float64(s.TimedOut) }},
	}
}

// Traffic is about the requests of a middleware.
func Traffic() Table[gate.Traffic] {
	type traffic = gate.Traffic
	return Table[traffic]{
		{Name: "requests.in_flight", Unit: "{request}", Kind: Level, Text: "Requests that hold a slot.",
			Value: func(t *traffic) float64 { return float64(t.InFlight) }},
		{Name: "requests.waiting", Unit: "{request}", Kind: Level, Text: "Requests that wait for a slot.",
			Value: func(t *traffic) float64 { return float64(t.Waiting) }},
		{Name: "requests.reading", Unit: "{request}", Kind: Level, Text: "Those of the waiting requests whose bodies are being read first.",
			Value: func(t *traffic) float64 { return float64(t.Reading) }},
		{Name: "requests.served", Unit: "{request}", Kind: Counter, Text: "Requests that got a slot.",
			Value: func(t *traffic) float64 { return float64(t.Served) }},
		{Name: "requests.skipped", Unit: "{request}", Kind: Counter, Text: "Requests that were let through without a slot.",
			Value: func(t *traffic) float64 { return float64(t.Skipped) }},
		{Name: "requests.rejected", Unit: "{request}", Kind: Counter, Text: "Requests that got no slot, by reason.",
			Labels: []string{"reason"}, Each: func(t *traffic, send Send) {
				for reason, n := range t.Rejected {
					send(float64(n), reason)
				}
			}},
	}
}

// Pool is about a pool of workers.
func Pool() Table[worker.Stats] {
	type stats = worker.Stats
	return Table[stats]{
		{Name: "pool.started", Unit: "{handler}", Kind: Counter, Text: "Handlers started, one per task taken.",
			Value: func(s *stats) float64 { return float64(s.Started) }},
		{Name: "pool.finished", Unit: "{handler}", Kind: Counter, Text: "Handlers that have returned, in whatever way.",
			Value: func(s *stats) float64 { return float64(s.Finished) }},
		{Name: "pool.failed", Unit: "{handler}", Kind: Counter, Text: "Handlers that returned an error, or left by runtime.Goexit.",
			Value: func(s *stats) float64 { return float64(s.Failed) }},
		{Name: "pool.panicked", Unit: "{handler}", Kind: Counter, Text: "Handlers that panicked.",
			Value: func(s *stats) float64 { return float64(s.Panicked) }},
		{Name: "pool.slow", Unit: "{handler}", Kind: Counter, Text: "Handlers that ran for SlowAfter or longer.",
			Value: func(s *stats) float64 { return float64(s.Slow) }},
		{Name: "pool.timed_out", Unit: "{handler}", Kind: Counter, Text: "Handlers that ran for Timeout or longer.",
			Value: func(s *stats) float64 { return float64(s.TimedOut) }},
		{Name: "pool.stuck", Unit: "{handler}", Kind: Counter, Text: "Handlers that ran on for StuckAfter after they were cancelled.",
			Value: func(s *stats) float64 { return float64(s.Stuck) }},

		{Name: "pool.running", Unit: "{handler}", Kind: Level, Text: "Handlers that run now.",
			Value: func(s *stats) float64 { return float64(s.Running) }},
		// Not pool.stuck: OpenMetrics calls the family of the counter so.
		{Name: "pool.stuck_now", Unit: "{handler}", Kind: Level, Text: "Handlers that run now and are stuck.",
			Value: func(s *stats) float64 { return float64(s.StuckNow) }},
		{Name: "pool.workers", Unit: "{worker}", Kind: Level, Text: "Goroutines that take tasks, or run a handler that is not stuck.",
			Value: func(s *stats) float64 { return float64(s.Workers) }},
		{Name: "pool.handler_time", Unit: "s", Text: "How long finished handlers ran.",
			Prometheus: "firq_pool_handler_duration_seconds", Times: HandlerTime},
	}
}

// HandlerTime is how long a pool's handlers ran. A source that is no Pool may have none.
func HandlerTime(s *worker.Stats) firq.QueueTime {
	return cmp.Or(s.HandlerTime, hist.NewSnapshot()).QueueTime()
}
