package watchdog

import (
	"cmp"
	"slices"
	"time"
)

// judge turns the level of each interval into the level that is reported: up at
// once, down after calm intervals in a row below it. Plain memory, no clock; one
// goroutine uses it.
type judge struct {
	calm   int           // how many intervals below the level make it fall
	remind time.Duration // below 0: never

	level Level
	since time.Time // when level began
	told  time.Time // when the last report was made
	below int       // intervals in a row below level
	worst Level     // the worst of these
}

// verdict is what to do after an interval.
type verdict uint8

const (
	silent verdict = iota
	changed
	reminder
)

// next takes the level that the interval that ended at now calls for.
func (j *judge) next(now time.Time, seen Level) verdict {
	switch {
	case seen > j.level:
		return j.change(now, seen)
	case seen == j.level:
		j.below, j.worst = 0, OK
	default:
		j.below++
		j.worst = max(j.worst, seen)
		if j.below >= j.calm {
			return j.change(now, j.worst)
		}
	}
	if j.level == OK || j.remind < 0 || now.Sub(j.told) < j.remind {
		return silent
	}
	j.told = now
	return reminder
}

func (j *judge) change(now time.Time, to Level) verdict {
	j.level, j.since, j.told = to, now, now
	j.below, j.worst = 0, OK
	return changed
}

// findings compares a sample with the thresholds; worst first, and in the order
// of the signals among equals.
func (o *Options) findings(s *Sample) []Finding {
	var all []Finding
	check := func(sig Signal, name string, d time.Duration, l limits) {
		if level, threshold := l.level(d); level != OK {
			all = append(all, Finding{Signal: sig, Name: name, Level: level, Value: d, Threshold: threshold})
		}
	}
	process := limits{o.Warning, o.Critical}
	check(TimerLateness, "", s.TimerLateness, process)
	check(SchedulingLatency, "", s.Scheduling.Tail, process)
	for i, q := range s.Queues {
		l := limits{o.Queues[i].Warning, o.Queues[i].Critical}
		check(QueueWait, q.Name, q.Wait.Tail, l)
		check(QueueStall, q.Name, q.Stalled, l)
	}
	for i, p := range s.Probes {
		check(ProbeTime, p.Name, p.Time, limits{o.Probes[i].Warning, o.Probes[i].Critical})
		if p.Err != nil {
			all = append(all, Finding{Signal: ProbeError, Name: p.Name, Level: Warning, Err: p.Err})
		}
	}
	slices.SortStableFunc(all, func(a, b Finding) int { return cmp.Compare(b.Level, a.Level) })
	return all
}

// worst returns the level of the first finding.
func worst(sorted []Finding) Level {
	if len(sorted) == 0 {
		return OK
	}
	return sorted[0].Level
}
