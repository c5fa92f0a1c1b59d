//go:build unix

package pgserver

import (
	"os"
	"os/user"
	"strconv"
	"syscall"
)

// id returns the user that the server runs as: ours, or another one if we are root, as which it does not run.
func id() (uid, gid int) {
	if os.Geteuid() != 0 {
		return -1, -1
	}
	for _, name := range []string{"postgres", "nobody"} {
		if u, err := user.Lookup(name); err == nil {
			uid, err1 := strconv.Atoi(u.Uid)
			gid, err2 := strconv.Atoi(u.Gid)
			if err1 == nil && err2 == nil {
				return uid, gid
			}
		}
	}
	return 65534, 65534
}

// asUser starts a program as that user, and where our signals do not reach it.
func asUser() *syscall.SysProcAttr {
	a := &syscall.SysProcAttr{Setpgid: true}
	if uid, gid := id(); uid >= 0 {
		a.Credential = &syscall.Credential{Uid: uint32(uid), Gid: uint32(gid)}
	}
	return a
}

// stop stops a process, which goes on to exist.
func stop(pid int) { _ = syscall.Kill(pid, syscall.SIGSTOP) }

// own gives a folder to that user.
func own(dir string) error {
	if uid, gid := id(); uid >= 0 {
		return os.Chown(dir, uid, gid)
	}
	return nil
}
