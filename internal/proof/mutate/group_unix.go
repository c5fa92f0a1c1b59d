//go:build unix

package main

import (
	"os/exec"
	"syscall"
)

// ownGroup sees to it that what the command has started ends with it: go test
// leaves a test binary running when it is killed.
func ownGroup(cmd *exec.Cmd) {
	cmd.SysProcAttr = &syscall.SysProcAttr{Setpgid: true}
	cmd.Cancel = func() error { return syscall.Kill(-cmd.Process.Pid, syscall.SIGKILL) }
}
