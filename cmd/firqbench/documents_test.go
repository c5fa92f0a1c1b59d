package main

import (
	"flag"
	"os"
	"path/filepath"
	"regexp"
	"strings"
	"testing"

	"github.com/firq-go/firq/cmd/firqbench/internal/command"
)

var update = flag.Bool("update", false, "write the tables of the documents anew")

// made is a table in a document, between two comments that Markdown does not show. The
// first has the command that prints it.
var made = regexp.MustCompile(`(?s)<!-- firqbench ([^\n]*) -->\n(.*?)<!-- end -->`)

// What the documents show of results is what the files in results/ hold: each table that
// says which command printed it is what that command prints. With -update it becomes so.
func TestDocuments(t *testing.T) {
	root := filepath.Join("..", "..")
	t.Chdir(root)
	tables := 0
	for _, document := range []string{"README.md", "BENCHMARKS.md"} {
		text, err := os.ReadFile(document)
		if err != nil {
			t.Fatal(err)
		}
		after := made.ReplaceAllStringFunc(string(text), func(block string) string {
			tables++
			parts := made.FindStringSubmatch(block)
			code, out, errOut := call(t, arguments(t, parts[1])...)
			if code != command.OK {
				t.Errorf("%s: firqbench %s: exit code %d\n%s", document, parts[1], code, errOut)
				return block
			}
			if now := strings.TrimRight(out, "\n") + "\n"; now != parts[2] && !*update {
				t.Errorf("%s: firqbench %s prints another table (go test ./cmd/firqbench -run TestDocuments -update):\n%s", document, parts[1], now)
			}
			return "<!-- firqbench " + parts[1] + " -->\n" + strings.TrimRight(out, "\n") + "\n<!-- end -->"
		})
		if *update && after != string(text) {
			if err := os.WriteFile(document, []byte(after), 0o644); err != nil {
				t.Fatal(err)
			}
		}
	}
	if tables < 2 {
		t.Errorf("%d tables were found", tables)
	}
}

// arguments are those of a command line, with the files that a pattern stands for.
func arguments(t *testing.T, line string) (args []string) {
	t.Helper()
	for _, a := range strings.Fields(line) {
		if !strings.Contains(a, "*") {
			args = append(args, a)
			continue
		}
		files, err := filepath.Glob(a)
		if err != nil || len(files) == 0 {
			t.Fatalf("%s: no such file, %v", a, err)
		}
		args = append(args, files...)
	}
	return args
}
