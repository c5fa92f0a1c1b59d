package firqotel

import (
	"go.opentelemetry.io/otel/metric"

	"github.com/firq-go/firq"
	"github.com/firq-go/firq/compute"
)

// ComputeSource is a *compute.Server, or what hands on its Stats. What Source says of
// Stats holds for it too.
type ComputeSource[K comparable] interface{ Stats() compute.Stats[K] }

// RegisterCompute exports a compute.Server.
func RegisterCompute[K comparable](c ComputeSource[K], opts Options[K]) (*Registration, error) {
	return register(c, opts, func(s *setup) (func(metric.Observer), *times) {
		all := computeInstruments[K](s)
		return func(o metric.Observer) {
			st := c.Stats()
			all.from(o, &st)
		}, &times{name: "firq.compute.exec", text: "How long executions took.", read: func() firq.QueueTime { return c.Stats().ExecTime }}
	})
}

// computeInstruments are about a compute server.
func computeInstruments[K comparable](s *setup) *instruments[compute.Stats[K]] {
	type stats = compute.Stats[K]
	in := &instruments[stats]{setup: s}
	in.counters("firq.compute.requests", "{call}", "Calls that were answered or refused, by where the answer came from.", func(s *stats, to send[int64]) {
		for source, n := range map[compute.Source]uint64{
			compute.Hit: s.Hits, compute.Stale: s.Stale, compute.Coalesced: s.Coalesced, compute.Executed: s.Executed,
			compute.None: s.Refused + s.GaveUp + s.Closed,
		} {
			to(toInt64(n), SourceKey.String(source.String()))
		}
	})
	in.counters("firq.compute.refused", "{call}", "Calls that were refused, by reason.", func(s *stats, to send[int64]) {
		for reason, n := range map[string]uint64{
			"global": s.RefusedGlobal, "tenant": s.RefusedTenant, "timeout": s.RefusedTimeout, "waiters": s.RefusedWaiters,
		} {
			to(toInt64(n), ReasonKey.String(reason))
		}
	})
	for _, c := range []struct {
		name, unit, text string
		value            func(*stats) uint64
	}{
		{"firq.compute.gave_up", "{call}", "Calls whose context ended before there was an answer.", func(s *stats) uint64 { return s.GaveUp }},
		{"firq.compute.closed", "{call}", "Calls that ended because the server was closed.", func(s *stats) uint64 { return s.Closed }},
		{"firq.compute.executions", "{execution}", "Executions begun, those behind included.", func(s *stats) uint64 { return s.Executions }},
		{"firq.compute.succeeded", "{execution}", "Executions that ended without an error.", func(s *stats) uint64 { return s.Succeeded }},
		{"firq.compute.failed", "{execution}", "Executions that ended with an error, or a panic.", func(s *stats) uint64 { return s.Failed }},
		{"firq.compute.panicked", "{execution}", "Those of the failed executions that panicked, or called runtime.Goexit.", func(s *stats) uint64 { return s.Panics }},
		{"firq.compute.abandoned", "{execution}", "Executions that were cancelled because nobody waited any more.", func(s *stats) uint64 { return s.Abandoned }},
		{"firq.compute.behind", "{execution}", "Executions begun to refresh what was kept, while nobody waited.", func(s *stats) uint64 { return s.Behind }},
		{"firq.compute.spilled", "{execution}", "Executions in another group than the home of their key.", func(s *stats) uint64 { return s.Spilled }},
	} {
		in.counter(c.name, c.unit, c.text, c.value)
	}
	in.seconds("firq.compute.exec_sum", "Sum of how long executions took.", func(s *stats) float64 { return s.ExecTime.Sum.Seconds() })
	for _, l := range []struct {
		name, unit, text string
		value            func(*stats) int
	}{
		{"firq.compute.limit", "{execution}", "How many executions there may be at once, all groups together.", func(s *stats) int { return s.Limit }},
		{"firq.compute.executing", "{execution}", "Executions in progress.", func(s *stats) int { return s.Executing }},
		{"firq.compute.waiting", "{call}", "Calls that wait for a slot.", func(s *stats) int { return s.Waiting }},
		{"firq.compute.flights", "{key}", "Keys that are being made, or wait for a slot.", func(s *stats) int { return s.Flights }},
		{"firq.compute.entries", "{entry}", "Results and errors that are kept.", func(s *stats) int { return s.Entries }},
	} {
		in.level(l.name, l.unit, l.text, l.value)
	}
	in.levels("firq.compute.weight", "1", "What these weigh together; without Config.Weigh as many as there are.", func(s *stats, to send[int64]) { to(s.Weight) })
	return in
}
