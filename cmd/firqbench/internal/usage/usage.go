// Package usage says what the process has used of the machine: processor time, and how
// often a thread of it has given its processor up or lost it.
package usage

import "time"

// Usage is what the process has used since it began. The zero value is that of a system
// that does not say.
type Usage struct {
	CPU      time.Duration // user and system, all threads
	Switches uint64        // context switches of its threads, voluntary or not
}

// Since returns what was used since before.
func (u Usage) Since(before Usage) Usage {
	return Usage{u.CPU - before.CPU, u.Switches - before.Switches}
}
