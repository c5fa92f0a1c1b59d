package main

import (
	"go/ast"
	"go/parser"
	"go/printer"
	"go/token"
	"os"
	"path/filepath"
	"reflect"
	"regexp"
	"slices"
	"strings"
	"testing"
)

const root = "../../.."

// enough is how many mutants there have to be.
const enough = 100

// TestList: the list fits the code as it is, so that it does not rot.
func TestList(t *testing.T) {
	all, err := load()
	if err != nil {
		t.Fatal(err)
	}
	if len(all) < enough {
		t.Errorf("%d mutants, want %d", len(all), enough)
	}
	names, plain, in := map[string]bool{}, map[string]string{}, tests{}
	for _, m := range all {
		if names[m.name] {
			t.Errorf("%s: twice", m.name)
		}
		names[m.name] = true
		src, err := os.ReadFile(filepath.Join(root, filepath.FromSlash(m.file)))
		if err != nil {
			t.Error(err)
			continue
		}
		faulty, err := m.plant(string(src))
		if err != nil {
			t.Error(err)
			continue
		}
		if plain[m.file] == "" {
			plain[m.file] = code(t, m.file, m.file, string(src))
		}
		if code(t, m.name, m.file, faulty) == plain[m.file] {
			t.Errorf("%s: changes nothing but comments", m.name)
		}
		for _, k := range m.killers {
			in.exists(t, m.name, k)
		}
	}
}

// code returns a file without its comments, which fails if it should be Go and is not. what is for the message.
func code(t *testing.T, what, name, src string) string {
	t.Helper()
	if strings.HasSuffix(name, ".lua") {
		return luaComment.ReplaceAllString(src, "")
	}
	fset := token.NewFileSet()
	file, err := parser.ParseFile(fset, "", src, parser.SkipObjectResolution)
	if err != nil {
		t.Errorf("%s: %v", what, err)
		return what
	}
	var b strings.Builder
	if err := printer.Fprint(&b, fset, file); err != nil {
		t.Errorf("%s: %v", what, err)
	}
	return b.String()
}

// luaComment is a comment of a script: none of them has two dashes in a string.
var luaComment = regexp.MustCompile(`\s*--[^\n]*`)

// tests are the files of some folders that tests may be in, by pattern: each is read
// once.
type tests map[string][]testFile

type testFile struct {
	functions []string // that go test would run
	quoted    string   // the text, with spaces for underscores
}

func (in tests) read(t *testing.T, pattern string) []testFile {
	t.Helper()
	if in[pattern] != nil {
		return in[pattern]
	}
	names, err := filepath.Glob(filepath.Join(root, pattern))
	if err != nil {
		t.Fatal(err)
	}
	for _, name := range names {
		text, err := os.ReadFile(name)
		if err != nil {
			t.Fatal(err)
		}
		file, err := parser.ParseFile(token.NewFileSet(), name, text, parser.SkipObjectResolution)
		if err != nil {
			t.Fatal(err)
		}
		f := testFile{quoted: strings.ReplaceAll(string(text), "_", " ")}
		for _, d := range file.Decls {
			if fn, ok := d.(*ast.FuncDecl); ok && fn.Recv == nil && strings.HasSuffix(name, "_test.go") {
				f.functions = append(f.functions, fn.Name.Name)
			}
		}
		in[pattern] = append(in[pattern], f)
	}
	return in[pattern]
}

// exists fails unless the package has the test. Of a subtest it looks for the
// parts of the name, with spaces or underscores, in the package's tests, the schedules
// and what both cores are tested with.
func (in tests) exists(t *testing.T, mutant string, k killer) {
	t.Helper()
	test, sub, _ := strings.Cut(k.test, "/")
	found, missing := false, strings.Split(strings.ReplaceAll(sub, "_", " "), "/")
	for _, dir := range []string{k.pkg + "/*_test.go", "internal/proof/schedules/*.go", "schedtest/*.go", "internal/proof/shardtest/*.go", "internal/proof/fairness/*.go"} {
		for _, f := range in.read(t, dir) {
			found = found || slices.Contains(f.functions, test)
			missing = slices.DeleteFunc(missing, func(part string) bool {
				return part == "" || strings.Contains(f.quoted, `"`+part+`"`)
			})
		}
	}
	if !found || len(missing) > 0 {
		t.Errorf("%s: there is no test %s", mutant, k)
	}
}

func TestParse(t *testing.T) {
	const good = `Some text.

== a name
why   it is wrong
file  a.go
test  ./a TestA race
test  ./b TestB/c schedules long

-- old
	one
-- new

== another
why   it is wrong
file  b.go
test  ./a TestA
-- old
	one
-- new
	two

	three
`
	all, err := parse(good)
	if err != nil || len(all) != 2 {
		t.Fatalf("%d mutants, %v", len(all), err)
	}
	if m := all[0]; m.name != "a name" || m.old != "\tone\n" || m.new != "" || len(m.killers) != 2 ||
		m.killers[1] != (killer{pkg: "./b", test: "TestB/c", schedules: true, long: true}) {
		t.Errorf("the first is %+v", m)
	}
	if m := all[1]; m.new != "\ttwo\n\n\tthree\n" {
		t.Errorf("the second is %+v", m)
	}
	for _, bad := range []string{
		strings.Replace(good, "race", "fast", 1),
		strings.Replace(good, "why ", "who ", 1),
		strings.Replace(good, "./a TestA", "./a", 1),
		strings.Replace(good, "file  a.go\n", "", 1),
	} {
		if _, err := parse(bad); err == nil {
			t.Errorf("nothing is wrong with\n%s", bad)
		}
	}
}

func TestPlant(t *testing.T) {
	m := mutant{name: "m", file: "f", old: "b\n", new: "x\n"}
	if got, err := m.plant("a\nb\nc\n"); err != nil || got != "a\nx\nc\n" {
		t.Errorf("%q, %v", got, err)
	}
	for _, src := range []string{"a\n", "b\nb\n"} {
		if got, err := m.plant(src); err == nil {
			t.Errorf("%q has become %q", src, got)
		}
	}
}

// TestRead: the first test that fails is the one that killed, however its
// failure was told.
func TestRead(t *testing.T) {
	for name, c := range map[string]struct {
		events string
		want   outcome
		broken bool
	}{
		"subtest": {`{"Action":"run","Test":"A"}
{"Action":"run","Test":"A/b"}
{"Action":"fail","Test":"A/b"}
{"Action":"fail","Test":"A"}`, outcome{failed: "A/b", ran: 1}, false},
		"hangs": {`{"Action":"run","Test":"A"}
{"Action":"output","Test":"A","Output":"panic: test timed out after 1s\n"}
{"Action":"fail","Test":"A"}`, outcome{failed: "A (hangs)", ran: 1}, false},
		"panic": {`{"Action":"run","Test":"A"}
{"Action":"pass","Test":"A"}
{"Action":"run","Test":"B"}
{"Action":"fail","Package":"p"}`, outcome{failed: "B", ran: 2}, false},
		"passes": {`{"Action":"run","Test":"A"}
{"Action":"pass","Test":"A"}
{"Action":"pass","Package":"p"}`, outcome{ran: 1}, false},
		"broken": {`{"Action":"build-output","Output":"undefined: x\n"}
{"Action":"build-fail"}
{"Action":"fail","Package":"p"}`, outcome{missed: "A"}, true},
		"none": {`{"Action":"pass","Package":"p"}`, outcome{missed: "A"}, false},
	} {
		var o outcome
		_, broken := o.read(strings.NewReader(c.events), []string{"A"})
		o.took = nil
		if !reflect.DeepEqual(o, c.want) || broken != c.broken {
			t.Errorf("%s: %+v, broken %t", name, o, broken)
		}
	}
}

func TestChosen(t *testing.T) {
	all := []mutant{{name: "park: no C2", file: "internal/core/park/park.go"}, {name: "E6: dropped", file: "lockfree/enqueue.go"}}
	for pattern, want := range map[string]int{
		"park: *": 1, "*": 2, "*enqueue.go": 1, "E6: dropped": 1, "lockfree/enqueue.go": 1, "nothing": 0,
	} {
		if got := chosen(all, []string{pattern}); len(got) != want {
			t.Errorf("%q chooses %d, want %d", pattern, len(got), want)
		}
	}
}
