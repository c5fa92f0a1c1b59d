package quota

import (
	"os"
	"path/filepath"
	"runtime"
	"strings"
	"sync/atomic"
	"testing"
	"time"

	"github.com/firq-go/firq/cmd/firqbench/internal/usage"
)

// folder makes files below a temporary folder, which stands for /sys/fs/cgroup.
func folder(t *testing.T, files map[string]string) string {
	t.Helper()
	root := t.TempDir()
	for name, text := range files {
		path := filepath.Join(root, name)
		if err := os.MkdirAll(filepath.Dir(path), 0o755); err != nil {
			t.Fatal(err)
		}
		if err := os.WriteFile(path, []byte(text), 0o644); err != nil {
			t.Fatal(err)
		}
	}
	return root
}

func TestFind(t *testing.T) {
	for _, c := range []struct {
		name, own   string
		files       map[string]string
		at, parent  string
		second, not bool
	}{
		{name: "version 1", own: "2:cpuacct:/x\n1:cpu:/a/b\n0::/\n", files: map[string]string{"cpu/a/b/cpu.shares": ""},
			at: "cpu/a/b", parent: "cpu/a/b"},
		{name: "version 1, two controllers in one", own: "4:cpu,cpuacct:/\n", files: map[string]string{"cpu,cpuacct/cpu.shares": ""},
			at: "cpu,cpuacct", parent: "cpu,cpuacct"},
		{name: "version 1, by its other name", own: "4:cpu,cpuacct:/\n", files: map[string]string{"cpu/cpu.shares": ""}, at: "cpu", parent: "cpu"},
		{name: "version 2, handed down", own: "0::/user/scope\n", files: map[string]string{"cgroup.controllers": "cpu",
			"user/cgroup.subtree_control": "memory cpu\n", "user/scope/cgroup.subtree_control": ""}, at: "user/scope", parent: "user", second: true},
		{name: "version 2, only at the root", own: "0::/user/scope\n", files: map[string]string{"cgroup.controllers": "cpu", "cgroup.subtree_control": "",
			"user/cgroup.subtree_control": "cpuset\n"}, at: "user/scope", second: true},
		{name: "none", own: "9:memory:/\n0::/\n", not: true},
		{name: "nonsense", own: "\nx\n", not: true},
	} {
		t.Run(c.name, func(t *testing.T) {
			root := folder(t, c.files)
			g, err := find(root, c.own)
			if c.not {
				if err == nil {
					t.Errorf("found %+v", g)
				}
				return
			}
			want := group{filepath.Join(root, c.at), filepath.Join(root, c.parent), c.second}
			if err != nil || g != want {
				t.Errorf("found %+v, %v, want %+v", g, err, want)
			}
		})
	}
}

// Where the new folder has none of the kernel's files, nothing is left of it.
func TestEnterFails(t *testing.T) {
	root := folder(t, nil)
	if _, err := (group{own: root, parent: root}).enter(80, Period, os.Getpid()); err == nil {
		t.Error("a folder was taken for a control group")
	}
	if left, _ := os.ReadDir(root); len(left) != 0 {
		t.Errorf("%v is left", left)
	}
}

// The process uses what it may and no more, and afterwards what it likes. Where no
// group can be made, the error says what else can be done.
func TestLimit(t *testing.T) {
	before, err := os.ReadFile("/proc/self/cgroup")
	if err != nil {
		t.Fatal(err)
	}
	const percent = 20
	undo, err := Limit(percent, Period)
	if err != nil {
		if !strings.Contains(err.Error(), "systemd-run") {
			t.Errorf("the error does not help: %v", err)
		}
		return
	}
	var stop atomic.Bool
	for range runtime.GOMAXPROCS(0) {
		go func() {
			for !stop.Load() { // all the processor time there is
			}
		}()
	}
	began, used := time.Now(), usage.Now()
	time.Sleep(10 * Period)
	took, cpu := time.Since(began), usage.Now().Since(used).CPU
	stop.Store(true)
	if err := undo(); err != nil {
		t.Error(err)
	}
	// What one period grants may have been left over from before, and another begun.
	if most := (took + 2*Period) * percent / 100; cpu > most*3/2 {
		t.Errorf("%v of processor time in %v, may be %v", cpu, took, most)
	}
	if after, err := os.ReadFile("/proc/self/cgroup"); err != nil || string(after) != string(before) {
		t.Errorf("it was in\n%s and is in\n%s%v", before, after, err)
	}
}
