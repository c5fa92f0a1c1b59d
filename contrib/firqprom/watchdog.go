package firqprom

import (
	"time"

	"github.com/firq-go/firq/watchdog"
)

type status = watchdog.Status

// watchdogTable is about a watchdog. What an interval measured is there once one
// has ended, and then as of the last one. How many tasks and calls were counted in
// it is not there: the counters of the queues say it for any interval.
func watchdogTable() table[status] {
	return table[status]{
		{name: "firq_watchdog_running", kind: gauge, help: "1 while Run is in progress, else 0.",
			value: func(s *status) float64 { return bit(s.Running) }},
		{name: "firq_watchdog_level", kind: gauge, help: "0: ok, 1: warning, 2: critical.",
			value: func(s *status) float64 { return float64(s.Level) }},
		{name: "firq_watchdog_level_since_timestamp_seconds", kind: gauge, help: "When the level began, as a Unix time.",
			each: func(s *status, send sender) {
				if !s.Since.IsZero() {
					send(float64(s.Since.UnixNano()) / 1e9)
				}
			}},
		{name: "firq_watchdog_findings", kind: gauge, help: "Thresholds that were reached in the last interval, by signal and level.",
			labels: []string{"signal", "level"}, each: findings},
		{name: "firq_watchdog_reports_total", kind: counter, help: "Reports made.",
			value: func(s *status) float64 { return float64(s.Reports) }},
		{name: "firq_watchdog_reports_missed_total", kind: counter, help: "Reports dropped because the receiver was slow.",
			value: func(s *status) float64 { return float64(s.Missed) }},

		{name: "firq_watchdog_timer_lateness_seconds", kind: gauge, help: "By how much a timer fired late, the worst of the last interval.",
			each: measured(func(s *watchdog.Sample, send sender) { send(s.TimerLateness.Seconds()) })},
		{name: "firq_watchdog_scheduling_latency_seconds", kind: gauge,
			help:   "How long goroutines were ready before they ran, in the last interval: the median, the tail (Options.Quantile) and the maximum.",
			labels: []string{"at"}, each: measured(func(s *watchdog.Sample, send sender) {
				if !s.NoScheduling {
					latency(s.Scheduling, send)
				}
			})},
		{name: "firq_watchdog_goroutines", kind: gauge, help: "Goroutines that exist.",
			each: measured(func(s *watchdog.Sample, send sender) { known(s.Goroutines, send) })},
		{name: "firq_watchdog_goroutines_runnable", kind: gauge, help: "Goroutines that are ready and do not run.",
			each: measured(func(s *watchdog.Sample, send sender) { known(s.Runnable, send) })},
		{name: "firq_watchdog_processors", kind: gauge, help: "GOMAXPROCS.",
			each: measured(func(s *watchdog.Sample, send sender) { known(s.Processors, send) })},

		{name: "firq_watchdog_queue_length", kind: gauge, help: "Tasks queued at the end of the last interval, by queue watched.",
			labels: []string{"queue"}, each: queues(func(q *watchdog.QueueSample, send sender) { send(float64(q.Len), q.Name) })},
		{name: "firq_watchdog_queue_wait_seconds", kind: gauge,
			help:   "How long the tasks delivered in the last interval had waited: the median, the tail (Options.Quantile) and the maximum.",
			labels: []string{"queue", "at"}, each: queues(func(q *watchdog.QueueSample, send sender) { latency(q.Wait, send, q.Name) })},
		{name: "firq_watchdog_queue_stalled_seconds", kind: gauge, help: "How long there has been a backlog and no delivery.",
			labels: []string{"queue"}, each: queues(func(q *watchdog.QueueSample, send sender) { send(q.Stalled.Seconds(), q.Name) })},
		{name: "firq_watchdog_probe_duration_seconds", kind: gauge, help: "The longest call of a probe in the last interval, the one in progress included.",
			labels: []string{"probe"}, each: probes(func(p *watchdog.ProbeSample, send sender) { send(p.Time.Seconds(), p.Name) })},
		{name: "firq_watchdog_probe_failing", kind: gauge, help: "1 if a call of a probe failed in the last interval, else 0.",
			labels: []string{"probe"}, each: probes(func(p *watchdog.ProbeSample, send sender) { send(bit(p.Err != nil), p.Name) })},
	}
}

// findings counts those of the last interval; a series at 0 is what says that there
// are none.
func findings(s *status, send sender) {
	for signal := watchdog.TimerLateness; signal <= watchdog.ProbeError; signal++ {
		for level := watchdog.Warning; level <= watchdog.Critical; level++ {
			send(0, signal.String(), level.String())
		}
	}
	for _, f := range s.Findings {
		send(1, f.Signal.String(), f.Level.String())
	}
}

// measured is for metrics of a sample, of which there is none at first.
func measured(of func(*watchdog.Sample, sender)) func(*status, sender) {
	return func(s *status, send sender) {
		if !s.Sample.End.IsZero() {
			of(&s.Sample, send)
		}
	}
}

func queues(of func(*watchdog.QueueSample, sender)) func(*status, sender) {
	return func(s *status, send sender) {
		for i := range s.Sample.Queues {
			of(&s.Sample.Queues[i], send)
		}
	}
}

func probes(of func(*watchdog.ProbeSample, sender)) func(*status, sender) {
	return func(s *status, send sender) {
		for i := range s.Sample.Probes {
			of(&s.Sample.Probes[i], send)
		}
	}
}

// latency sends three series with the label at after the given ones.
func latency(l watchdog.Latency, send sender, labels ...string) {
	for _, p := range []struct {
		at string
		d  time.Duration
	}{{"p50", l.P50}, {"tail", l.Tail}, {"max", l.Max}} {
		send(p.d.Seconds(), append(labels[:len(labels):len(labels)], p.at)...)
	}
}

// known sends a number that is -1 where the runtime does not tell.
func known(n int, send sender) {
	if n >= 0 {
		send(float64(n))
	}
}

func bit(b bool) float64 {
	if b {
		return 1
	}
	return 0
}
