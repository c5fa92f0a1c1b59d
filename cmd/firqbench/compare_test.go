package main

import (
	"encoding/json"
	"path/filepath"
	"strings"
	"testing"

	"github.com/firq-go/firq/internal/bench/command"
	"github.com/firq-go/firq/internal/bench/compare"
	"github.com/firq-go/firq/internal/bench/load"
	"github.com/firq-go/firq/internal/bench/machine"
	"github.com/firq-go/firq/internal/bench/report"
	"github.com/firq-go/firq/internal/bench/scenario"
	"github.com/firq-go/firq/internal/bench/suite"
)

// result writes a file in which lockfree has these tasks/s, and baseline-1 1000.
func result(t *testing.T, rates ...float64) string {
	t.Helper()
	c := suite.Cell{Scenario: scenario.All()[0]}
	for i, rate := range rates {
		c.Runs = append(c.Runs,
			suite.Run{Contestant: "lockfree", Round: i, Result: load.Result{TasksPerSec: rate}},
			suite.Run{Contestant: "baseline-1", Round: i, Result: load.Result{TasksPerSec: 1000 + float64(i)}})
	}
	f := report.File{Schema: report.Schema, Env: machine.Read(), Run: &report.RunSection{Cells: []suite.Cell{c}}}
	path := filepath.Join(t.TempDir(), "r.json")
	if err := f.Write(path); err != nil {
		t.Fatal(err)
	}
	return path
}

// Exit codes are for CI: 1 on a regression beyond the threshold, and only then.
func TestCompare(t *testing.T) {
	fast, slow := result(t, 2000, 2001, 2002, 2003, 2004), result(t, 1800, 1801, 1802, 1803, 1804)
	for _, c := range []struct {
		args []string
		code int
		want string
	}{
		{[]string{fast, slow}, command.Failed, "1 REGRESSION"},
		{[]string{fast, slow, "--threshold", "5%"}, command.Failed, "REGRESSION"},
		{[]string{fast, slow, "--threshold", "0.2"}, command.OK, "1 worse"},
		{[]string{fast, slow, "--alpha", "0.001"}, command.OK, "too few runs to tell"},
		{[]string{fast, slow, "--contestants", "baseline"}, command.OK, "no significant change: tasks/s"},
		{[]string{slow, fast}, command.OK, "1 better"},
		{[]string{fast, fast, "--all"}, command.OK, "+0.0%"},
		{[]string{fast, "--contestants", "baseline,lockfree"}, command.OK, "baseline-1 -> lockfree"},
		{[]string{fast, "--contestants", "lockfree,baseline-1"}, command.Failed, "REGRESSION"},
		{[]string{fast, slow, "--format", "csv"}, command.Failed, "contended,no work,lockfree,tasks/s,"},
		{[]string{fast, slow, "--format", "benchfmt"}, command.OK, "side: new"},
		{[]string{fast, "--format", "benchfmt"}, command.OK, "/impl=lockfree/"},
	} {
		code, out, errOut := call(t, append([]string{"compare"}, c.args...)...)
		if code != c.code || !strings.Contains(out, c.want) || (code == command.Failed) != strings.Contains(errOut, "regression: 1 of") {
			t.Errorf("%v: exit code %d, want %d and %q\n%s\n%s", c.args, code, c.code, c.want, out, errOut)
		}
	}
	code, out, _ := call(t, "compare", fast, slow, "--format", "json")
	var got compare.Comparison
	if err := json.Unmarshal([]byte(out), &got); err != nil || code != command.Failed || got.Regressions != 1 || got.Old != fast || got.Rows[0].Old.Median != 2002 {
		t.Errorf("exit code %d, %v, %+v", code, err, got)
	}
	if code, _, errOut := call(t, "compare", fast, "--contestants", "lockfree,nobody"); code != command.Usage || !strings.Contains(errOut, "no scenario of the file has both") {
		t.Errorf("exit code %d, %s", code, errOut)
	}
	replayed := filepath.Join(t.TempDir(), "r.json")
	if err := (&report.File{Schema: report.Schema}).Write(replayed); err != nil {
		t.Fatal(err)
	}
	for _, bad := range []string{replayed, filepath.Join(t.TempDir(), "none.json")} {
		if code, _, errOut := call(t, "compare", fast, bad); code != command.Failed || !strings.Contains(errOut, bad) {
			t.Errorf("%s: exit code %d, %s", bad, code, errOut)
		}
	}
}
