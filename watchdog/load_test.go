package watchdog

import (
	"fmt"
	"testing"
	"time"
)

func TestLoad(t *testing.T) {
	late, queue := Finding{Signal: TimerLateness}, Finding{Signal: QueueWait}
	for _, c := range []struct {
		findings   []Finding
		used       time.Duration // in a second
		processors int
		cpus       int
		want       Load
	}{
		{[]Finding{late}, 2 * time.Second, 2, 2, Own},
		{[]Finding{queue, {Signal: SchedulingLatency}}, 1800 * ms, 2, 8, Own},
		{[]Finding{late}, 1799 * ms, 2, 8, Unclear},
		{[]Finding{late}, 1000 * ms, 2, 8, Unclear},
		{[]Finding{late}, 999 * ms, 2, 8, Other},
		{[]Finding{late}, 0, 1, 1, Other},
		{[]Finding{late}, 900 * ms, 64, 1, Own}, // more than there are
		{[]Finding{late}, -1, 2, 2, Unclear},
		{[]Finding{late}, 0, -1, 2, Unclear},
		{[]Finding{queue, {Signal: ProbeTime}}, 0, 2, 2, Unclear}, // what waits is not in want of a processor
		{nil, 0, 2, 2, Unclear},
	} {
		began := time.Unix(1, 0)
		r := Report{Findings: c.findings, Sample: Sample{Start: began, End: began.Add(time.Second), Processors: c.processors, ProcessorTime: c.used}}
		if got := r.loadOf(c.cpus); got != c.want {
			t.Errorf("%+v: %v", c, got)
		}
	}
	if got := fmt.Sprint(Unclear, Own, Other, Load(9)); got != "unclear own other Load(9)" {
		t.Error(got)
	}
}

// What the process used is that of the interval, not since it began.
func TestProcessorTime(t *testing.T) {
	play(t, Options{}, func(s *scene) {
		for range 3 {
			s.pass(1)
			if got := s.w.Status().Sample.ProcessorTime; got != 500*ms {
				t.Errorf("%v, want 500ms", got)
			}
		}
		s.missing = true
		s.pass(2)
		if got := s.w.Status().Sample.ProcessorTime; got != -1 {
			t.Errorf("Load of what was not measured is %v", got)
		}
	})
}

// The real one grows while the process works.
func TestProcessorTimeGrows(t *testing.T) {
	was := processorTime()
	if was < 0 {
		t.Skip("this system does not say")
	}
	for began := time.Now(); processorTime() <= was; {
		if time.Since(began) > 30*time.Second {
			t.Fatalf("after half a minute of work it is %v still", was)
		}
	}
}
