package quota

import (
	"errors"
	"fmt"
	"os"
	"path/filepath"
	"slices"
	"strconv"
	"strings"
	"time"
)

func limit(percent int, period time.Duration) (undo func() error, err error) {
	own, err := os.ReadFile("/proc/self/cgroup")
	if err != nil {
		return nil, errNone
	}
	g, err := find("/sys/fs/cgroup", string(own))
	if err != nil {
		return nil, err
	}
	return g.enter(percent, period, os.Getpid())
}

// group is where the process is, and where its own group can be.
type group struct {
	own    string // the folder of the group that the process is in
	parent string // the folder in which the new one is made
	second bool   // version 2 of control groups
}

// find reads what /proc/self/cgroup says. Version 1 has a hierarchy for processor time;
// version 2 has one for everything, in which a group can be limited if the one above it
// hands the controller down.
func find(root, own string) (group, error) {
	unified := ""
	for line := range strings.Lines(own) {
		fields := strings.SplitN(strings.TrimSpace(line), ":", 3)
		if len(fields) != 3 {
			continue
		}
		if fields[1] == "" {
			unified = fields[2]
		} else if slices.Contains(strings.Split(fields[1], ","), "cpu") {
			dir := filepath.Join(root, fields[1])
			if _, err := os.Stat(dir); err != nil {
				dir = filepath.Join(root, "cpu")
			}
			dir = filepath.Join(dir, fields[2])
			return group{own: dir, parent: dir}, nil
		}
	}
	if _, err := os.Stat(filepath.Join(root, "cgroup.controllers")); err != nil || unified == "" {
		return group{}, errNone
	}
	g := group{own: filepath.Join(root, unified), second: true}
	for at := unified; ; at = filepath.Dir(at) {
		g.parent = filepath.Join(root, at)
		handed, err := os.ReadFile(filepath.Join(g.parent, "cgroup.subtree_control"))
		if err == nil && slices.Contains(strings.Fields(string(handed)), "cpu") {
			return g, nil
		}
		if at == "/" || at == "." {
			return g, write(g.parent, "cgroup.subtree_control", "+cpu")
		}
	}
}

func write(dir, name, value string) error {
	// O_TRUNC and O_CREATE mean nothing to these files; a folder without them is no group.
	f, err := os.OpenFile(filepath.Join(dir, name), os.O_WRONLY, 0)
	if err != nil {
		return err
	}
	_, err = f.WriteString(value)
	return errors.Join(err, f.Close())
}

// enter makes the group, limits it and moves the process into it.
func (g group) enter(percent int, each time.Duration, pid int) (undo func() error, err error) {
	dir := filepath.Join(g.parent, fmt.Sprintf("firqbench-%d", pid))
	if err := os.Mkdir(dir, 0o755); err != nil {
		return nil, err
	}
	period := each.Microseconds()
	quota := int64(percent) * period / 100
	if g.second {
		err = write(dir, "cpu.max", fmt.Sprintf("%d %d", quota, period))
	} else {
		err = errors.Join(
			write(dir, "cpu.cfs_period_us", strconv.FormatInt(period, 10)),
			write(dir, "cpu.cfs_quota_us", strconv.FormatInt(quota, 10)))
	}
	if err == nil {
		err = write(dir, "cgroup.procs", strconv.Itoa(pid))
	}
	if err != nil {
		return nil, errors.Join(err, remove(dir))
	}
	return func() error {
		if err := write(g.own, "cgroup.procs", strconv.Itoa(pid)); err != nil {
			return fmt.Errorf("quota: %w", err)
		}
		return remove(dir)
	}, nil
}

// remove removes a group. The kernel may take a moment to let go of what has left it.
func remove(dir string) (err error) {
	for range 100 {
		if err = os.Remove(dir); err == nil || errors.Is(err, os.ErrNotExist) {
			return nil
		}
		time.Sleep(time.Millisecond)
	}
	return fmt.Errorf("quota: %w", err)
}
