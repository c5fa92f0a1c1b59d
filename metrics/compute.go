package metrics

import (
	"github.com/firq-go/firq"
	"github.com/firq-go/firq/compute"
)

// Compute is about a compute server.
func Compute[K comparable]() Table[compute.Stats[K]] {
	type stats = compute.Stats[K]
	return Table[stats]{
		{Name: "compute.requests", Unit: "{call}", Kind: Counter, Text: "Calls that were answered or refused, by where the answer came from.",
			Labels: []string{"source"}, Each: func(s *stats, send Send) {
				send(float64(s.Hits), compute.Hit.String())
				send(float64(s.Stale), compute.Stale.String())
				send(float64(s.Coalesced), compute.Coalesced.String())
				send(float64(s.Executed), compute.Executed.String())
				send(float64(s.Refused+s.GaveUp+s.Closed), compute.None.String())
			}},
		{Name: "compute.refused", Unit: "{call}", Kind: Counter, Text: "Calls that were refused, by reason.",
			Labels: []string{"reason"}, Each: func(s *stats, send Send) {
				send(float64(s.RefusedGlobal), "global")
				send(float64(s.RefusedTenant), "tenant")
				send(float64(s.RefusedTimeout), "timeout")
				send(float64(s.RefusedWaiters), "waiters")
			}},
		{Name: "compute.gave_up", Unit: "{call}", Kind: Counter, Text: "Calls whose context ended before there was an answer.",
			Value: func(s *stats) float64 { return float64(s.GaveUp) }},
		{Name: "compute.closed", Unit: "{call}", Kind: Counter, Text: "Calls that ended because the server was closed.",
			Value: func(s *stats) float64 { return float64(s.Closed) }},

		{Name: "compute.executions", Unit: "{execution}", Kind: Counter, Text: "Executions begun, those behind included.",
			Value: func(s *stats) float64 { return float64(s.Executions) }},
		{Name: "compute.succeeded", Unit: "{execution}", Kind: Counter, Text: "Executions that ended without an error.",
			Value: func(s *stats) float64 { return float64(s.Succeeded) }},
		{Name: "compute.failed", Unit: "{execution}", Kind: Counter, Text: "Executions that ended with an error, or a panic.",
			Value: func(s *stats) float64 { return float64(s.Failed) }},
		{Name: "compute.panicked", Unit: "{execution}", Kind: Counter, Text: "Those of the failed executions that panicked, or called runtime.Goexit.",
			Value: func(s *stats) float64 { return float64(s.Panics) }},
		{Name: "compute.abandoned", Unit: "{execution}", Kind: Counter, Text: "Executions that were cancelled because no caller waited any more.",
			Value: func(s *stats) float64 { return float64(s.Abandoned) }},
		{Name: "compute.behind", Unit: "{execution}", Kind: Counter, Text: "Executions begun to refresh what was kept, while no caller waited.",
			Value: func(s *stats) float64 { return float64(s.Behind) }},
		{Name: "compute.spilled", Unit: "{execution}", Kind: Counter, Text: "Executions in another group than the home of their key.",
			Value: func(s *stats) float64 { return float64(s.Spilled) }},
		{Name: "compute.exec", Unit: "s", Text: "How long executions took.",
			Times: func(s *stats) firq.QueueTime { return s.ExecTime }},

		{Name: "compute.limit", Unit: "{execution}", Kind: Level, Text: "How many executions there may be at the same time, in all groups.",
			Value: func(s *stats) float64 { return float64(s.Limit) }},
		{Name: "compute.executing", Unit: "{execution}", Kind: Level, Text: "Executions in progress.",
			Value: func(s *stats) float64 { return float64(s.Executing) }},
		{Name: "compute.waiting", Unit: "{call}", Kind: Level, Text: "Calls that wait for a slot.",
			Value: func(s *stats) float64 { return float64(s.Waiting) }},
		{Name: "compute.flights", Unit: "{key}", Kind: Level, Text: "Keys that are being made, or wait for a slot.",
			Value: func(s *stats) float64 { return float64(s.Flights) }},
		{Name: "compute.entries", Unit: "{entry}", Kind: Level, Text: "Results and errors that are kept.",
			Value: func(s *stats) float64 { return float64(s.Entries) }},
		{Name: "compute.weight", Unit: "1", Kind: Level, Text: "What these weigh together; without Config.Weigh as many as there are.",
			Value: func(s *stats) float64 { return float64(s.Weight) }},
	}
}
