package resume

import (
	"errors"
	"os"
	"path/filepath"
	"strings"
	"testing"
	"time"

	"github.com/firq-go/firq/cmd/firqbench/internal/machine"
	"github.com/firq-go/firq/cmd/firqbench/internal/report"
	"github.com/firq-go/firq/cmd/firqbench/internal/sweep"
)

func TestOpen(t *testing.T) {
	path := filepath.Join(t.TempDir(), "s.json")
	plan := sweep.Plan{Scenarios: []string{"contended"}, Cores: []int{1, 2}}
	env := machine.Env{CPU: "x", Commit: "a", Start: time.Unix(1, 0).UTC()}
	const program = "1234"
	f, err := Open(path, plan, env, program, false)
	if err != nil || f.Sweep.Done != 0 || !f.Interrupted {
		t.Fatalf("nothing there: %+v, %v", f, err)
	}
	if _, err := os.Stat(path); err == nil {
		t.Fatal("Open has written something")
	}
	f.Sweep.Steps, f.Sweep.Done = 7, 3
	if err := Save(f, path)(f.Sweep); err != nil {
		t.Fatal(err)
	}
	later := env
	later.Start, later.Load, later.Command = time.Unix(9, 0).UTC(), "3", "the same in other words"
	f, err = Open(path, plan, later, program, false)
	if err != nil || f.Sweep.Done != 3 || !f.Interrupted || len(f.Sweep.Resumed) != 1 || f.Env.Start != env.Start {
		t.Fatalf("goes on: %+v, %v", f, err)
	}
	f.Sweep.Done = 7
	if err := Save(f, path)(f.Sweep); err != nil || f.Interrupted {
		t.Errorf("complete, but interrupted: %v, %v", f.Interrupted, err)
	}
	for _, c := range []struct {
		plan    sweep.Plan
		env     machine.Env
		program string
		want    string
	}{
		{sweep.Plan{Scenarios: []string{"contended"}, Cores: []int{1, 4}}, env, program, "a different command wrote it: cores was [1 2], is [1 4]"},
		{plan, machine.Env{CPU: "y", Commit: "a"}, program, "begun elsewhere: the processor was x, is y"},
		{plan, machine.Env{CPU: "x", Commit: "b", Modified: true}, program, "begun with another program: commit a, is b (modified)"},
		{plan, env, "5678", "begun with another program"},
	} {
		_, err := Open(path, c.plan, c.env, c.program, false)
		if !errors.Is(err, ErrConflict) || !strings.Contains(err.Error(), c.want) || !strings.Contains(err.Error(), path) || !strings.Contains(err.Error(), "--restart") {
			t.Errorf("got %v, want %q", err, c.want)
		}
		if f, err := Open(path, c.plan, c.env, c.program, true); err != nil || f.Sweep.Done != 0 {
			t.Errorf("--restart: %+v, %v", f, err)
		}
	}
	other := report.File{Schema: report.Schema, Run: &report.RunSection{}}
	if err := other.Write(path); err != nil {
		t.Fatal(err)
	}
	if _, err := Open(path, plan, env, program, false); !errors.Is(err, ErrConflict) || !strings.Contains(err.Error(), "not of a sweep") {
		t.Errorf("a file of a run: %v", err)
	}
	if err := os.WriteFile(path, []byte("{"), 0o600); err != nil {
		t.Fatal(err)
	}
	if _, err := Open(path, plan, env, program, false); !errors.Is(err, ErrConflict) {
		t.Errorf("half a file: %v", err)
	}
	if f, err := Open("", plan, env, program, false); err != nil || Save(f, "")(f.Sweep) != nil {
		t.Errorf("no file: %v", err)
	}
}
