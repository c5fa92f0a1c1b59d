package main

import (
	"encoding/json"
	"path/filepath"
	"strings"
	"testing"

	"github.com/firq-go/firq/cmd/firqbench/internal/command"
	"github.com/firq-go/firq/cmd/firqbench/internal/instructions"
	"github.com/firq-go/firq/cmd/firqbench/internal/load"
	"github.com/firq-go/firq/cmd/firqbench/internal/machine"
	"github.com/firq-go/firq/cmd/firqbench/internal/matrix"
	"github.com/firq-go/firq/cmd/firqbench/internal/report"
	"github.com/firq-go/firq/cmd/firqbench/internal/scenario"
	"github.com/firq-go/firq/cmd/firqbench/internal/suite"
)

// countFile writes a file of firqbench instructions about uncontended.
func countFile(t *testing.T) string {
	t.Helper()
	chosen, err := scenario.Choose([]string{"uncontended"}, nil)
	if err != nil {
		t.Fatal(err)
	}
	c := suite.Cell{Scenario: chosen[0], Runs: []suite.Run{
		{Contestant: "lockfree", Result: load.Result{InstructionsPerTask: 2741}},
		{Contestant: "baseline-1", Result: load.Result{InstructionsPerTask: 3000}},
	}}
	f := report.File{Schema: report.Schema, Env: machine.Read(), Instructions: &instructions.Section{Tool: "callgrind, fake", Rounds: 1, Cells: []suite.Cell{c}}}
	path := filepath.Join(t.TempDir(), "counted.json")
	if err := f.Write(path); err != nil {
		t.Fatal(err)
	}
	return path
}

// A count is in the tables of a run, of the matrix and of compare.
func TestCounts(t *testing.T) {
	counted := countFile(t)
	ran := filepath.Join(t.TempDir(), "run.json")
	args := append([]string{"run", "uncontended", "--contestants", "lockfree,baseline", "--instructions", counted, "-o", ran}, tiny...)
	code, out, errOut := call(t, args...)
	if code != command.OK || !strings.Contains(out, "instructions") || !strings.Contains(out, "2.74k") {
		t.Errorf("exit code %d\n%s\n%s", code, out, errOut)
	}
	code, out, _ = call(t, "matrix", ran, counted, "--costs", "--over", "baseline-1", "--format", "markdown")
	if code != command.OK || !strings.Contains(out, "| instructions/task |") || !strings.Contains(out, "| 2.74k |") {
		t.Errorf("exit code %d\n%s", code, out)
	}
	code, out, _ = call(t, "matrix", ran, counted, "--costs", "--over", "baseline-1")
	if code != command.OK || !strings.Contains(out, "What a task of lockfree takes") || strings.Contains(out, "callgrind") {
		t.Errorf("exit code %d\n%s", code, out)
	}
	code, out, _ = call(t, "matrix", counted, "--metric", "instructions/task", "--over", "baseline-1", "--format", "json")
	var m matrix.Matrix
	if err := json.Unmarshal([]byte(out), &m); code != command.OK || err != nil || len(m.Rows) != 1 || m.Rows[0].Ratios[0].Median != 2741.0/3000 || !strings.HasSuffix(m.Hosts[0], "callgrind, fake") {
		t.Errorf("exit code %d, %v\n%s", code, err, out)
	}
	code, out, _ = call(t, "compare", counted, "--contestants", "baseline-1,lockfree", "--metrics", "instructions/task", "--all")
	if code != command.OK || !strings.Contains(out, "1 comparisons") {
		t.Errorf("exit code %d\n%s", code, out)
	}
	for _, c := range []struct {
		args []string
		code int
		want string
	}{
		{[]string{"instructions", "overload"}, command.Usage, "goes by the clock"}, {[]string{"instructions", "--tasks", "5"}, command.Usage, "two numbers"},
		{[]string{"instructions", "--tasks", "5,x"}, command.Usage, `"x"`}, {[]string{"instructions", "nothing"}, command.Usage, "nothing"},
		{append([]string{"run", "uncontended", "--instructions", ran}, tiny...), command.Failed, "is not a file of firqbench instructions"},
	} {
		if code, _, errOut := call(t, c.args...); code != c.code || !strings.Contains(errOut, c.want) {
			t.Errorf("%v: exit code %d, %s", c.args, code, errOut)
		}
	}
	if code, _, errOut := call(t, "instructions", "uncontended", "--contestants", "lockfree", "--once", "50"); code != command.OK {
		t.Error(errOut)
	}
}
