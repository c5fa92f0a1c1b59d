package main

import (
	"context"
	"encoding/json"
	"path/filepath"
	"strings"
	"testing"

	"github.com/firq-go/firq/cmd/firqbench/internal/command"
	"github.com/firq-go/firq/cmd/firqbench/internal/load"
	"github.com/firq-go/firq/cmd/firqbench/internal/machine"
	"github.com/firq-go/firq/cmd/firqbench/internal/model"
	"github.com/firq-go/firq/cmd/firqbench/internal/report"
	"github.com/firq-go/firq/cmd/firqbench/internal/scenario"
	"github.com/firq-go/firq/cmd/firqbench/internal/suite"
	"github.com/firq-go/firq/internal/proof/race"
)

// measured writes a file in which lockfree and baseline-1 have these tasks/s on so many
// processors.
func measured(t *testing.T, processors int, lockfree, baseline float64) string {
	t.Helper()
	c := suite.Cell{Scenario: scenario.All()[0], Runs: []suite.Run{
		{Contestant: "lockfree", Result: load.Result{TasksPerSec: lockfree}},
		{Contestant: "baseline-1", Result: load.Result{TasksPerSec: baseline}},
	}}
	f := report.File{Schema: report.Schema, Env: machine.Read(), Run: &report.RunSection{Cells: []suite.Cell{c}}}
	f.Env.GOMAXPROCS = processors
	path := filepath.Join(t.TempDir(), "r.json")
	if err := f.Write(path); err != nil {
		t.Fatal(err)
	}
	return path
}

func TestModel(t *testing.T) {
	if race.Enabled {
		t.Skip("simulations, each by one goroutine")
	}
	one, two := measured(t, 1, 3e6, 3e6), measured(t, 2, 4e6, 2.5e6)
	small := []string{"model", one, two, "--processors", "2,4", "--transfer", "60ns"}
	for format, want := range map[string]string{"table": "lockfree / baseline-1", "markdown": "| lockfree / baseline-1 |"} {
		code, out, errOut := call(t, append(small, "--format", format)...)
		if code != command.OK || !strings.Contains(out, want) || !strings.Contains(out, "Parameters: 4, fitted to 4 observations") {
			t.Errorf("%s: exit code %d\n%s\n%s", format, code, out, errOut)
		}
	}
	code, out, _ := call(t, append(small, "--format", "json", "--tenants", "8,64")...)
	var r model.Report
	if err := json.Unmarshal([]byte(out), &r); code != command.OK || err != nil || len(r.Predictions) != 2*2*2 || r.Errors.Fitted.N != 2 {
		t.Errorf("exit code %d, %v\n%s", code, err, out)
	}
	if code, out, errOut := call(t, append(small, "--sensitivity")...); code != command.OK || !strings.Contains(out, "other random numbers") || !strings.Contains(out, "moved under the lock") {
		t.Errorf("exit code %d\n%s\n%s", code, out, errOut)
	}
	if code, out, _ := call(t, append(small, "--sensitivity", "--format", "json")...); code != command.OK || strings.Count(out, `"changed"`) != 3 {
		t.Errorf("exit code %d\n%s", code, out)
	}
	for _, c := range []struct {
		args []string
		code int
		want string
	}{
		{nil, command.Usage, "model needs a RESULT"}, {[]string{one, "--format", "csv"}, command.Usage, `--format: "csv"`},
		{[]string{one, "--processors", "0"}, command.Usage, `--processors: "0", must be 1 to 256`}, {[]string{one, "--processors", ","}, command.Usage, "--processors: is empty"},
		{[]string{one, "--transfer", "-1ns"}, command.Usage, `--transfer: "-1ns"`}, {[]string{one, "--transfer", ","}, command.Usage, "--transfer: is empty"},
		{[]string{one, "--tenants", "x"}, command.Usage, `--tenants: "x"`},
		{[]string{one}, command.Failed, "on 2 processors"}, {[]string{two}, command.Failed, "on 1 processor "}, {[]string{one + ".none"}, command.Failed, one + ".none"},
	} {
		if code, _, errOut := call(t, append([]string{"model"}, c.args...)...); code != c.code || !strings.Contains(errOut, c.want) {
			t.Errorf("%v: exit code %d, %s", c.args, code, errOut)
		}
	}
	ended, cancel := context.WithCancel(t.Context())
	cancel()
	if code, _, _ := callWith(ended, small...); code != command.Interrupted {
		t.Errorf("exit code %d after the context ended", code)
	}
}
