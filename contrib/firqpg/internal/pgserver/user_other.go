//go:build !unix

package pgserver

import "syscall"

func asUser() *syscall.SysProcAttr { return nil }

func stop(int) {}

func own(string) error { return nil }
