//go:build !linux

package pin

import "errors"

var errUnsupported = errors.New("a process can be pinned to processors on Linux only")

func allowed() ([]int, error) { return nil, errUnsupported }

func restrict([]int) error { return errUnsupported }
