package metrics

import (
	"github.com/firq-go/firq"
	"github.com/firq-go/firq/actor"
)

// System is about a System of actors.
func System() Table[actor.Stats] {
	type stats = actor.Stats
	return Table[stats]{
		{Name: "actor.actors", Unit: "{actor}", Kind: Level, Text: "Actors that are alive.",
			Value: func(s *stats) float64 { return float64(s.Actors) }},
		{Name: "actor.waiting", Unit: "{message}", Kind: Level, Text: "Messages in mailboxes.",
			Value: func(s *stats) float64 { return float64(s.Waiting) }},
		{Name: "actor.accepted", Unit: "{message}", Kind: Counter, Text: "Messages accepted, calls that ran on their caller's goroutine included.",
			Value: func(s *stats) float64 { return float64(s.Accepted) }},
		{Name: "actor.handled", Unit: "{message}", Kind: Counter, Text: "Messages whose handler was started.",
			Value: func(s *stats) float64 { return float64(s.Handled) }},
		{Name: "actor.dead_letters", Unit: "{message}", Kind: Counter,
			Text:  "Accepted messages that no handler will get: the actor has ended, or its mailbox dropped them.",
			Value: func(s *stats) float64 { return float64(s.DeadLetters) }},
		{Name: "actor.cancelled", Unit: "{message}", Kind: Counter, Text: "Calls whose caller left before a handler was started.",
			Value: func(s *stats) float64 { return float64(s.Cancelled) }},
		{Name: "actor.rejected", Unit: "{message}", Kind: Counter, Text: "Messages that were not accepted.",
			Value: func(s *stats) float64 { return float64(s.Refused) }},
		{Name: "actor.restarted", Unit: "{incarnation}", Kind: Counter, Text: "Incarnations that supervisors started, of all kinds.",
			Value: func(s *stats) float64 { return float64(s.Restarts) }},
		{Name: "actor.abandonments", Unit: "{handler}", Kind: Counter, Text: "Handlers that were abandoned when their time was over, ever.",
			Prometheus: "firq_actor_abandoned_total", Value: func(s *stats) float64 { return float64(s.Abandoned) }},
		{Name: "actor.deadlocks", Unit: "{call}", Kind: Counter, Text: "Calls refused because they would never have returned.",
			Value: func(s *stats) float64 { return float64(s.Deadlocks) }},
		{Name: "actor.handoffs", Unit: "{slot}", Kind: Counter, Text: "Slots that were taken from handlers that computed for long.",
			Value: func(s *stats) float64 { return float64(s.Handoffs) }},
	}
}

// Kinds is about kinds of actors.
func Kinds() Table[actor.Recorded] {
	type recorded = actor.Recorded
	kind := []string{"kind"}
	each := func(value func(*actor.KindRecord) float64) func(*recorded, Send) {
		return func(r *recorded, send Send) {
			for i := range r.Kinds {
				send(value(&r.Kinds[i]), r.Kinds[i].Kind)
			}
		}
	}
	return Table[recorded]{
		{Name: "actor.turns", Unit: "{turn}", Kind: Counter, Text: "Turns of actors, by how they ended: idle, slice, throughput or lost.",
			Labels: []string{"kind", "end"}, Each: func(r *recorded, send Send) {
				for _, k := range r.Kinds {
					for end, n := range k.Turns {
						send(float64(n), k.Kind, end)
					}
				}
			}},
		{Name: "actor.messages", Unit: "{message}", Kind: Counter, Text: "Messages handled in turns: all but calls that ran on their caller's goroutine.",
			Labels: kind, Each: each(func(k *actor.KindRecord) float64 { return float64(k.Messages) })},
		{Name: "actor.processor_time", Unit: "s", Kind: Seconds, Text: "Processor time of turns.", Prometheus: "firq_actor_processor_seconds_total",
			Labels: kind, Each: each(func(k *actor.KindRecord) float64 { return k.Used.Seconds() })},
		{Name: "actor.failures", Unit: "{incarnation}", Kind: Counter, Text: "Incarnations that failed.",
			Labels: kind, Each: each(func(k *actor.KindRecord) float64 { return float64(k.Failed) })},
		{Name: "actor.restarts", Unit: "{incarnation}", Kind: Counter, Text: "Incarnations that a supervisor started.",
			Labels: kind, Each: each(func(k *actor.KindRecord) float64 { return float64(k.Restarted) })},
		{Name: "actor.abandoned", Unit: "{handler}", Kind: Level, Text: "Abandoned handlers that still run.",
			Labels: kind, Each: each(func(k *actor.KindRecord) float64 { return float64(k.Abandoned) })},
		{Name: "actor.refused", Unit: "{message}", Kind: Counter,
			Text:   "Messages that were not accepted, by reason: full, stopped, deadlock, stale, context or other.",
			Labels: []string{"kind", "reason"}, Each: func(r *recorded, send Send) {
				for _, k := range r.Kinds {
					for why, n := range k.Refused {
						send(float64(n), k.Kind, why)
					}
				}
			}},
		{Name: "actor.timeouts", Unit: "{handler}", Kind: Counter, Text: "Handlers that ran for their timeout, by mode: warn, cancel or stop.",
			Labels: []string{"kind", "method", "mode"}, Each: func(r *recorded, send Send) {
				for _, t := range r.Timeouts {
					send(float64(t.Count), t.Kind, t.Method, t.Mode.String())
				}
			}},
		{Name: "actor.wait", Unit: "s", Text: "How long actors waited for a slot, one sample per turn.",
			Times: func(r *recorded) firq.QueueTime { return r.Waited.QueueTime() }},
	}
}
