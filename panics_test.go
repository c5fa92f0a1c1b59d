package firq_test

import (
	"os"
	"path/filepath"
	"regexp"
	"strings"
	"testing"
)

// named is a test as docs/panics.md names it: its folder and its function.
var named = regexp.MustCompile("`([a-z/]+)\\.(Test\\w+)`")

// TestPanicsDocument: each row of docs/panics.md names a test, and there are all of them.
func TestPanicsDocument(t *testing.T) {
	text, err := os.ReadFile(filepath.Join("docs", "panics.md"))
	if err != nil {
		t.Fatal(err)
	}
	rows := 0
	for line := range strings.Lines(string(text)) {
		if !strings.HasPrefix(line, "| ") || strings.HasPrefix(line, "| user code") {
			continue
		}
		rows++
		tests := named.FindAllStringSubmatch(line, -1)
		if len(tests) == 0 {
			t.Errorf("names no test: %s", line)
		}
		for _, test := range tests {
			if !declares(t, test[1], test[2]) {
				t.Errorf("%s has no %s", test[1], test[2])
			}
		}
	}
	if rows < 20 {
		t.Errorf("%d rows", rows)
	}
}

// declares reports whether a test file of the folder declares the function.
func declares(t *testing.T, folder, function string) bool {
	t.Helper()
	files, err := filepath.Glob(filepath.Join(filepath.FromSlash(folder), "*_test.go"))
	if err != nil {
		t.Fatal(err)
	}
	for _, file := range files {
		text, err := os.ReadFile(file)
		if err != nil {
			t.Fatal(err)
		}
		if strings.Contains(string(text), "\nfunc "+function+"(") {
			return true
		}
	}
	return false
}
