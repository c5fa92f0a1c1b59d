package report

import (
	"encoding/json"
	"fmt"
	"io"

	"github.com/firq-go/firq/cmd/firqbench/internal/machine"
)

// Env writes the machine in a few lines.
func Env(w io.Writer, e machine.Env) {
	commit := e.Commit
	if len(commit) > 12 {
		commit = commit[:12]
	}
	if e.Modified {
		commit += " (modified)"
	}
	line := func(name, value string) {
		if value != "" {
			Printf(w, "%-12s%s\n", name, value)
		}
	}
	line("commit", commit)
	line("go", fmt.Sprintf("%s %s/%s", e.GoVersion, e.OS, e.Arch))
	cpu := fmt.Sprintf("%s, %d cores, GOMAXPROCS %d", e.CPU, e.Cores, e.GOMAXPROCS)
	if len(e.Pinned) > 0 {
		cpu += fmt.Sprintf(", pinned to %v", e.Pinned)
	}
	if e.Quota > 0 {
		cpu += fmt.Sprintf(", at most %d %% of one processor's time", e.Quota)
	}
	line("cpu", cpu)
	line("kernel", e.Kernel)
	line("clock", e.Clock)
	line("governor", e.Governor)
	line("GOGC", e.GOGC)
	line("load", e.Load)
	line("command", e.Command)
}

// EnvJSON writes the machine as result files have it.
func EnvJSON(w io.Writer, e machine.Env) error {
	enc := json.NewEncoder(w)
	enc.SetIndent("", "  ")
	return enc.Encode(e)
}
