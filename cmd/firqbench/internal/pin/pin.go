// Package pin keeps the process on some of the processors that it may run on, so
// that a machine with many of them can be measured as one with few.
package pin

import (
	"errors"
	"fmt"
)

// First pins every thread of the process, and so those that they start, to the
// first n of the processors that it may run on. It returns their numbers, and a
// function that undoes it.
func First(n int) (cpus []int, undo func() error, err error) {
	allowed, err := allowed()
	if err != nil {
		return nil, nil, err
	}
	if n < 1 || n > len(allowed) {
		return nil, nil, fmt.Errorf("%d, must be 1 to %d, the processors that this process may run on", n, len(allowed))
	}
	if err := restrict(allowed[:n]); err != nil {
		return nil, nil, errors.Join(err, restrict(allowed))
	}
	return allowed[:n], func() error { return restrict(allowed) }, nil
}
