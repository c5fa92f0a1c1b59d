package usage

import "time"

// Machine is what all processors of the machine have done until some moment, and what this
// process had used by then. The zero value is that of a system that does not say.
type Machine struct {
	all, idle time.Duration // of all processors together, since the machine started
	own       Usage
}

// Busy is the part of the machine's processor time from which on the figures of a benchmark
// depend on what else runs.
const Busy = 0.1

// Others returns which part of the time of all processors, 0 to 1, has gone since before to
// other programs, and to other guests of the host (steal); 0 if the system does not say.
// The kernel counts in steps of 10 ms, so a tenth of a second of two processors is known to
// within some 5 %.
func (m Machine) Others(before Machine) float64 {
	all := m.all - before.all
	if before.all == 0 || all <= 0 {
		return 0
	}
	others := all - (m.idle - before.idle) - m.own.Since(before.own).CPU
	return min(1, max(0, float64(others)/float64(all)))
}
