package firqredis

import "syscall"

// dieWithParent lets no server outlive tests that crash.
func dieWithParent() *syscall.SysProcAttr { return &syscall.SysProcAttr{Pdeathsig: syscall.SIGKILL} }
