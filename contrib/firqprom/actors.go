package firqprom

import (
	"time"

	"github.com/prometheus/client_golang/prometheus"

	"github.com/firq-go/firq"
	"github.com/firq-go/firq/actor"
)

// ActorSource is an *actor.System.
type ActorSource interface{ Stats() actor.Stats }

// NewActors returns a Collector for a System of actors. rec is the Recorder that the
// System has as its Config.Metrics; with nil there are only the metrics that come from
// Stats. The label kind is the type of the actors' state; no series is of one actor.
func NewActors[K comparable](s ActorSource, rec *actor.Recorder, opts Options[K]) (*Collector[K], error) {
	c, err := newCollector(s, opts)
	if err != nil {
		return nil, err
	}
	all := add(c, systemTable())
	var kinds table[actor.Recorded]
	if rec != nil {
		kinds = add(c, kindTable())
	}
	c.collect = func(ch chan<- prometheus.Metric) {
		st := s.Stats()
		all.send(ch, &st, opts.NativeHistogram)
		if rec != nil {
			got := rec.Recorded()
			kinds.send(ch, &got, opts.NativeHistogram)
		}
	}
	return c, nil
}

// systemTable is about a System.
func systemTable() table[actor.Stats] {
	type stats = actor.Stats
	return table[stats]{
		{name: "firq_actor_actors", kind: gauge, help: "Actors that are alive.",
			value: func(s *stats) float64 { return float64(s.Actors) }},
		{name: "firq_actor_waiting", kind: gauge, help: "Messages in mailboxes.",
			value: func(s *stats) float64 { return float64(s.Waiting) }},
		{name: "firq_actor_accepted_total", kind: counter, help: "Messages accepted, calls that ran on their caller's goroutine included.",
			value: func(s *stats) float64 { return float64(s.Accepted) }},
		{name: "firq_actor_handled_total", kind: counter, help: "Messages whose handler was started.",
			value: func(s *stats) float64 { return float64(s.Handled) }},
		{name: "firq_actor_dead_letters_total", kind: counter, help: "Accepted messages that nobody will handle: the actor has ended, or its mailbox dropped them.",
			value: func(s *stats) float64 { return float64(s.DeadLetters) }},
		{name: "firq_actor_cancelled_total", kind: counter, help: "Calls whose caller left before a handler was started.",
			value: func(s *stats) float64 { return float64(s.Cancelled) }},
		{name: "firq_actor_rejected_total", kind: counter, help: "Messages that were not accepted.",
			value: func(s *stats) float64 { return float64(s.Refused) }},
		{name: "firq_actor_restarted_total", kind: counter, help: "Incarnations that supervisors started, of all kinds.",
			value: func(s *stats) float64 { return float64(s.Restarts) }},
		{name: "firq_actor_abandoned_total", kind: counter, help: "Handlers that were abandoned when their time was over, ever.",
			value: func(s *stats) float64 { return float64(s.Abandoned) }},
		{name: "firq_actor_deadlocks_total", kind: counter, help: "Calls refused because they would never have returned.",
			value: func(s *stats) float64 { return float64(s.Deadlocks) }},
		{name: "firq_actor_handoffs_total", kind: counter, help: "Slots that were taken from handlers that computed for long.",
			value: func(s *stats) float64 { return float64(s.Handoffs) }},
	}
}

// kindTable is about kinds of actors.
func kindTable() table[actor.Recorded] {
	type recorded = actor.Recorded
	kind := []string{"kind"}
	each := func(value func(*actor.KindRecord) float64) func(*recorded, sender) {
		return func(r *recorded, to sender) {
			for i := range r.Kinds {
				to(value(&r.Kinds[i]), r.Kinds[i].Kind)
			}
		}
	}
	return table[recorded]{
		{name: "firq_actor_turns_total", kind: counter, help: "Turns of actors, by how they ended: idle, slice, throughput or lost.", labels: []string{"kind", "end"},
			each: func(r *recorded, to sender) {
				for _, k := range r.Kinds {
					for end, n := range k.Turns {
						to(float64(n), k.Kind, end)
					}
				}
			}},
		{name: "firq_actor_messages_total", kind: counter, help: "Messages handled in turns: all but calls that ran on their caller's goroutine.", labels: kind,
			each: each(func(k *actor.KindRecord) float64 { return float64(k.Messages) })},
		{name: "firq_actor_processor_seconds_total", kind: counter, help: "Processor time of turns.", labels: kind,
			each: each(func(k *actor.KindRecord) float64 { return k.Used.Seconds() })},
		{name: "firq_actor_failures_total", kind: counter, help: "Incarnations that failed.", labels: kind,
			each: each(func(k *actor.KindRecord) float64 { return float64(k.Failed) })},
		{name: "firq_actor_restarts_total", kind: counter, help: "Incarnations that a supervisor started.", labels: kind,
			each: each(func(k *actor.KindRecord) float64 { return float64(k.Restarted) })},
		{name: "firq_actor_abandoned", kind: gauge, help: "Abandoned handlers that still run.", labels: kind,
			each: each(func(k *actor.KindRecord) float64 { return float64(k.Abandoned) })},
		{name: "firq_actor_refused_total", kind: counter, labels: []string{"kind", "reason"},
			help: "Messages that were not accepted, by reason: full, stopped, deadlock, stale, context or other.",
			each: func(r *recorded, to sender) {
				for _, k := range r.Kinds {
					for why, n := range k.Refused {
						to(float64(n), k.Kind, why)
					}
				}
			}},
		{name: "firq_actor_timeouts_total", kind: counter, help: "Handlers that ran for their timeout, by mode: warn, cancel or stop.", labels: []string{"kind", "method", "mode"},
			each: func(r *recorded, to sender) {
				for _, t := range r.Timeouts {
					to(float64(t.Count), t.Kind, t.Method, t.Mode.String())
				}
			}},
		{name: "firq_actor_wait_seconds", help: "How long actors waited for a slot, one sample per turn.", unit: time.Second,
			hist: func(r *recorded) firq.QueueTime { return r.Waited.QueueTime() }},
	}
}
