package load

import (
	"context"
	"runtime/pprof"
	"runtime/trace"
)

// Labels of profiles (go tool pprof -tagfocus) and names of trace regions. The caller of
// Run gives contestant, scenario and part, which all goroutines of a run inherit, those
// of the contestant too; the driver's own have a role and a phase besides.
const (
	roleLabel  = "role"
	phaseLabel = "phase"
)

// phaseNames are those of the phases, by number.
var phaseNames = [...]string{warming: "warm-up", measuring: "measure", finishing: "finish", recording: "record", stopping: "drain"}

// labels are those of one goroutine of the driver.
type labels struct {
	of  *[len(phaseNames)]context.Context
	now int32 // the phase that is set; -1: none
}

// newLabels returns the labels of all goroutines of a role, one after another.
func newLabels(ctx context.Context, role string) func() labels {
	var of [len(phaseNames)]context.Context
	for phase, name := range phaseNames {
		of[phase] = pprof.WithLabels(ctx, pprof.Labels(roleLabel, role, phaseLabel, name))
	}
	return func() labels { return labels{&of, -1} }
}

// enter sets the labels of a phase. The goroutine itself calls it, for each task: there
// is nothing to do unless the phase is another one.
func (l *labels) enter(phase int32) {
	if phase == l.now {
		return
	}
	l.now = phase
	pprof.SetGoroutineLabels(l.of[phase])
}

// region marks in an execution trace what f does.
func (r *run) region(phase int32, f func()) { trace.WithRegion(r.ctx, phaseNames[phase], f) }
