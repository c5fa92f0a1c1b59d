// Package quota gives the process less than its machine has, as a container with a
// limit of processor time does: its own control group, whose processes are all
// stopped for the rest of a period once they have used what the period grants.
package quota

import (
	"errors"
	"fmt"
	"time"
)

// Periods of a quota.
const (
	Period = 100 * time.Millisecond // the default of Linux, Docker and Kubernetes
	Short  = 10 * time.Millisecond  // for runs of a few of those
)

// Most is the largest quota, in percent of one processor: 10,000 processors.
const Most = 1_000_000

// Limit moves the process, with all its threads and what it starts from then on, into
// a new control group that may use a percentage of one processor in each period, and returns a
// function that moves it back and removes the group. It takes Linux with control groups
// of either version, and the right to make one: root has it.
func Limit(percent int, period time.Duration) (undo func() error, err error) {
	if percent < 1 || percent > Most {
		return nil, fmt.Errorf("%d, must be 1 to %d percent of one processor", percent, Most)
	}
	undo, err = limit(percent, period)
	if err != nil {
		return nil, fmt.Errorf("no control group can be made (try systemd-run --user --scope -p CPUQuota=%d%%, or a container with that limit): %w", percent, err)
	}
	return undo, nil
}

// Try returns why Limit does not work here, nil if it does.
func Try() error {
	undo, err := Limit(Most, Period) // so much that it changes nothing
	if err != nil {
		return err
	}
	return undo()
}

// Processors returns the GOMAXPROCS that the Go runtime has in a container with that
// quota, on a machine with the given number of processors: rounded up, and 2 at least, because it is
// a quota of time and not of processors (see the documentation of runtime.GOMAXPROCS).
func Processors(percent, machine int) int {
	return min(max((percent+99)/100, 2), machine)
}

var errNone = errors.New("this system has no control groups for processor time")
