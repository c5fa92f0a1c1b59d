package main

import (
	"encoding/json"
	"path/filepath"
	"slices"
	"strings"
	"testing"

	"github.com/firq-go/firq/cmd/firqbench/internal/command"
	"github.com/firq-go/firq/cmd/firqbench/internal/compare"
	"github.com/firq-go/firq/cmd/firqbench/internal/load"
	"github.com/firq-go/firq/cmd/firqbench/internal/machine"
	"github.com/firq-go/firq/cmd/firqbench/internal/report"
	"github.com/firq-go/firq/cmd/firqbench/internal/scenario"
	"github.com/firq-go/firq/cmd/firqbench/internal/suite"
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
	var fasts, slows []string // series
	for i := range 5 {
		fasts, slows = append(fasts, result(t, float64(2000+i))), append(slows, result(t, float64(1800+i)))
	}
	down, up := slices.Concat(fasts, []string{"--"}, slows), slices.Concat(slows, []string{"--"}, fasts)
	with := func(files []string, flags ...string) []string { return append(flags, files...) }
	for _, c := range []struct {
		args []string
		code int
		want string
	}{
		{down, command.Failed, "1 REGRESSION"},
		{with(down, "--threshold", "5%"), command.Failed, "REGRESSION"},
		{with(down, "--threshold", "0.2"), command.OK, "1 worse"},
		{with(down, "--alpha", "0.001"), command.OK, "too few runs to tell"},
		{up, command.OK, "1 better"},
		{with(down, "--format", "csv"), command.Failed, "contended,no work,lockfree,tasks/s,"},
		{with(down, "--format", "benchfmt"), command.OK, "side: new"},
		{[]string{fast, slow}, command.OK, "1 the series differ"}, // one of each: no claim
		{[]string{fast, "--", slow}, command.OK, "nothing here is called a regression"},
		{[]string{fast, slow, "--contestants", "baseline"}, command.OK, "no significant change: tasks/s"},
		{[]string{fast, fast, "--all"}, command.OK, "+0.0%"},
		{[]string{fast, "--contestants", "baseline,lockfree"}, command.OK, "baseline-1 -> lockfree"},
		{[]string{fast, "--contestants", "lockfree,baseline-1"}, command.Failed, "REGRESSION"},
		{[]string{fast, slow, "--format", "benchfmt"}, command.OK, "side: new"},
		{[]string{fast, "--format", "benchfmt"}, command.OK, "/impl=lockfree/"},
	} {
		code, out, errOut := call(t, append([]string{"compare"}, c.args...)...)
		if code != c.code || !strings.Contains(out, c.want) || (code == command.Failed) != strings.Contains(errOut, "regression: 1 of") {
			t.Errorf("%v: exit code %d, want %d and %q\n%s\n%s", c.args, code, c.code, c.want, out, errOut)
		}
	}
	code, out, _ := call(t, append([]string{"compare", "--format", "json"}, down...)...)
	var got compare.Comparison
	if err := json.Unmarshal([]byte(out), &got); err != nil || code != command.Failed || got.Regressions != 1 || got.Old != strings.Join(fasts, " ") || got.Unit != compare.Series || got.Rows[0].Old.Median != 2002 {
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
