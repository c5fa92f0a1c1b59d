//go:build !linux

package firqredis

import "syscall"

// dieWithParent does nothing: only Linux can.
func dieWithParent() *syscall.SysProcAttr { return nil }
