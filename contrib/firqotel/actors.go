package firqotel

import (
	"go.opentelemetry.io/otel/attribute"
	"go.opentelemetry.io/otel/metric"

	"github.com/firq-go/firq"
	"github.com/firq-go/firq/actor"
)

// ActorSource is an *actor.System.
type ActorSource interface{ Stats() actor.Stats }

// RegisterActors exports a System of actors. rec is the Recorder that the System has as
// its Config.Metrics; with nil there are only the metrics that come from Stats. The
// attribute firq.kind is the type of the actors' state; no series is of one actor.
func RegisterActors[K comparable](sys ActorSource, rec *actor.Recorder, opts Options[K]) (*Registration, error) {
	return register(sys, opts, func(s *setup) (func(metric.Observer), *times) {
		all := systemInstruments(s)
		if rec == nil {
			return func(o metric.Observer) {
				st := sys.Stats()
				all.from(o, &st)
			}, nil
		}
		kinds := kindInstruments(s)
		return func(o metric.Observer) {
				st, got := sys.Stats(), rec.Recorded()
				all.from(o, &st)
				kinds.from(o, &got)
			}, &times{name: "firq.actor.wait", text: "How long actors waited for a slot, one sample per turn.", read: func() firq.QueueTime {
				return rec.Recorded().Waited.QueueTime()
			}}
	})
}

// systemInstruments are about a System.
func systemInstruments(s *setup) *instruments[actor.Stats] {
	type stats = actor.Stats
	in := &instruments[stats]{setup: s}
	in.level("firq.actor.actors", "{actor}", "Actors that are alive.", func(s *stats) int { return s.Actors })
	in.level("firq.actor.waiting", "{message}", "Messages in mailboxes.", func(s *stats) int { return s.Waiting })
	for _, c := range []struct {
		name, unit, text string
		value            func(*stats) uint64
	}{
		{"firq.actor.accepted", "{message}", "Messages accepted, calls that ran on their caller's goroutine included.", func(s *stats) uint64 { return s.Accepted }},
		{"firq.actor.handled", "{message}", "Messages whose handler was started.", func(s *stats) uint64 { return s.Handled }},
		{"firq.actor.dead_letters", "{message}", "Accepted messages that nobody will handle: the actor has ended, or its mailbox dropped them.",
			func(s *stats) uint64 { return s.DeadLetters }},
		{"firq.actor.cancelled", "{message}", "Calls whose caller left before a handler was started.", func(s *stats) uint64 { return s.Cancelled }},
		{"firq.actor.rejected", "{message}", "Messages that were not accepted.", func(s *stats) uint64 { return s.Refused }},
		{"firq.actor.restarted", "{incarnation}", "Incarnations that supervisors started, of all kinds.", func(s *stats) uint64 { return s.Restarts }},
		{"firq.actor.abandonments", "{handler}", "Handlers that were abandoned when their time was over, ever.", func(s *stats) uint64 { return s.Abandoned }},
		{"firq.actor.deadlocks", "{call}", "Calls refused because they would never have returned.", func(s *stats) uint64 { return s.Deadlocks }},
		{"firq.actor.handoffs", "{slot}", "Slots that were taken from handlers that computed for long.", func(s *stats) uint64 { return s.Handoffs }},
	} {
		in.counter(c.name, c.unit, c.text, c.value)
	}
	return in
}

// kindInstruments are about kinds of actors.
func kindInstruments(s *setup) *instruments[actor.Recorded] {
	type recorded = actor.Recorded
	in := &instruments[recorded]{setup: s}
	for _, c := range []struct {
		name, unit, text string
		value            func(*actor.KindRecord) uint64
	}{
		{"firq.actor.messages", "{message}", "Messages handled in turns: all but calls that ran on their caller's goroutine.",
			func(k *actor.KindRecord) uint64 { return k.Messages }},
		{"firq.actor.failures", "{incarnation}", "Incarnations that failed.", func(k *actor.KindRecord) uint64 { return k.Failed }},
		{"firq.actor.restarts", "{incarnation}", "Incarnations that a supervisor started.", func(k *actor.KindRecord) uint64 { return k.Restarted }},
	} {
		in.counters(c.name, c.unit, c.text, func(r *recorded, to send[int64]) {
			for i := range r.Kinds {
				to(toInt64(c.value(&r.Kinds[i])), kindOf(&r.Kinds[i]))
			}
		})
	}
	in.times("firq.actor.processor_time", "Processor time of turns.", func(r *recorded, to send[float64]) {
		for i := range r.Kinds {
			to(r.Kinds[i].Used.Seconds(), kindOf(&r.Kinds[i]))
		}
	})
	in.levels("firq.actor.abandoned", "{handler}", "Abandoned handlers that still run.", func(r *recorded, to send[int64]) {
		for i := range r.Kinds {
			to(int64(r.Kinds[i].Abandoned), kindOf(&r.Kinds[i]))
		}
	})
	in.counters("firq.actor.turns", "{turn}", "Turns of actors, by how they ended: idle, slice, throughput or lost.", func(r *recorded, to send[int64]) {
		for i := range r.Kinds {
			for end, n := range r.Kinds[i].Turns {
				to(toInt64(n), kindOf(&r.Kinds[i]), EndKey.String(end))
			}
		}
	})
	in.counters("firq.actor.refused", "{message}", "Messages that were not accepted, by reason: full, stopped, deadlock, stale, context or other.",
		func(r *recorded, to send[int64]) {
			for i := range r.Kinds {
				for why, n := range r.Kinds[i].Refused {
					to(toInt64(n), kindOf(&r.Kinds[i]), ReasonKey.String(why))
				}
			}
		})
	in.counters("firq.actor.timeouts", "{handler}", "Handlers that ran for their timeout, by mode: warn, cancel or stop.", func(r *recorded, to send[int64]) {
		for _, t := range r.Timeouts {
			to(toInt64(t.Count), KindKey.String(valid(t.Kind)), MethodKey.String(valid(t.Method)), ModeKey.String(t.Mode.String()))
		}
	})
	return in
}

func kindOf(k *actor.KindRecord) attribute.KeyValue { return KindKey.String(valid(k.Kind)) }
