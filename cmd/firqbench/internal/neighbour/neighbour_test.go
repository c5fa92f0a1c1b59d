package neighbour

import (
	"fmt"
	"os"
	"runtime"
	"strings"
	"testing"
	"time"
)

// It burns processor time, in as many threads as it was told to, and is gone after
// Stop.
func TestNeighbour(t *testing.T) {
	if runtime.GOOS != "linux" {
		t.Skip("reads /proc")
	}
	n, err := Start(2)
	if err != nil {
		t.Fatal(err)
	}
	stat := fmt.Sprintf("/proc/%d/stat", n.cmd.Process.Pid)
	ticks := func() (user int) {
		b, err := os.ReadFile(stat)
		if err != nil {
			t.Fatal(err)
		}
		fields := strings.Fields(string(b[strings.LastIndexByte(string(b), ')')+1:]))
		_, _ = fmt.Sscan(fields[11], &user)
		return user
	}
	for deadline := time.Now().Add(20 * time.Second); ticks() < 10; { // 100 ms of processor time
		if time.Now().After(deadline) {
			t.Fatal("it does nothing")
		}
		time.Sleep(time.Millisecond)
	}
	n.Stop()
	if _, err := os.Stat(stat); err == nil {
		t.Error("it is still there after Stop")
	}
}

func TestThreads(t *testing.T) {
	for processors, want := range map[int]int{1: 1, 2: 4, 8: 64, 64: 512} {
		if got := Threads(processors); got != want {
			t.Errorf("%d processors: %d threads, want %d", processors, got, want)
		}
	}
}

func TestNoNeighboursOfNeighbours(t *testing.T) {
	t.Setenv(variable, "1")
	if _, err := Start(1); err == nil {
		t.Error("a neighbour has started another one")
	}
}
