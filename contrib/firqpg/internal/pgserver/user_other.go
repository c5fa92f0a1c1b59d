//go:build !unix

package pgserver

import "syscall"

func asUser() *syscall.SysProcAttr { return nil }

func own(string) error { return nil }
