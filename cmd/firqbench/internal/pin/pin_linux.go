package pin

import (
	"errors"
	"fmt"
	"os"
	"strconv"

	"golang.org/x/sys/unix"
)

// allowed returns the processors that the process may run on, in order.
func allowed() (cpus []int, err error) {
	var set unix.CPUSet
	if err := unix.SchedGetaffinity(os.Getpid(), &set); err != nil {
		return nil, fmt.Errorf("sched_getaffinity: %w", err)
	}
	for cpu := range len(set) * strconv.IntSize {
		if set.IsSet(cpu) {
			cpus = append(cpus, cpu)
		}
	}
	return cpus, nil
}

// restrict sets the processors of every thread. A thread has its processors from
// the one that started it: when a whole pass over the threads has found no new
// one, there is none left that was started before by one not yet restricted.
func restrict(cpus []int) error {
	var set unix.CPUSet
	for _, cpu := range cpus {
		set.Set(cpu)
	}
	done := make(map[int]bool)
	for found := true; found; {
		found = false
		threads, err := threads()
		if err != nil {
			return err
		}
		for _, thread := range threads {
			if done[thread] {
				continue
			}
			found, done[thread] = true, true
			// A thread may have ended in between.
			if err := unix.SchedSetaffinity(thread, &set); err != nil && !errors.Is(err, unix.ESRCH) {
				return fmt.Errorf("sched_setaffinity: %w", err)
			}
		}
	}
	return nil
}

// threads returns the threads of the process.
func threads() (ids []int, err error) {
	entries, err := os.ReadDir("/proc/self/task")
	if err != nil {
		return nil, err
	}
	for _, e := range entries {
		id, err := strconv.Atoi(e.Name())
		if err != nil {
			return nil, err
		}
		ids = append(ids, id)
	}
	return ids, nil
}
