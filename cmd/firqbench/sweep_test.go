package main

import (
	"bytes"
	"context"
	"os"
	"path/filepath"
	"strings"
	"testing"

	"github.com/firq-go/firq/cmd/firqbench/internal/command"
	"github.com/firq-go/firq/cmd/firqbench/internal/report"
)

// A sweep that was interrupted goes on with the same command, and with no other.
func TestSweep(t *testing.T) {
	path := filepath.Join(t.TempDir(), "new", "s.json")
	args := append([]string{"sweep", "contended", "--producers", "1,2,3", "--contestants", "channel", "-o", path}, tiny...)

	ctx, cancel := context.WithCancel(t.Context())
	defer cancel()
	var out bytes.Buffer
	errOut := interrupted{marker: "2/3: contended", cancel: cancel}
	code := command.Execute(ctx, app, append([]string{"firqbench"}, args...), &out, &errOut)
	if code != command.Interrupted || !strings.Contains(errOut.buf.String(), "has 1 of 3 steps") {
		t.Fatalf("exit code %d\n%s\n%s", code, &out, &errOut.buf)
	}
	f, err := report.ReadFile(path)
	if err != nil || !f.Interrupted || len(f.Cells()) != 1 || f.Cells()[0].Point == nil {
		t.Fatalf("%+v, %v", f, err)
	}
	kept := f.Cells()[0].Runs[0].TasksPerSec

	for _, other := range []string{"--rounds=2", "--tenants=5"} {
		if code, out, errOut := call(t, append(args, other)...); code != command.Usage || out != "" ||
			!strings.Contains(errOut, "a different command wrote it") || !strings.Contains(errOut, "--restart") {
			t.Errorf("%s: exit code %d\n%s\n%s", other, code, out, errOut)
		}
	}

	code, text, errText := call(t, args...)
	if code != command.OK || strings.Contains(errText, "1/3: ") || !strings.Contains(errText, "2/3: ") || !strings.Contains(text, "1 of them done") {
		t.Fatalf("exit code %d\n%s\n%s", code, text, errText)
	}
	f, err = report.ReadFile(path)
	if err != nil || f.Interrupted || len(f.Cells()) != 3 || len(f.Sweep.Resumed) != 1 || f.Cells()[0].Runs[0].TasksPerSec != kept {
		t.Errorf("%+v, %v", f, err)
	}
	before, _ := os.ReadFile(path)
	code, text, errText = call(t, append(args, "--format", "benchfmt")...)
	if after, _ := os.ReadFile(path); code != command.OK || !bytes.Equal(before, after) || !strings.Contains(text, "producers=3/") {
		t.Errorf("nothing left: exit code %d\n%s\n%s", code, text, errText)
	}
	if code, text, errText = call(t, append(args, "--restart", "--dry-run")...); code != command.OK || !strings.Contains(text, "3 steps, 0 of them done; 3 runs of 5ms left") {
		t.Errorf("exit code %d\n%s\n%s", code, text, errText)
	}
	if after, _ := os.ReadFile(path); !bytes.Equal(before, after) {
		t.Error("--dry-run has written")
	}
	if code, _, errText = call(t, append(args, "--restart")...); code != command.OK || !strings.Contains(errText, "1/3: ") {
		t.Errorf("--restart: exit code %d\n%s", code, errText)
	}
}
