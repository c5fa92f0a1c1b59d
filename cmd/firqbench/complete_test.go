package main

import (
	"strings"
	"testing"

	"github.com/firq-go/firq/cmd/firqbench/internal/command"
)

// Every command has examples, and its description fits a terminal.
func TestHelpOfEveryCommand(t *testing.T) {
	for _, cmd := range append(app(nil, nil).Commands, app(nil, nil)) {
		if !strings.Contains(cmd.Description, "Examples:\n") {
			t.Errorf("%s: no examples", cmd.Name)
		}
		for line := range strings.Lines(cmd.Description) {
			if len(line) > 108 {
				t.Errorf("%s: %d columns: %s", cmd.Name, len(line), line)
			}
		}
	}
}

// What the shells' scripts ask for and get.
func TestCompletion(t *testing.T) {
	for args, want := range map[string]string{
		"run": "zipf\n", "run zipf": "zipf\n", "sweep": "zipf\n", "run --contestants": "floor\n", "run --format": "benchfmt\n",
		"run --arrivals": "poisson\n", "compare --metrics": "queue-p99.9\n", "replay --contestants": "fifo\n", "run --form": "--format:print as",
		"matrix --format": "markdown\n",
		"compare":         "", // files
	} {
		code, out, errOut := call(t, append(strings.Fields(args), "--generate-shell-completion")...)
		if code != command.OK || errOut != "" || !strings.Contains(out, want) || want == "" && out != "" {
			t.Errorf("%q: exit code %d, %q is missing in\n%s\n%s", args, code, want, out, errOut)
		}
	}
	for _, shell := range []string{"bash", "zsh", "fish", "pwsh"} {
		if code, out, _ := call(t, "completion", shell); code != command.OK || !strings.Contains(out, "--generate-shell-completion") {
			t.Errorf("completion %s: exit code %d\n%s", shell, code, out)
		}
	}
}
