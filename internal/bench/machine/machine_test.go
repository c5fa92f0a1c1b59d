package machine

import (
	"runtime"
	"testing"
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
