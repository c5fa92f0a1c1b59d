//go:build !linux

package quota

func limit(int) (undo func() error, err error) { return nil, errNone }
