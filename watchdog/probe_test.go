package watchdog

import (
	"context"
	"errors"
	"testing"
	"testing/synctest"
	"time"
)

// TestProbe: one call is in progress at a time, and its time grows.
func TestProbe(t *testing.T) { synctest.Test(t, probeStory) }

func probeStory(t *testing.T) {
	release, failure := make(chan bool, 1), error(nil)
	begun := 0
	call := func(ctx context.Context) error {
		begun++
		select {
		case <-release:
		case <-ctx.Done():
			return ctx.Err()
		}
		return failure
	}
	s := within(t, Options{Probes: []Probe{{Name: "path", Critical: 3 * time.Second, Call: call}}}, func(s *scene) {
		s.pass(2)
		if p := s.w.Status().Sample.Probes[0]; p.Time != 2*time.Second || p.Calls != 0 || begun != 1 {
			t.Errorf("after two intervals: %+v, %d calls", p, begun)
		}
		s.pass(1)
		failure = errors.New("refused")
		release <- true
		synctest.Wait() // it took 3.05 s
		close(release)
		s.pass(1)
		if p := s.w.Status().Sample.Probes[0]; p.Time != 3050*ms || p.Calls != 1 || p.Err != failure || begun != 2 {
			t.Errorf("the interval in which it ended: %+v, %d calls", p, begun)
		}
		failure = nil
		s.pass(1)
	})
	if s.levels() != "warning critical" {
		t.Errorf("reported: %s", s.levels())
	}
	if got := s.w.Status().Findings; len(got) != 1 || got[0].Signal != ProbeError {
		t.Errorf("the call that began before the failure ended: %v", got)
	}
}

// TestProbeEndsWithRun: Run waits for the probe, and a next Run begins anew.
func TestProbeEndsWithRun(t *testing.T) {
	returned := 0
	call := func(ctx context.Context) error {
		<-ctx.Done()
		time.Sleep(time.Minute)
		returned++
		return ctx.Err()
	}
	s := play(t, Options{Probes: []Probe{{Name: "path", Call: call}}}, func(s *scene) {
		s.pass(1)
		s.stop()
		if err := <-s.ended; err != nil || returned != 1 {
			t.Errorf("Run returned %v with %d of 1 calls over", err, returned)
		}
		s.run()
		s.pass(1)
	})
	if s.levels() != "critical critical" {
		t.Errorf("reported: %s", s.levels())
	}
	if p := s.w.Status().Sample.Probes[0]; p.Time != time.Second || p.Calls != 0 || p.Err != nil {
		t.Errorf("the second Run's probe: %+v", p)
	}
	if last := s.reports[len(s.reports)-1]; last.Seq != 2 || last.Missed != 0 {
		t.Errorf("the second Run's report: %+v", last)
	}
}
