package main

import (
	"errors"
	"fmt"
	"go/ast"
	"go/parser"
	"go/token"
	"os"
	"path/filepath"
	"reflect"
	"slices"
	"strings"
	"testing"

	"github.com/firq-go/firq/internal/proof/race"
)

const root = "../../.."

// enough is how many mutants there have to be.
const enough = 100

// TestList: the list fits the code as it is, so that it does not rot.
func TestList(t *testing.T) {
	race.OneGoroutine(t)
	all, err := load(root)
	if err != nil {
		t.Fatal(err)
	}
	if len(all) < enough {
		t.Errorf("%d mutants, want %d", len(all), enough)
	}
	names, in := map[string]bool{}, tests{}
	for _, m := range all {
		if names[m.name] {
			t.Errorf("%s: twice", m.name)
		}
		names[m.name] = true
		if m.wrong != nil {
			t.Error(m.wrong)
			continue
		}
		if _, err := parser.ParseFile(token.NewFileSet(), m.file, m.faulty, parser.SkipObjectResolution); err != nil && !lua(m.file) {
			t.Errorf("%s: %v", m.name, err)
		}
		src, err := os.ReadFile(filepath.Join(root, filepath.FromSlash(m.file)))
		if err != nil {
			t.Error(err)
		}
		if reflect.DeepEqual(texts(m.faulty, lua(m.file)), texts(string(src), lua(m.file))) {
			t.Errorf("%s: changes nothing but comments", m.name)
		}
		for _, k := range m.killers {
			in.exists(t, m.name, k)
		}
	}
}

// texts returns what code consists of, without its comments.
func texts(code string, lua bool) (all []string) {
	for _, t := range tokens(code, lua) {
		all = append(all, t.text)
	}
	return all
}

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

== a name | it is wrong
in a b.c | TestA race | ./b TestB/c schedules long
- one
- two
+
- three

== another | it is wrong
in b/b.go | TestA
- one
+ if two {
+ 	three
+ }
`
	all, err := parse(good)
	if err != nil || len(all) != 2 {
		t.Fatalf("%d mutants, %v", len(all), err)
	}
	if m := all[0]; m.name != "a name" || m.in != "a b.c" || !slices.Equal(m.changes, []change{{"one\ntwo\n", ""}, {"three\n", ""}}) ||
		!slices.Equal(m.killers, []killer{{pkg: "./a", test: "TestA", race: true}, {pkg: "./b", test: "TestB/c", schedules: true, long: true}}) {
		t.Errorf("the first is %+v", m)
	}
	if m := all[1]; m.killers[0].pkg != "./b" || !slices.Equal(m.changes, []change{{"one\n", "if two {\n\tthree\n}"}}) {
		t.Errorf("the second is %+v", m)
	}
	for _, bad := range []string{
		strings.Replace(good, "race", "fast", 1),
		strings.Replace(good, "in ", "at ", 1),
		strings.Replace(good, " | it is wrong", "", 1),
		strings.Replace(good, "./b TestB/c", "./b", 1),
		strings.Replace(good, " | TestA\n", "\n", 1),
		strings.Replace(good, "in b/b.go | TestA\n", "", 1),
		strings.Replace(good, "- three\n", "- \n", 1),
		strings.Replace(good, "- one\n+", "+", 1),
	} {
		if _, err := parse(bad); err == nil {
			t.Errorf("nothing is wrong with\n%s", bad)
		}
	}
}

func TestPlant(t *testing.T) {
	dir := t.TempDir()
	for name, text := range map[string]string{
		"p/a.go": "package p\n\ntype T[E any] struct { n int }\n\nvar a, b = 1, 2 // two\n",
		"p/b.go": `package p

// Put does a(1) first.
func (t *T[E]) Put(n int) {
	a(1) // not a(2)
	if n > 1 {
		if n > 2 {
			a(n)
		}
		a(n)
	}
	b(n)
}
`,
		"p/b_test.go": "package p\n\nfunc Put() { a(1) }\n",
		"s.lua":       "f(1) -- it's not f(2)\nif x ~= 'it' then f(3) end\n",
	} {
		name = filepath.Join(dir, name)
		if err := errors.Join(os.MkdirAll(filepath.Dir(name), 0o700), os.WriteFile(name, []byte(text), 0o600)); err != nil {
			t.Fatal(err)
		}
	}
	code := sources{root: dir, read: map[string][]source{}}
	for _, c := range []struct {
		in, changes string
		want        string // is in the faulty file, or in the error
		wrong       bool
	}{
		{"p T.Put", "- a(1); if n > 1 {\n+ if n>1 { c()\n+ a(1)\n", "\tif n>1 { c()\na(1)\n\t\tif n > 2 {", false},
		{"p T.Put", "- if n > 1 { ... }\n+ c()\n", "(2)\n\tc()\n\tb(n)\n", false},
		{"p T.Put", "- if n > 1\n+ if n > 3\n- b(n)\n", "if n > 3 {", false},
		{"p T.Put", "- a(n) }; a(n)\n", "if n > 2 {\n\t\t\t\n\t}", false},
		{"p T", "- n int\n+ m int", "struct { m int }", false},
		{"p b", "- 2\n+ 3", "= 1, 3 // two", false},
		{"s.lua", "- f(1)\n", "\t -- it's"[1:], false},
		{"s.lua", "- x ~= 'it'\n+ x", "if x then", false},

		{"p T.Put", "- a(n)\n", "T.Put (p/b.go) has 2 of", true},
		{"p T.Put", "- b(m)\n", "the nearest is\n\tb(n)", true},
		{"p T.Get", "- b(n)\n", "its anchor is in T.Put (p/b.go)", true},
		{"p T.Put", "- n > 1 {\n+ n > 3 { {\n- n > 1 {\n", "has 0 of", true},
		{"q T.Put", "- b(n)\n", "0 files of q", true},
		{"s.lua", "- f(2)\n", "has 0 of", true},
	} {
		all, err := parse("== m | w\nin " + c.in + " | ./p TestA\n" + c.changes)
		if err != nil {
			t.Fatal(err)
		}
		err = all[0].plant(&code)
		if got := fmt.Sprint(all[0].faulty, err); !strings.Contains(got, c.want) || (err != nil) != c.wrong {
			t.Errorf("%s, %s is\n%s", c.in, c.changes, got)
		}
	}
}

// TestRead: the first test that fails is the one that killed, however go test reports
// the failure.
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
