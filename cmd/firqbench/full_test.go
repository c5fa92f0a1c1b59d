package main

import (
	"errors"
	"io"
	"os"
	"path/filepath"
	"strings"
	"testing"

	"github.com/firq-go/firq/cmd/firqbench/internal/command"
)

// fullDisk takes nothing.
type fullDisk struct{}

func (fullDisk) Write([]byte) (int, error) { return 0, errors.New("no space left") }

// What is not written is a failure of the program, in every command that prints.
func TestFullDisk(t *testing.T) {
	trace := write(t, "t.csv", smallTrace)
	result := filepath.Join(t.TempDir(), "r.json")
	if code, _, e := call(t, append([]string{"run", "uncontended", "--contestants", "channel,baseline", "-o", result}, tiny...)...); code != command.OK {
		t.Fatal(e)
	}
	for _, args := range [][]string{
		append([]string{"run", "uncontended", "--contestants", "channel"}, tiny...),
		append([]string{"run", "uncontended", "--contestants", "channel", "--format", "csv"}, tiny...),
		append([]string{"sweep", "contended", "--contestants", "channel", "--cores", "1"}, "--rounds", "1", "--duration", "5ms", "--warmup", "1ms"),
		{"replay", trace, "--speed", "max", "--service", "1us", "--workers", "1"},
		{"compare", result, "--contestants", "baseline,channel"}, {"list"}, {"env"}, {"--help"},
	} {
		var said strings.Builder
		if code := command.Execute(t.Context(), app, append([]string{"firqbench"}, args...), fullDisk{}, &said); code != command.Failed || !strings.Contains(said.String(), "no space left") {
			t.Errorf("%q: exit code %d, %q", args, code, said.String())
		}
	}
}

// A trace or CPU profile that is cut off is no trace.
func TestFullDiskProfile(t *testing.T) {
	const full = "/dev/full"
	if _, err := os.Stat(full); err != nil {
		return // where there is no such device, report's TestChecked has to do
	}
	for _, flag := range []string{"--trace", "--cpuprofile", "--memprofile"} {
		var said strings.Builder
		args := append([]string{"firqbench", "run", "uncontended", "--contestants", "channel", flag, full}, tiny...)
		if code := command.Execute(t.Context(), app, args, io.Discard, &said); code != command.Failed || !strings.Contains(said.String(), full) {
			t.Errorf("%s: exit code %d, %q", flag, code, said.String())
		}
	}
}
