//go:build !linux

package pin

func allowed() ([]int, error) { return nil, ErrUnsupported }

func restrict([]int) error { return ErrUnsupported }
