package main

import (
	"path/filepath"
	"strings"
	"testing"

	"github.com/firq-go/firq/cmd/firqbench/internal/command"
	"github.com/firq-go/firq/cmd/firqbench/internal/report"
	"github.com/firq-go/firq/cmd/firqbench/internal/scenario"
)

// At a rate the tables are those of an open loop, all scenarios that can are
// chosen, and the logs are written.
func TestRunAtRate(t *testing.T) {
	dir := t.TempDir()
	args := append([]string{
		"run", "--skip", "many_tenants", "--contestants", "channel", "--rate", "2k/s", "--arrivals", "poisson", "--hdr", dir + "/logs", "-o", dir + "/r.json",
	}, tiny...)
	code, out, errOut := call(t, args...)
	if code != command.OK || strings.Contains(out, "uncontended") {
		t.Fatalf("exit code %d\n%s\n%s", code, out, errOut)
	}
	for _, want := range []string{"2k/s poisson", "(open loop, ", "whatever became of those before"} {
		if !strings.Contains(out, want) {
			t.Errorf("%q is missing in\n%s", want, out)
		}
	}
	f, err := report.ReadFile(dir + "/r.json")
	if err != nil || f.Run.Cells[0].Variant.Rate != 2000 || f.Run.Cells[0].Runs[0].Open == nil || f.Run.SampleEvery != 1 {
		t.Errorf("%+v, %v", f, err)
	}
	if logs, _ := filepath.Glob(dir + "/logs/contended_*channel.hlog"); len(logs) != 1 {
		t.Errorf("logs %v", logs)
	}
}

// Another format is all there is on the standard output.
func TestRunFormats(t *testing.T) {
	for format, first := range map[string]string{"json": "{", "csv": "scenario,contestant,", "benchfmt": "Unit tasks/s better=higher"} {
		code, out, errOut := call(t, append([]string{"run", "uncontended", "--contestants", "channel", "--format", format}, tiny...)...)
		if code != command.OK || !strings.HasPrefix(out, first) || !strings.Contains(out, "channel") {
			t.Errorf("%s: exit code %d\n%s\n%s", format, code, out, errOut)
		}
	}
}

// A scenario with a quota is not run beside another quota: named, that is an error; else it is
// left out, and that is said.
func TestRunQuotaTwice(t *testing.T) {
	code, _, errOut := call(t, append([]string{"run", "half", "--quota", "80"}, tiny...)...)
	if code != command.Usage || !strings.Contains(errOut, "half needs a quota: --quota sets another one") {
		t.Errorf("named: exit code %d, %s", code, errOut)
	}
	args := []string{"run", "--skip", strings.Join(scenario.Names()[1:], ","), "--quota", "0"}
	for _, s := range scenario.All() {
		if s.Quota > 0 {
			args[2] = strings.Replace(args[2], ","+s.Name, "", 1)
		}
	}
	if _, _, errOut = call(t, append(args, tiny...)...); !strings.Contains(errOut, "left out: half needs a quota") {
		t.Errorf("not named: %s", errOut)
	}
}
