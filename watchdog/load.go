package watchdog

import (
	"fmt"
	"runtime"
)

// Load says whose load it is that goroutines wait for: see Report.Load.
type Load uint8

const (
	// Unclear: the process used a part of its processors that proves nothing, or the report
	// is not about processors, or the system does not say what the process used.
	Unclear Load = iota
	// Own: the process used nine tenths of its processors, or more. It has more to do than
	// they can.
	Own
	// Other: the process used less than half of its processors while its goroutines waited
	// for them. So it did not get them: other programs or machines use them, a limit is
	// reached (a container's), or the process, or all of the machine, stood still.
	Other
)

// String returns "unclear", "own" or "other".
func (l Load) String() string {
	switch l {
	case Unclear:
		return "unclear"
	case Own:
		return "own"
	case Other:
		return "other"
	}
	return fmt.Sprintf("Load(%d)", uint8(l))
}

// Load says whether it is this program that keeps the processors busy, if TimerLateness or
// SchedulingLatency is among the findings. It compares the processor time that the process used
// in the interval with that of GOMAXPROCS processors, or of as many as there are.
func (r Report) Load() Load { return r.loadOf(runtime.NumCPU()) }

// loadOf is Load on a machine with the given number of processors.
func (r *Report) loadOf(cpus int) Load {
	for _, f := range r.Findings {
		if f.Signal == TimerLateness || f.Signal == SchedulingLatency {
			return r.Sample.load(cpus)
		}
	}
	return Unclear
}

func (s *Sample) load(cpus int) Load {
	most := float64(min(s.Processors, cpus)) * float64(s.End.Sub(s.Start))
	used := float64(s.ProcessorTime)
	switch {
	case used < 0 || most <= 0:
		return Unclear
	case used >= 0.9*most:
		return Own
	case used < 0.5*most:
		return Other
	}
	return Unclear
}
