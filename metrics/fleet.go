package metrics

// FleetStats has the fields of firqfleet.Stats, so that the exporters need neither
// firqfleet nor a Redis client.
type FleetStats struct {
	Limit, InUse, Idle, Waiting, Members     int
	Immediate, Turns, Reused, Alone          uint64
	RejectedGlobal, RejectedTenant, TimedOut uint64
	Lost, Syncs, Failed                      uint64
}

// Fleet is about this process's part of a gate that a fleet shares.
func Fleet() Table[FleetStats] {
	type stats = FleetStats
	return Table[stats]{
		{Name: "fleet.limit", Unit: "{slot}", Kind: Gauge, Text: "Slots of the whole fleet, as this process has last heard.",
			Value: func(s *stats) float64 { return float64(s.Limit) }},
		{Name: "fleet.in_use", Unit: "{slot}", Kind: Level, Text: "Slots of the permits of this process.",
			Value: func(s *stats) float64 { return float64(s.InUse) }},
		{Name: "fleet.idle", Unit: "{slot}", Kind: Level, Text: "Slots in this process that no permit has.",
			Value: func(s *stats) float64 { return float64(s.Idle) }},
		{Name: "fleet.waiting", Unit: "{call}", Kind: Level, Text: "Calls that wait in this process.",
			Value: func(s *stats) float64 { return float64(s.Waiting) }},
		{Name: "fleet.members", Unit: "{process}", Kind: Gauge, Text: "Processes of the fleet, as this process has last heard.",
			Value: func(s *stats) float64 { return float64(s.Members) }},
		{Name: "fleet.immediate", Unit: "{permit}", Kind: Counter, Text: "Permits from slots that were in the process.",
			Value: func(s *stats) float64 { return float64(s.Immediate) }},
		{Name: "fleet.turns", Unit: "{turn}", Kind: Counter, Text: "Turns that the server gave.",
			Value: func(s *stats) float64 { return float64(s.Turns) }},
		{Name: "fleet.reused", Unit: "{permit}", Kind: Counter, Text: "Permits that went on with the slot of a turn.",
			Value: func(s *stats) float64 { return float64(s.Reused) }},
		{Name: "fleet.alone", Unit: "{permit}", Kind: Counter, Text: "Permits that were given out without the server, after the lease had run out.",
			Value: func(s *stats) float64 { return float64(s.Alone) }},
		{Name: "fleet.rejected_global", Unit: "{call}", Kind: Counter, Text: "Calls refused because too many waited in the process.",
			Value: func(s *stats) float64 { return float64(s.RejectedGlobal) }},
		{Name: "fleet.rejected_tenant", Unit: "{call}", Kind: Counter, Text: "Calls refused because too many of their tenant waited in the process.",
			Value: func(s *stats) float64 { return float64(s.RejectedTenant) }},
		{Name: "fleet.timed_out", Unit: "{call}", Kind: Counter, Text: "Calls that ended because their deadline or the longest wait had passed.",
			Value: func(s *stats) float64 { return float64(s.TimedOut) }},
		{Name: "fleet.leases_lost", Unit: "{lease}", Kind: Counter, Text: "Leases that ran out or were taken away.",
			Value: func(s *stats) float64 { return float64(s.Lost) }},
		{Name: "fleet.syncs", Unit: "{round_trip}", Kind: Counter, Text: "Round trips to the server.",
			Value: func(s *stats) float64 { return float64(s.Syncs) }},
		{Name: "fleet.syncs_failed", Unit: "{round_trip}", Kind: Counter, Text: "Round trips that failed.",
			Value: func(s *stats) float64 { return float64(s.Failed) }},
	}
}
