package metrics

import (
	"time"

	"github.com/firq-go/firq/watchdog"
)

type status = watchdog.Status

// Watchdog is about a watchdog. What an interval measured is there once one has ended, and
// then as of the last one. How many tasks and calls were counted in it is not there: the
// counters of the queues say it for any interval.
func Watchdog() Table[status] {
	return Table[status]{
		{Name: "watchdog.running", Unit: "1", Kind: Gauge, Text: "1 while Run is in progress, else 0.",
			Value: func(s *status) float64 { return bit(s.Running) }},
		{Name: "watchdog.level", Unit: "1", Kind: Gauge, Text: "0: ok, 1: warning, 2: critical.",
			Value: func(s *status) float64 { return float64(s.Level) }},
		{Name: "watchdog.level_since", Unit: "s", Kind: Gauge, Text: "When the level began, as a Unix time.",
			Prometheus: "firq_watchdog_level_since_timestamp_seconds", Each: func(s *status, send Send) {
				if !s.Since.IsZero() {
					send(float64(s.Since.UnixNano()) / 1e9)
				}
			}},
		{Name: "watchdog.findings", Unit: "{finding}", Kind: Level, Text: "Thresholds that were reached in the last interval, by signal and level.",
			Labels: []string{"signal", "level"}, Each: findings},
		{Name: "watchdog.reports", Unit: "{report}", Kind: Counter, Text: "Reports made.",
			Value: func(s *status) float64 { return float64(s.Reports) }},
		{Name: "watchdog.reports_missed", Unit: "{report}", Kind: Counter, Text: "Reports dropped because the receiver was slow.",
			Value: func(s *status) float64 { return float64(s.Missed) }},

		{Name: "watchdog.timer_lateness", Unit: "s", Kind: Gauge, Text: "By how much a timer fired late, the worst of the last interval.",
			Each: measured(func(s *watchdog.Sample, send Send) { send(s.TimerLateness.Seconds()) })},
		{Name: "watchdog.scheduling_latency", Unit: "s", Kind: Gauge,
			Text:   "How long goroutines were ready before they ran, in the last interval: the median, the tail (Options.Quantile) and the maximum.",
			Labels: []string{"at"}, Each: measured(func(s *watchdog.Sample, send Send) {
				if !s.NoScheduling {
					latency(s.Scheduling, send)
				}
			})},
		{Name: "watchdog.goroutines", Unit: "{goroutine}", Kind: Level, Text: "Goroutines that exist.",
			Each: measured(func(s *watchdog.Sample, send Send) { known(s.Goroutines, send) })},
		{Name: "watchdog.goroutines_runnable", Unit: "{goroutine}", Kind: Level, Text: "Goroutines that are ready and do not run.",
			Each: measured(func(s *watchdog.Sample, send Send) { known(s.Runnable, send) })},
		{Name: "watchdog.processors", Unit: "{processor}", Kind: Level, Text: "GOMAXPROCS.",
			Each: measured(func(s *watchdog.Sample, send Send) { known(s.Processors, send) })},

		{Name: "watchdog.queue.length", Unit: "{task}", Kind: Level, Text: "Tasks queued at the end of the last interval, by queue watched.",
			Labels: []string{"queue"}, Each: queues(func(q *watchdog.QueueSample, send Send) { send(float64(q.Len), q.Name) })},
		{Name: "watchdog.queue.wait", Unit: "s", Kind: Gauge,
			Text:   "How long the tasks delivered in the last interval had waited: the median, the tail (Options.Quantile) and the maximum.",
			Labels: []string{"queue", "at"}, Each: queues(func(q *watchdog.QueueSample, send Send) { latency(q.Wait, send, q.Name) })},
		{Name: "watchdog.queue.stalled", Unit: "s", Kind: Gauge, Text: "How long there has been a backlog and no delivery.",
			Labels: []string{"queue"}, Each: queues(func(q *watchdog.QueueSample, send Send) { send(q.Stalled.Seconds(), q.Name) })},
		{Name: "watchdog.probe.duration", Unit: "s", Kind: Gauge, Text: "The longest call of a probe in the last interval, the one in progress included.",
			Labels: []string{"probe"}, Each: probes(func(p *watchdog.ProbeSample, send Send) { send(p.Time.Seconds(), p.Name) })},
		{Name: "watchdog.probe.failing", Unit: "1", Kind: Gauge, Text: "1 if a call of a probe failed in the last interval, else 0.",
			Labels: []string{"probe"}, Each: probes(func(p *watchdog.ProbeSample, send Send) { send(bit(p.Err != nil), p.Name) })},
	}
}

// findings counts those of the last interval; a series at 0 is what says that there
// are none.
func findings(s *status, send Send) {
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
func measured(of func(*watchdog.Sample, Send)) func(*status, Send) {
	return func(s *status, send Send) {
		if !s.Sample.End.IsZero() {
			of(&s.Sample, send)
		}
	}
}

func queues(of func(*watchdog.QueueSample, Send)) func(*status, Send) {
	return func(s *status, send Send) {
		for i := range s.Sample.Queues {
			of(&s.Sample.Queues[i], send)
		}
	}
}

func probes(of func(*watchdog.ProbeSample, Send)) func(*status, Send) {
	return func(s *status, send Send) {
		for i := range s.Sample.Probes {
			of(&s.Sample.Probes[i], send)
		}
	}
}

// latency sends three series with the label at after the given ones.
func latency(l watchdog.Latency, send Send, labels ...string) {
	for _, p := range []struct {
		at string
		d  time.Duration
	}{{"p50", l.P50}, {"tail", l.Tail}, {"max", l.Max}} {
		send(p.d.Seconds(), append(labels[:len(labels):len(labels)], p.at)...)
	}
}

// known sends a number that is -1 where the runtime does not tell.
func known(n int, send Send) {
	if n >= 0 {
		send(float64(n))
	}
}
