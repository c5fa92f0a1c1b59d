package main

import (
	"encoding/json"
	"os"
	"path/filepath"
	"slices"
	"strings"
	"testing"
	"unicode"
	"unicode/utf8"

	"github.com/firq-go/firq/cmd/firqbench/internal/command"
	"github.com/firq-go/firq/cmd/firqbench/internal/replay"
	"github.com/firq-go/firq/cmd/firqbench/internal/report"
	"github.com/firq-go/firq/cmd/firqbench/internal/scenario"
)

// wantTame fails if there is more than text in what would be on a terminal, or
// not the names, escaped.
func wantTame(t *testing.T, text string, names ...string) {
	t.Helper()
	for _, r := range strings.ReplaceAll(text, "\n", "") {
		if !unicode.IsPrint(r) || !utf8.ValidString(text) {
			t.Errorf("%q in\n%q", r, text)
			return
		}
	}
	for _, name := range names {
		if !strings.Contains(text, name) {
			t.Errorf("%s is missing in\n%s", name, text)
		}
	}
}

// wildDir is a directory whose name would ring and turn a terminal red.
func wildDir(t *testing.T) string {
	t.Helper()
	dir := filepath.Join(t.TempDir(), "\x1b[31m\a")
	if err := os.Mkdir(dir, 0o755); err != nil {
		t.Skipf("such names are not possible here: %v", err)
	}
	return dir
}

// What clients have written into a log, and what a file is called, is text on the
// terminal and nothing else; the result file has it as it was.
func TestReplayIsTame(t *testing.T) {
	dir := wildDir(t)
	path, result := filepath.Join(dir, "\x1b]0;owned\a.csv"), filepath.Join(dir, "r.json")
	if err := os.WriteFile(path, []byte("at_ms,tenant,cost\n0,\x1b[31mred,9\n1,ding\a,8\n2,c1\u009b31m,7\n3,\u202eback,6\n4,\xff\x9b,5\n5,\x1b[2Jgone,4\n"), 0o600); err != nil {
		t.Fatal(err)
	}
	code, out, errOut := call(t, "replay", path, "-o", result, "--duration", "20ms", "--busiest", "9", "--cpuprofile", filepath.Join(dir, "cpu"))
	if code != command.OK {
		t.Fatalf("exit code %d\n%s\n%s", code, out, errOut)
	}
	wantTame(t, out, `\x1b]0;owned\a.csv: 6 requests of 6 tenants`, `tenant \x1b[31mred:`, `tenant ding\a:`, `tenant c1\u009b31m:`, `tenant \u202eback:`, `tenant \x1b[2Jgone:`)
	wantTame(t, errOut, `wrote `, `\x1b[31m\a`)
	text, err := os.ReadFile(result)
	var f report.File
	if err != nil || json.Unmarshal(text, &f) != nil || !slices.ContainsFunc(f.Replay.Results[0].Groups, func(g replay.GroupTime) bool { return g.Name == "\x1b[31mred" }) {
		t.Errorf("%v, %s", err, text)
	}
}

// Names in errors are tame too, those of arguments and of what is in a file.
func TestErrorsAreTame(t *testing.T) {
	dir := wildDir(t)
	bad := filepath.Join(dir, "b\x1bad.csv")
	if err := os.WriteFile(bad, []byte(smallTrace+"10,\x1b,mu\x1bch\n"), 0o600); err != nil {
		t.Fatal(err)
	}
	for _, args := range [][]string{
		{"replay", filepath.Join(dir, "no")}, {"replay", bad}, {"report", bad}, {"report", filepath.Join(dir, "no")}, {"compare", bad, bad},
		{"sweep", "-o", dir}, {"sweep", "-o", bad}, {"run", "\x1b[31m\a"}, {"\x1b[31m\a"}, {"run", "--work", "\x1b[31m\a"}, {"run", "--\x1b[31m\a"},
		{"list", "--\x1b[31m\a"}, {"run", "--listen", "\x1b[31m\a"}, {"run", "--rounds", "\x1b[31m\a"}, {"replay", "--speed", "\x1b[31m\a", bad},
		{"run", "uncontended", "-o", bad + "/x"}, {"run", "uncontended", "--hdr", bad + "/x"}, {"run", "uncontended", "--trace", bad + "/x"},
	} {
		code, out, errOut := call(t, args...)
		if code == command.OK || code == command.Interrupted {
			t.Errorf("%q: exit code %d\n%s", args, code, out)
		}
		wantTame(t, out)
		wantTame(t, errOut, `\x1b[31m\a`)
	}
}

// A result file may come from a stranger as well.
func TestResultsAreTame(t *testing.T) {
	dir := wildDir(t)
	path := result(t, 2000, 2001, 2002, 2003, 2004)
	f, err := report.ReadFile(path)
	if err != nil {
		t.Fatal(err)
	}
	wild := "\x1b[31m\a\u009b\u202e\nx"
	f.Env.Command, f.Env.CPU, f.Env.Commit, f.Env.GoVersion, f.Run.Contestants = wild, wild, wild, wild, []string{wild}
	f.Run.Cells[0].Scenario = scenario.Scenario{Name: wild, About: wild, Shape: scenario.Flow}
	for i := range f.Run.Cells[0].Runs {
		if r := &f.Run.Cells[0].Runs[i]; r.Contestant == "lockfree" {
			r.Contestant = wild
		}
	}
	other := filepath.Join(dir, "other.json")
	if err := f.Write(other); err != nil {
		t.Fatal(err)
	}
	f.Env.CPU, f.Run.Cells[0].Scenario.Focus = "x", wild
	again := filepath.Join(dir, "again.json")
	if err := f.Write(again); err != nil {
		t.Fatal(err)
	}
	for _, args := range [][]string{
		{"compare", other, again, "--all"}, {"compare", other, "--contestants", "baseline," + wild, "--all"},
		{"compare", other, again, "--format", "csv"}, {"compare", other, again, "--format", "benchfmt"},
	} {
		code, out, errOut := call(t, args...)
		if strings.Contains(out+errOut, "\nx") {
			t.Errorf("%q: a line of its own in\n%s\n%s", args, out, errOut)
		}
		wantTame(t, out)
		wantTame(t, errOut)
		if !strings.Contains(out+errOut, `\x1b[31m\a`) || code == command.Usage {
			t.Errorf("%q: exit code %d\n%s\n%s", args, code, out, errOut)
		}
	}
	page := filepath.Join(dir, "p.html")
	if code, out, errOut := call(t, "report", other, "-o", page); code != command.OK {
		t.Errorf("exit code %d\n%s\n%s", code, out, errOut)
	} else {
		wantTame(t, errOut, `wrote `, `\x1b[31m\a`)
	}
}
