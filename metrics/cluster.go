package metrics

// ClusterStats has the fields of firqnats.Stats, so that the exporters need neither
// firqnats nor a NATS client.
type ClusterStats struct {
	Activations                                                               int
	Activated, Passivated, Fenced, Moved, Sent, Handled, Lost, Retried, Saves uint64
}

// Cluster is about a node of a cluster of actors.
func Cluster() Table[ClusterStats] {
	type stats = ClusterStats
	return Table[stats]{
		{Name: "cluster.activations", Unit: "{actor}", Kind: Level, Text: "Actors of the cluster that are active on this node.",
			Value: func(s *stats) float64 { return float64(s.Activations) }},
		{Name: "cluster.activated", Unit: "{actor}", Kind: Counter, Text: "Actors that were started on this node.",
			Value: func(s *stats) float64 { return float64(s.Activated) }},
		{Name: "cluster.passivated", Unit: "{actor}", Kind: Counter, Text: "Actors that have ended on this node: idle, by themselves, or because they moved.",
			Value: func(s *stats) float64 { return float64(s.Passivated) }},
		{Name: "cluster.fenced", Unit: "{life}", Kind: Counter, Text: "Times that other nodes took this one for dead.",
			Value: func(s *stats) float64 { return float64(s.Fenced) }},
		{Name: "cluster.moved", Unit: "{message}", Kind: Counter, Text: "Messages that came to this node and were sent on, as their actor was elsewhere.",
			Value: func(s *stats) float64 { return float64(s.Moved) }},
		{Name: "cluster.sent", Unit: "{message}", Kind: Counter, Text: "Messages to actors on other nodes, those that were sent again included.",
			Value: func(s *stats) float64 { return float64(s.Sent) }},
		{Name: "cluster.handled", Unit: "{message}", Kind: Counter, Text: "Messages of other nodes that were answered.",
			Value: func(s *stats) float64 { return float64(s.Handled) }},
		{Name: "cluster.lost", Unit: "{message}", Kind: Counter, Text: "Tells of this node that were refused, or never confirmed.",
			Value: func(s *stats) float64 { return float64(s.Lost) }},
		{Name: "cluster.retried", Unit: "{message}", Kind: Counter, Text: "Messages of this node that came back, and were sent again.",
			Value: func(s *stats) float64 { return float64(s.Retried) }},
		{Name: "cluster.saves", Unit: "{save}", Kind: Counter, Text: "States that were saved.",
			Value: func(s *stats) float64 { return float64(s.Saves) }},
	}
}
