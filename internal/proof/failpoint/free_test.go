//go:build !firq_failpoints

package failpoint_test

import (
	"os/exec"
	"path/filepath"
	"strings"
	"testing"
)

// marks returns the functions of package failpoint that a program of ours holds.
func marks(t *testing.T, args ...string) (names []string) {
	t.Helper()
	program := filepath.Join(t.TempDir(), "firqbench")
	build := exec.Command("go", append([]string{"build", "-o", program}, args...)...)
	build.Args = append(build.Args, "../../../cmd/firqbench")
	if out, err := build.CombinedOutput(); err != nil {
		t.Fatalf("%v: %v\n%s", build.Args, err, out)
	}
	symbols, err := exec.Command("go", "tool", "nm", program).Output()
	if err != nil {
		t.Fatalf("go tool nm: %v", err)
	}
	for line := range strings.Lines(string(symbols)) {
		if i := strings.Index(line, "internal/proof/failpoint."); i >= 0 {
			names = append(names, strings.TrimSpace(line[i:]))
		}
	}
	return names
}

// TestFree: nothing of this package is left in a program that is built without the tag.
func TestFree(t *testing.T) {
	if testing.Short() {
		t.Skip("links two programs")
	}
	if names := marks(t); len(names) > 0 {
		t.Errorf("the program holds %v", names)
	}
	if names := marks(t, "-tags", "firq_failpoints"); len(names) == 0 {
		t.Error("with the tag it holds no marks either: this test cannot fail")
	}
}
