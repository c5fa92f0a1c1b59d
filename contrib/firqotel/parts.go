package firqotel

import (
	"cmp"

	"github.com/firq-go/firq/gate"
	"github.com/firq-go/firq/hist"
	"github.com/firq-go/firq/worker"
)

// gateInstruments are about a gate, without its queue.
func gateInstruments[K comparable](s *setup) *instruments[gate.Stats[K]] {
	type stats = gate.Stats[K]
	in := &instruments[stats]{setup: s}
	in.level("firq.gate.limit", "{slot}", "How many slots there are, as set last.", func(s *stats) int { return s.Limit })
	in.level("firq.gate.in_use", "{slot}", "Slots that are taken: the weights of the permits that are out.", func(s *stats) int { return s.InUse })
	in.level("firq.gate.waiting", "{call}", "Calls that wait for a permit, or are about to.", func(s *stats) int { return s.Waiting })
	in.level("firq.gate.aside", "{call}", "Those of the waiting calls that ask for more slots than the limit.", func(s *stats) int { return s.Aside })
	in.counter("firq.gate.immediate", "{permit}", "Permits that were given out without queueing.", func(s *stats) uint64 { return s.Immediate })
	in.counter("firq.gate.forgone", "{call}", "Calls whose turn came and went without a permit.", func(s *stats) uint64 { return s.Forgone })
	in.counter("firq.gate.timed_out", "{call}", "Calls that ended because their deadline or the longest wait had passed.",
		func(s *stats) uint64 { return s.TimedOut })
	return in
}

// trafficInstruments are about the requests of a middleware.
func trafficInstruments(s *setup) *instruments[gate.Traffic] {
	type traffic = gate.Traffic
	in := &instruments[traffic]{setup: s}
	in.level("firq.requests.in_flight", "{request}", "Requests that hold a slot.", func(t *traffic) int { return t.InFlight })
	in.level("firq.requests.waiting", "{request}", "Requests that wait for a slot.", func(t *traffic) int { return t.Waiting })
	in.level("firq.requests.reading", "{request}", "Those of the waiting requests whose bodies are being read first.", func(t *traffic) int { return t.Reading })
	in.counter("firq.requests.served", "{request}", "Requests that got a slot.", func(t *traffic) uint64 { return t.Served })
	in.counter("firq.requests.skipped", "{request}", "Requests that were let through without a slot.", func(t *traffic) uint64 { return t.Skipped })
	in.counters("firq.requests.rejected", "{request}", "Requests that got no slot, by reason.", func(t *traffic, to send[int64]) {
		for reason, n := range t.Rejected {
			to(toInt64(n), ReasonKey.String(valid(reason)))
		}
	})
	return in
}

// poolInstruments are about a pool of workers.
func poolInstruments(s *setup) *instruments[worker.Stats] {
	type stats = worker.Stats
	in := &instruments[stats]{setup: s}
	for _, c := range []struct {
		name, text string
		value      func(*stats) uint64
	}{
		{"firq.pool.started", "Handlers started, one per task taken.", func(s *stats) uint64 { return s.Started }},
		{"firq.pool.finished", "Handlers that have returned, in whatever way.", func(s *stats) uint64 { return s.Finished }},
		{"firq.pool.failed", "Handlers that returned an error, or left by runtime.Goexit.", func(s *stats) uint64 { return s.Failed }},
		{"firq.pool.panicked", "Handlers that panicked.", func(s *stats) uint64 { return s.Panicked }},
		{"firq.pool.slow", "Handlers that ran for SlowAfter or longer.", func(s *stats) uint64 { return s.Slow }},
		{"firq.pool.timed_out", "Handlers that ran for Timeout or longer.", func(s *stats) uint64 { return s.TimedOut }},
		{"firq.pool.stuck", "Handlers that ran on for StuckAfter after they were cancelled.", func(s *stats) uint64 { return s.Stuck }},
	} {
		in.counter(c.name, "{handler}", c.text, c.value)
	}
	in.level("firq.pool.running", "{handler}", "Handlers that run now.", func(s *stats) int { return s.Running })
	in.level("firq.pool.stuck_now", "{handler}", "Handlers that run now and are stuck.", func(s *stats) int { return s.StuckNow })
	in.level("firq.pool.workers", "{worker}", "Goroutines that take tasks, or run a handler that is not stuck.", func(s *stats) int { return s.Workers })
	in.seconds("firq.pool.handler_time_sum", "Sum of how long finished handlers ran.", func(s *stats) float64 { return handlerTime(s).Sum().Seconds() })
	return in
}

// handlerTime is never nil: a source that is no Pool may have none.
func handlerTime(s *worker.Stats) *hist.Snapshot { return cmp.Or(s.HandlerTime, hist.NewSnapshot()) }
