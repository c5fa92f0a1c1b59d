package pin

import (
	"runtime"
	"slices"
	"strings"
	"sync"
	"testing"

	"golang.org/x/sys/unix"
)

// everywhere returns on how many processors each thread may run.
func everywhere(t *testing.T) (counts []int) {
	t.Helper()
	ids, err := threads()
	if err != nil {
		t.Fatal(err)
	}
	for _, id := range ids {
		var set unix.CPUSet
		if err := unix.SchedGetaffinity(id, &set); err == nil { // else it has ended
			counts = append(counts, set.Count())
		}
	}
	return counts
}

// Threads that are there and threads that come later are pinned, and all of them
// are free again afterwards.
func TestFirst(t *testing.T) {
	before, err := allowed()
	if err != nil {
		t.Fatal(err)
	}
	// Other threads, which block, so that Go has to start others.
	hold := func(n int) (release func()) {
		var started, ended sync.WaitGroup
		stop := make(chan struct{})
		for range n {
			started.Add(1)
			ended.Go(func() {
				runtime.LockOSThread()
				defer runtime.UnlockOSThread()
				started.Done()
				<-stop
			})
		}
		started.Wait()
		return func() { close(stop); ended.Wait() }
	}
	defer hold(4)()
	cpus, undo, err := First(1)
	if err != nil {
		t.Fatal(err)
	}
	defer hold(4)()
	counts := everywhere(t)
	if !slices.Equal(cpus, before[:1]) || len(counts) < 8 || slices.Max(counts) != 1 {
		t.Errorf("pinned to %v of %v: threads may run on %v processors", cpus, before, counts)
	}
	if err := undo(); err != nil {
		t.Fatal(err)
	}
	if counts := everywhere(t); slices.Min(counts) != len(before) {
		t.Errorf("undone: threads may run on %v processors of %d", counts, len(before))
	}
	for _, n := range []int{0, -1, len(before) + 1} {
		if _, _, err := First(n); err == nil || !strings.Contains(err.Error(), "must be 1 to") {
			t.Errorf("First(%d): %v", n, err)
		}
	}
	if now, err := allowed(); err != nil || !slices.Equal(now, before) {
		t.Errorf("afterwards %v, %v; before %v", now, err, before)
	}
}
