package machine

import (
	"runtime"
	"runtime/debug"
	"testing"
	"time"
)

func TestRead(t *testing.T) {
	e := Read()
	if e.Commit == "" || e.CPU == "" || e.Kernel == "" || e.Command == "" || e.Start.IsZero() {
		t.Errorf("empty: %+v", e)
	}
	if e.GoVersion != runtime.Version() || e.Cores < 1 || e.GOMAXPROCS < 1 {
		t.Errorf("%+v", e)
	}
}

func TestCommand(t *testing.T) {
	for _, c := range []struct {
		args []string
		want string
	}{
		{[]string{"/tmp/go-build1/b001/exe/firqbench", "run", "--work", "0s,100ns"}, "firqbench run --work 0s,100ns"},
		{[]string{"x", "", "a b", "it's", "$HOME"}, `x '' 'a b' 'it'\''s' '$HOME'`},
	} {
		if got := command(c.args); got != c.want {
			t.Errorf("command(%q) = %s, want %s", c.args, got, c.want)
		}
	}
}

// What figures depend on is a difference; when, by which commit and command they
// came is none.
func TestDifferences(t *testing.T) {
	a := Env{CPU: "x", Cores: 2, GoVersion: "go1"}
	b := a
	b.Commit, b.Modified, b.Load, b.Command, b.Start = "c", true, "1", "d", time.Unix(1, 0)
	if ds := a.Differences(&b); len(ds) != 0 {
		t.Errorf("%+v", ds)
	}
	b = Env{CPU: "y", Cores: 3, GOMAXPROCS: 1, Pinned: []int{4}, OS: "o", Kernel: "k", GoVersion: "go2", GOGC: "off", Governor: "g", Clock: "c"}
	ds := a.Differences(&b)
	if len(ds) != 10 || ds[0] != (Difference{"the processor", "x", "y"}) || ds[3] != (Difference{"the processors it was pinned to", "", "[4]"}) {
		t.Errorf("%d: %+v", len(ds), ds)
	}
}

func TestProgram(t *testing.T) {
	if a, b := Program(), Program(); len(a) != 64 || a != b {
		t.Errorf("%q, then %q", a, b)
	}
}

// A binary names its commit; one that was installed from the module proxy, which has no commits, its release.
func TestRevision(t *testing.T) {
	vcs := []debug.BuildSetting{{Key: "vcs.revision", Value: "abc"}, {Key: "vcs.modified", Value: "true"}}
	for _, c := range []struct {
		version, hash string
		settings      []debug.BuildSetting
		modified      bool
	}{{"v0.1.0", "v0.1.0", nil, false}, {"(devel)", "", nil, false}, {"v0.1.0", "abc", vcs, true}} {
		hash, modified := revision(&debug.BuildInfo{Main: debug.Module{Version: c.version}, Settings: c.settings})
		if hash != c.hash || modified != c.modified {
			t.Errorf("%+v: %q, %v", c, hash, modified)
		}
	}
}

// What the linker has set goes before what the repository says.
func TestBuilt(t *testing.T) {
	defer func() { built = "" }()
	for _, c := range []struct {
		told, hash string
		modified   bool
	}{{"abc", "abc", false}, {"abc-modified", "abc", true}} {
		built = c.told
		if e := Read(); e.Commit != c.hash || e.Modified != c.modified {
			t.Errorf("%s: %s, %v", c.told, e.Commit, e.Modified)
		}
	}
}
