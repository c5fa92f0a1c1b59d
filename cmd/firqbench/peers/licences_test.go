package main

import (
	"encoding/json"
	"errors"
	"io"
	"os"
	"os/exec"
	"path/filepath"
	"regexp"
	"slices"
	"strings"
	"testing"

	"github.com/google/licensecheck"
)

// permissive are the licences that what is compiled in may have.
var permissive = []string{
	"Apache-2.0", "BSD-2-Clause", "BSD-3-Clause", "ISC", "MIT", "0BSD", "Unlicense", "CC0-1.0", "Zlib",
}

// licenceFile matches the names of the files that hold a module's licence.
var licenceFile = regexp.MustCompile(`(?i)^(un)?licen[cs]e|^copying`)

// listed is what go list says of a package.
type listed struct {
	Standard bool
	Module   *struct {
		Path, Version, Dir string
		Main               bool
		Replace            *struct{}
	}
}

// TestLicences looks at the licence of every module that is compiled in, tests included: nothing but
// permissive ones.
func TestLicences(t *testing.T) {
	dirs := compiledIn(t)
	if len(dirs) < 50 {
		t.Fatalf("only %d modules are compiled in: is this the list?", len(dirs))
	}
	for module, dir := range dirs {
		ids, err := licences(dir)
		if err != nil {
			t.Errorf("%s: %v", module, err)
			continue
		}
		if len(ids) == 0 {
			t.Errorf("%s: no licence found in %s", module, dir)
		}
		for _, id := range ids {
			if !slices.Contains(permissive, id) {
				t.Errorf("%s: %s is not among the permissive licences", module, id)
			}
		}
		t.Logf("%-70s %s", module, strings.Join(ids, ", "))
	}
}

// compiledIn returns the folders of the modules that the packages of this one are compiled of.
func compiledIn(t *testing.T) map[string]string {
	t.Helper()
	cmd := exec.CommandContext(t.Context(), "go", "list", "-deps", "-test", "-json=Standard,Module", "./...")
	cmd.Stderr = os.Stderr
	out, err := cmd.StdoutPipe()
	if err != nil {
		t.Fatal(err)
	}
	if err := cmd.Start(); err != nil {
		t.Fatal(err)
	}
	dirs := make(map[string]string)
	for d := json.NewDecoder(out); ; {
		var p listed
		if err := d.Decode(&p); errors.Is(err, io.EOF) {
			break
		} else if err != nil {
			t.Fatal(err)
		}
		if m := p.Module; m != nil && !m.Main && m.Replace == nil {
			dirs[m.Path+" "+m.Version] = m.Dir
		}
	}
	if err := cmd.Wait(); err != nil {
		t.Fatal(err)
	}
	return dirs
}

// licences returns what the licence files at the root of a module are.
func licences(dir string) (ids []string, err error) {
	entries, err := os.ReadDir(dir)
	if err != nil {
		return nil, err
	}
	for _, e := range entries {
		if e.IsDir() || !licenceFile.MatchString(e.Name()) {
			continue
		}
		text, err := os.ReadFile(filepath.Join(dir, e.Name()))
		if err != nil {
			return nil, err
		}
		for _, m := range licensecheck.Scan(text).Match {
			if !slices.Contains(ids, m.ID) {
				ids = append(ids, m.ID)
			}
		}
	}
	return ids, nil
}
