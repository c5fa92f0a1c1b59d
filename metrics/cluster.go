package metrics

import "github.com/firq-go/firq/hist"

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

// ClusterRecorder is the part of *firqnats.Node that returns how long calls to other nodes took, by kind and method, and
// activations, by kind.
type ClusterRecorder interface {
	Recorded() (calls map[string]map[string]*hist.Snapshot, activations map[string]*hist.Snapshot)
}

// ClusterTimes is about such a node.
func ClusterTimes() Table[ClusterRecorder] {
	type node = ClusterRecorder
	return Table[node]{
		{Name: "cluster.call", Unit: "s", Text: "How long calls to actors on other nodes took, from when they were sent until they were answered.",
			Labels: []string{"kind", "method"}, EachTimes: func(n *node, send SendTimes) {
				calls, _ := (*n).Recorded()
				for kind, methods := range calls {
					valid := map[string]*hist.Snapshot{}
					for method, s := range methods {
						merge(valid, Valid(method), s)
					}
					for method, s := range valid {
						send(s.QueueTime(), kind, method)
					}
				}
			}},
		{Name: "cluster.activation", Unit: "s", Text: "How long it took to start actors on this node, the taking of their record included.",
			Labels: []string{"kind"}, EachTimes: func(n *node, send SendTimes) {
				_, activations := (*n).Recorded()
				for kind, s := range activations {
					send(s.QueueTime(), kind)
				}
			}},
	}
}

// merge adds s to the snapshot with a label.
func merge(all map[string]*hist.Snapshot, label string, s *hist.Snapshot) {
	if all[label] == nil {
		all[label] = hist.NewSnapshot()
	}
	all[label].Merge(s)
}
