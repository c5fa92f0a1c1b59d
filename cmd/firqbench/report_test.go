package main

import (
	"bytes"
	"os"
	"path/filepath"
	"strings"
	"testing"

	"github.com/firq-go/firq/cmd/firqbench/internal/command"
	"github.com/firq-go/firq/cmd/firqbench/internal/page"
)

func TestReport(t *testing.T) {
	dir := t.TempDir()
	result, html := filepath.Join(dir, "r.json"), filepath.Join(dir, "r.html")
	args := append([]string{"run", "zipf", "--contestants", "baseline,channel", "-o", result, "--record", "20ms"}, tiny...)
	args = append(args, "--duration", "200ms") // long enough for calls to be timed
	if code, out, errOut := call(t, args...); code != command.OK {
		t.Fatalf("exit code %d\n%s\n%s", code, out, errOut)
	}
	code, out, errOut := call(t, "report", result, "-o", html)
	if code != command.OK || out != "" || errOut != "wrote "+html+"\n" {
		t.Fatalf("exit code %d\n%s\n%s", code, out, errOut)
	}
	text, err := os.ReadFile(html)
	for _, want := range []string{"zipf: enqueue call, no work", "zipf, no work: quiet tenants", "baseline-1"} {
		if err != nil || !bytes.Contains(text, []byte(want)) {
			t.Errorf("%q is missing, %v", want, err)
		}
	}
	if code, out, errOut := call(t, "report", result, "-o", "-"); code != command.OK || out != string(text) || errOut != "" {
		t.Errorf("exit code %d, %d bytes, want %d\n%s", code, len(out), len(text), errOut)
	}
	if code, _, errOut := call(t, "report", result, "-o", filepath.Join(dir, "no", "such")); code != command.Failed || !strings.Contains(errOut, "--output: ") {
		t.Errorf("exit code %d\n%s", code, errOut)
	}
	if code, out, errOut := call(t, "report", result, "--only", "throughput", "-o", "-"); code != command.OK || len(out) >= len(text) || strings.Contains(out, "zipf: enqueue call, no work") {
		t.Errorf("--only: exit code %d, %d bytes\n%s", code, len(out), errOut)
	}
	if code, _, errOut := call(t, "report", result, "--only", "speed"); code != command.Usage || !strings.Contains(errOut, `--only: unknown section "speed"; there are answer`) {
		t.Errorf("exit code %d\n%s", code, errOut)
	}
	if code, out, errOut := call(t, "report", result, "--only", "throughput,contestant=channel,scenario=zipf", "-o", "-"); code != command.OK || !strings.Contains(out, ">channel<") || strings.Contains(out, ">baseline-1<") {
		t.Errorf("--only: exit code %d, %d bytes\n%s", code, len(out), errOut)
	}
	for word, want := range map[string]string{"contestant=mine": `--only: unknown contestant "mine"; the files have baseline-1, `, "scenario=fast": `--only: unknown scenario "fast"; the files have zipf`} {
		if code, out, errOut := call(t, "report", result, "--only", word); code != command.Usage || out != "" || !strings.Contains(errOut, want) {
			t.Errorf("%s: exit code %d\n%s", word, code, errOut)
		}
	}
	if entries, _ := os.ReadDir(dir); len(entries) != 2 {
		t.Errorf("left over: %v", entries)
	}
}

// The documentation has each section by its name.
func TestReportDocumented(t *testing.T) {
	text, err := os.ReadFile("../../docs/firqbench.md")
	if err != nil {
		t.Fatal(err)
	}
	for _, name := range page.Sections() {
		if !bytes.Contains(text, []byte("| `"+name+"` |")) {
			t.Errorf("docs/firqbench.md does not have the section %s", name)
		}
	}
}

func TestReportRefuses(t *testing.T) {
	bad, missing := write(t, "bad.csv", smallTrace), filepath.Join(t.TempDir(), "no")
	for _, c := range []struct {
		args []string
		code int
		want string
	}{
		{nil, command.Usage, "report needs a RESULT"},
		{[]string{"-o=", bad}, command.Usage, "--output: is empty"},
		{[]string{missing}, command.Failed, missing},
		{[]string{bad}, command.Failed, bad + ": is not a result file"},
	} {
		if code, out, errOut := call(t, append([]string{"report"}, c.args...)...); code != c.code || out != "" || !strings.Contains(errOut, c.want) {
			t.Errorf("%q: exit code %d, want %d and %q\n%s\n%s", c.args, code, c.code, c.want, out, errOut)
		}
	}
}
