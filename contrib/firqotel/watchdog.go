package firqotel

import (
	"time"

	"go.opentelemetry.io/otel/attribute"

	"github.com/firq-go/firq/watchdog"
)

type status = watchdog.Status

// watchdogInstruments are about a watchdog. What an interval measured is there
// once one has ended, and then as of the last one.
func watchdogInstruments(s *setup) *instruments[status] {
	in := &instruments[status]{setup: s}
	in.gauge("firq.watchdog.running", "1", "1 while Run is in progress, else 0.", func(s *status) float64 { return bit(s.Running) })
	in.gauge("firq.watchdog.level", "1", "0: ok, 1: warning, 2: critical.", func(s *status) float64 { return float64(s.Level) })
	in.gauges("firq.watchdog.level_since", "s", "When the level began, as a Unix time.", func(s *status, to send[float64]) {
		if !s.Since.IsZero() {
			to(float64(s.Since.UnixNano()) / 1e9)
		}
	})
	in.levels("firq.watchdog.findings", "{finding}", "Thresholds that were reached in the last interval, by signal and level.", findings)
	in.counter("firq.watchdog.reports", "{report}", "Reports made.", func(s *status) uint64 { return s.Reports })
	in.counter("firq.watchdog.reports_missed", "{report}", "Reports dropped because the receiver was slow.", func(s *status) uint64 { return s.Missed })

	in.gauges("firq.watchdog.timer_lateness", "s", "By how much a timer fired late, the worst of the last interval.",
		measured(func(s *watchdog.Sample, to send[float64]) { to(s.TimerLateness.Seconds()) }))
	in.gauges("firq.watchdog.scheduling_latency", "s",
		"How long goroutines were ready before they ran, in the last interval: the median, the tail (Options.Quantile) and the maximum.",
		measured(func(s *watchdog.Sample, to send[float64]) {
			if !s.NoScheduling {
				latency(s.Scheduling, to)
			}
		}))
	in.levels("firq.watchdog.goroutines", "{goroutine}", "Goroutines that exist.",
		measured(func(s *watchdog.Sample, to send[int64]) { known(s.Goroutines, to) }))
	in.levels("firq.watchdog.goroutines_runnable", "{goroutine}", "Goroutines that are ready and do not run.",
		measured(func(s *watchdog.Sample, to send[int64]) { known(s.Runnable, to) }))
	in.levels("firq.watchdog.processors", "{processor}", "GOMAXPROCS.",
		measured(func(s *watchdog.Sample, to send[int64]) { known(s.Processors, to) }))

	in.levels("firq.watchdog.queue.length", "{task}", "Tasks queued at the end of the last interval, by queue watched.",
		queues(func(q *watchdog.QueueSample, name attribute.KeyValue, to send[int64]) { to(int64(q.Len), name) }))
	in.gauges("firq.watchdog.queue.wait", "s",
		"How long the tasks delivered in the last interval had waited: the median, the tail (Options.Quantile) and the maximum.",
		queues(func(q *watchdog.QueueSample, name attribute.KeyValue, to send[float64]) { latency(q.Wait, to, name) }))
	in.gauges("firq.watchdog.queue.stalled", "s", "How long there has been a backlog and no delivery.",
		queues(func(q *watchdog.QueueSample, name attribute.KeyValue, to send[float64]) {
			to(q.Stalled.Seconds(), name)
		}))
	in.gauges("firq.watchdog.probe.duration", "s", "The longest call of a probe in the last interval, the one in progress included.",
		probes(func(p *watchdog.ProbeSample, name attribute.KeyValue, to send[float64]) { to(p.Time.Seconds(), name) }))
	in.gauges("firq.watchdog.probe.failing", "1", "1 if a call of a probe failed in the last interval, else 0.",
		probes(func(p *watchdog.ProbeSample, name attribute.KeyValue, to send[float64]) { to(bit(p.Err != nil), name) }))
	return in
}

// findings counts those of the last interval; a series at 0 is what says that there
// are none.
func findings(s *status, to send[int64]) {
	type kind struct {
		signal watchdog.Signal
		level  watchdog.Level
	}
	count := map[kind]int64{}
	for signal := watchdog.TimerLateness; signal <= watchdog.ProbeError; signal++ {
		for level := watchdog.Warning; level <= watchdog.Critical; level++ {
			count[kind{signal, level}] = 0
		}
	}
	for _, f := range s.Findings {
		count[kind{f.Signal, f.Level}]++
	}
	for k, n := range count {
		to(n, SignalKey.String(k.signal.String()), LevelKey.String(k.level.String()))
	}
}

// measured is for metrics of a sample, of which there is none at first.
func measured[N int64 | float64](of func(*watchdog.Sample, send[N])) func(*status, send[N]) {
	return func(s *status, to send[N]) {
		if !s.Sample.End.IsZero() {
			of(&s.Sample, to)
		}
	}
}

func queues[N int64 | float64](of func(*watchdog.QueueSample, attribute.KeyValue, send[N])) func(*status, send[N]) {
	return func(s *status, to send[N]) {
		for i := range s.Sample.Queues {
			q := &s.Sample.Queues[i]
			of(q, QueueKey.String(valid(q.Name)), to)
		}
	}
}

func probes[N int64 | float64](of func(*watchdog.ProbeSample, attribute.KeyValue, send[N])) func(*status, send[N]) {
	return func(s *status, to send[N]) {
		for i := range s.Sample.Probes {
			p := &s.Sample.Probes[i]
			of(p, ProbeKey.String(valid(p.Name)), to)
		}
	}
}

// latency sends three series with the attribute firq.at after the given ones.
func latency(l watchdog.Latency, to send[float64], more ...attribute.KeyValue) {
	for _, p := range []struct {
		at string
		d  time.Duration
	}{{"p50", l.P50}, {"tail", l.Tail}, {"max", l.Max}} {
		to(p.d.Seconds(), append(more[:len(more):len(more)], AtKey.String(p.at))...)
	}
}

// known sends a number that is -1 where the runtime does not tell.
func known(n int, to send[int64]) {
	if n >= 0 {
		to(int64(n))
	}
}

func bit(b bool) float64 {
	if b {
		return 1
	}
	return 0
}
