package load

import (
	"bytes"
	"context"
	"runtime/pprof"
	"runtime/trace"
	"strings"
	"testing"
	"time"

	"github.com/firq-go/firq/cmd/firqbench/internal/contest"
	"github.com/firq-go/firq/cmd/firqbench/internal/scenario"
)

// A profile of several contestants can be taken apart: the driver's goroutines say what
// they are and in which phase, and all inherit what the caller says.
func TestLabels(t *testing.T) {
	s := small(scenario.All()[0])
	ctx, cancel := context.WithTimeout(t.Context(), 20*time.Second)
	defer cancel()
	var missing []string
	seen := func() bool { // in the goroutines of now
		var b bytes.Buffer
		if err := pprof.Lookup("goroutine").WriteTo(&b, 1); err != nil {
			t.Error(err)
		}
		for i, want := range missing {
			if strings.Contains(b.String(), want) {
				missing[i] = missing[0]
				missing = missing[1:]
				break
			}
		}
		return len(missing) == 0
	}
	for _, role := range []string{"producer", "consumer"} {
		missing = append(missing, `# labels: {"contestant":"c", "phase":"measure", "role":"`+role+`"}`)
	}
	run, stop := context.WithCancel(ctx)
	done := make(chan struct{})
	go func() {
		defer close(done)
		pprof.Do(run, pprof.Labels("contestant", "c"), func(ctx context.Context) {
			_, _ = Run(ctx, Spec{Scenario: s, Contestant: contestant(t, contest.OneLock), Measure: time.Minute, Probe: -1})
		})
	}()
	for !seen() && ctx.Err() == nil {
		time.Sleep(time.Millisecond)
	}
	stop()
	<-done
	if len(missing) > 0 {
		t.Errorf("no goroutine has %q", missing)
	}
}

// In an execution trace the phases of a run are regions.
func TestRegions(t *testing.T) {
	if trace.IsEnabled() {
		t.Skip("go test -trace takes one already")
	}
	var b bytes.Buffer
	if err := trace.Start(&b); err != nil {
		t.Fatal(err)
	}
	_, err := Run(t.Context(), Spec{Scenario: small(scenario.All()[0]), Contestant: contestant(t, contest.OneLock), Measure: 5 * time.Millisecond, Probe: -1})
	trace.Stop()
	if err != nil {
		t.Fatal(err)
	}
	for _, phase := range []int32{warming, measuring, stopping} {
		if !strings.Contains(b.String(), phaseNames[phase]) {
			t.Errorf("no region %q", phaseNames[phase])
		}
	}
}
