package firq_test

import (
	"go/ast"
	"go/parser"
	"go/token"
	"io/fs"
	"maps"
	"os"
	"path"
	"path/filepath"
	"slices"
	"strconv"
	"strings"
	"testing"
)

const module = "github.com/firq-go/firq"

// The modules that the root module may need; anything else belongs into a
// nested module. checking is for _test.go files and packages that only they
// import; none of it has further dependencies that a program would get.
var (
	libraries = []string{
		"github.com/HdrHistogram/hdrhistogram-go",
		"github.com/loov/hrtime",
		"github.com/puzpuzpuz/xsync/v3",
		"golang.org/x/sys",
	}
	checking = []string{
		"github.com/anishathalye/porcupine",
		"go.uber.org/goleak",
		"golang.org/x/sync",
		"pgregory.net/rapid",
	}
)

// packages are the ones that CONTRIBUTING.md maps and that must exist; each name here
// and below also stands for what is in folders under it.
var packages = []string{
	".", "actor", "adapter", "baseline", "compute", "drr", "firqhttp", "gate", "hist", "lockfree", "metrics", "queue", "rate", "schedtest",
	"watchdog", "worker",
}

// atMost says what else of this module a package may import.
var atMost = map[string][]string{
	".":        nil,
	"actor":    {".", "hist", "internal/core/clock", "internal/proof/failpoint", "watchdog", "worker"},
	"drr":      {".", "internal/core/drr", "internal/core/key"},
	"hist":     {"."},
	"watchdog": {"."},
	"adapter":  {"compute", "rate"},
	"metrics":  {".", "actor", "compute", "gate", "hist", "watchdog", "worker", "queue", "baseline", "lockfree"}, // cores: metricstest
	"compute":  {".", "gate", "hist", "lockfree", "internal/core/clock", "internal/proof/failpoint", "internal/core/key", "internal/core/pad"},
	"baseline": {".", "lockfree"},
	"firqhttp": {".", "compute", "gate", "rate", "adapter"},
	"gate":     {".", "lockfree", "internal/proof/failpoint", "internal/core/key", "internal/core/pad"},
	"queue":    {".", "rate", "worker"},
	"rate":     {".", "internal/core/key", "internal/core/pad"},
	"worker":   {".", "hist", "internal/core/pad"},
}

// never says what a package must not import, directly or through others.
var never = map[string][]string{
	"lockfree":  {"baseline"},
	"schedtest": {"lockfree", "baseline"},
	"queue":     {"lockfree", "baseline"},
	"worker":    {"lockfree", "baseline"},
	"actor":     {"lockfree", "baseline"},
}

// source is what the files of one folder import, whatever their build tags.
type source struct {
	dir         string // "." is the root
	files       []*ast.File
	imports     []string // of this module: its folder; else: the import path
	testImports []string // the same of the _test.go files
}

// sources parses every .go file of the module in a folder.
func sources(t *testing.T, root string) map[string]*source {
	t.Helper()
	all := map[string]*source{}
	err := filepath.WalkDir(root, func(name string, d fs.DirEntry, err error) error {
		if err != nil {
			return err
		}
		if d.IsDir() {
			skip := name != root && (strings.HasPrefix(d.Name(), ".") || strings.HasPrefix(d.Name(), "_") || d.Name() == "testdata")
			if _, err := os.Stat(filepath.Join(name, "go.mod")); err == nil && name != root {
				skip = true // a nested module
			}
			if skip {
				return fs.SkipDir
			}
			return nil
		}
		if !strings.HasSuffix(name, ".go") {
			return nil
		}
		file, err := parser.ParseFile(token.NewFileSet(), name, nil, parser.SkipObjectResolution)
		if err != nil {
			return err
		}
		dir := path.Dir(filepath.ToSlash(name))
		if all[dir] == nil {
			all[dir] = &source{dir: dir}
		}
		all[dir].add(file, strings.HasSuffix(name, "_test.go"))
		return nil
	})
	if err != nil {
		t.Fatal(err)
	}
	return all
}

func (s *source) add(file *ast.File, test bool) {
	list := &s.testImports
	if !test {
		list = &s.imports
		s.files = append(s.files, file)
	}
	for _, spec := range file.Imports {
		name, _ := strconv.Unquote(spec.Path.Value)
		if name == module {
			name = "."
		}
		name = strings.TrimPrefix(name, module+"/")
		if !slices.Contains(*list, name) {
			*list = append(*list, name)
		}
	}
}

func (s *source) inModule(all map[string]*source) []string {
	return slices.DeleteFunc(slices.Clone(s.imports), func(name string) bool { return all[name] == nil })
}

// under reports whether name is dir or in a folder below it.
func under(name, dir string) bool {
	return name == dir || strings.HasPrefix(name, dir+"/")
}

// reach returns the way from a package to one under to along imports, nil if
// there is none.
func reach(all map[string]*source, from, to string, seen map[string]bool) []string {
	if under(from, to) {
		return []string{from}
	}
	if seen[from] || all[from] == nil {
		return nil
	}
	seen[from] = true
	for _, next := range all[from].imports {
		if way := reach(all, next, to, seen); way != nil {
			return append([]string{from}, way...)
		}
	}
	return nil
}

// mayProve reports whether code of dir that is no test may import a package that proves: a mark
// costs nothing without its build tag; packages that prove may use everything.
func mayProve(dir, name string) bool {
	return name == "internal/proof/failpoint" || under(dir, "internal/proof") ||
		dir == "schedtest" && (name == "internal/proof/fairness" || name == "internal/proof/race")
}

func TestArrowsPackagesExist(t *testing.T) {
	all := sources(t, ".")
	for _, dir := range packages {
		exists := func(s *source) bool { return under(s.dir, dir) && len(s.files) > 0 }
		if !slices.ContainsFunc(slices.Collect(maps.Values(all)), exists) {
			t.Errorf("package %s is missing", dir)
		}
	}
}

func TestArrowsWithinModule(t *testing.T) {
	all := sources(t, ".")
	for dir, s := range all {
		for pkg, allowed := range atMost {
			if !under(dir, pkg) {
				continue
			}
			for _, name := range s.inModule(all) {
				if !slices.ContainsFunc(append(allowed, pkg), func(a string) bool { return under(name, a) }) {
					t.Errorf("%s imports %s; of this module it may import %v", dir, name, allowed)
				}
			}
		}
		for pkg, forbidden := range never {
			for _, to := range forbidden {
				if !under(dir, pkg) {
					continue
				}
				if way := reach(all, dir, to, map[string]bool{}); way != nil {
					t.Errorf("%s must not import %s: %s", pkg, to, strings.Join(way, " -> "))
				}
			}
		}
		for _, name := range slices.Concat(s.imports, s.testImports) {
			if under(name, "contrib") || under(name, "cmd/firqbench") || under(name, "examples") {
				t.Errorf("%s imports %s: the root module must not need a nested one", dir, name)
			}
			if under(name, "internal/proof") && slices.Contains(s.imports, name) && !mayProve(dir, name) {
				t.Errorf("%s imports %s, which is for tests alone", dir, name)
			}
			if under(dir, "internal/core") && !under(name, "internal/core") && under(name, "internal") && !under(name, "internal/proof") {
				t.Errorf("%s imports %s: what the cores stand on stands on nothing else in internal", dir, name)
			}
		}
	}
}

// TestArrowsPure: drr has no goroutine, clock, atomics or lock; firq, the
// contract, has no goroutine, clock or lock.
func TestArrowsPure(t *testing.T) {
	all := sources(t, ".")
	for dir, forbidden := range map[string][]string{
		".":                 {"sync"},
		"internal/core/drr": {"sync", "sync/atomic", "context", "runtime"},
		"drr":               {"sync", "sync/atomic", "context", "runtime"},
	} {
		s := all[dir]
		if s == nil {
			continue // TestArrowsPackagesExist fails
		}
		for _, name := range forbidden {
			if slices.Contains(s.imports, name) {
				t.Errorf("%s imports %s", dir, name)
			}
		}
		for _, file := range s.files {
			ast.Inspect(file, func(n ast.Node) bool {
				switch n := n.(type) {
				case *ast.GoStmt:
					t.Errorf("%s starts a goroutine", dir)
				case *ast.ChanType:
					t.Errorf("%s has a channel", dir)
				case *ast.SelectorExpr:
					if x, ok := n.X.(*ast.Ident); ok && x.Name == "time" && slices.Contains(clock, n.Sel.Name) {
						t.Errorf("%s uses time.%s", dir, n.Sel.Name)
					}
				}
				return true
			})
		}
	}
}

var clock = []string{
	"After", "AfterFunc", "NewTicker", "NewTimer", "Now", "Since", "Sleep", "Tick", "Until",
}

// TestArrowsOutside asserts which foreign modules are imported, tests included.
func TestArrowsOutside(t *testing.T) {
	all := sources(t, ".")
	for dir, s := range all {
		allowed := slices.Clone(libraries)
		switch {
		case under(dir, "hist"):
			allowed = []string{"github.com/HdrHistogram/hdrhistogram-go"}
		case dir == "." || under(dir, "drr") || under(dir, "internal/core/drr"):
			allowed = nil
		}
		if under(dir, "internal/proof/lincheck") {
			allowed = append(allowed, checking...)
		}
		outside(t, dir, s.imports, allowed)
		outside(t, dir+" (tests)", s.testImports, slices.Concat(allowed, checking))
	}
}

// outside fails for each import from another module that is not allowed.
func outside(t *testing.T, who string, imports, allowed []string) {
	t.Helper()
	for _, name := range imports {
		first, _, _ := strings.Cut(name, "/")
		if !strings.Contains(first, ".") || name == "." {
			continue // the standard library, or this module
		}
		if !slices.ContainsFunc(allowed, func(mod string) bool { return under(name, mod) }) {
			t.Errorf("%s imports %s; outside this module it may import %v", who, name, allowed)
		}
	}
}

// TestGoMod asserts what go.mod requires directly. That it lists as direct what
// is imported, and nothing else, is for scripts/tidy --diff in scripts/test.
func TestGoMod(t *testing.T) {
	for _, name := range requirements(t, ".") {
		if !slices.Contains(slices.Concat(libraries, checking), name) {
			t.Errorf("go.mod requires %s; allowed are %v, and for tests %v", name, libraries, checking)
		}
	}
}

// TestModules: a nested module is what its users get. So its go.mod replaces nothing, and it imports
// of the root what any program may import; only firqbench, which is released with the root that it
// measures, may look inside.
func TestModules(t *testing.T) {
	text, err := os.ReadFile("go.work")
	if err != nil {
		t.Fatal(err)
	}
	modules := 0
	for line := range strings.Lines(string(text)) {
		nested, ok := strings.CutPrefix(strings.TrimSpace(line), "./")
		if !ok {
			continue
		}
		modules++
		requirements(t, nested)
		if under(nested, "cmd/firqbench") {
			continue
		}
		for dir, s := range sources(t, nested) {
			for _, name := range slices.Concat(s.imports, s.testImports) {
				if strings.HasPrefix(name, "internal/") {
					t.Errorf("%s imports %s, which is not public: the module is used with other versions of firq, too", dir, name)
				}
			}
		}
	}
	if modules < 5 {
		t.Errorf("go.work uses %d nested modules: does the test still see them?", modules)
	}
}

// requirements returns what the go.mod in a folder requires directly.
func requirements(t *testing.T, dir string) (names []string) {
	t.Helper()
	name := filepath.Join(dir, "go.mod")
	text, err := os.ReadFile(name)
	if err != nil {
		t.Fatal(err)
	}
	found := false
	for line := range strings.Lines(string(text)) {
		line = strings.TrimSpace(strings.TrimPrefix(strings.TrimSpace(line), "require "))
		word := strings.Fields(line)
		switch {
		case line == "module "+path.Join(module, filepath.ToSlash(dir)):
			found = true
		case strings.HasPrefix(line, "replace ") || strings.HasPrefix(line, "exclude "):
			t.Errorf("%s: %q changes nothing for those who import us", name, line)
		case len(word) >= 2 && strings.HasPrefix(word[1], "v") && !strings.Contains(line, "// indirect"):
			names = append(names, word[0])
		}
	}
	if !found {
		t.Errorf("%s is not that of %s", name, path.Join(module, filepath.ToSlash(dir)))
	}
	return names
}
