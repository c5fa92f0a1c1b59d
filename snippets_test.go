package firq_test

import (
	"os"
	"path/filepath"
	"regexp"
	"strings"
	"testing"
)

// snippet is Go code in a document, behind a comment that Markdown does not show and that
// names the file which has the same lines.
var snippet = regexp.MustCompile("(?s)(?:<!-- ([^\n ]+_test\\.go) -->\n)?```go\n(.*?)```\n")

// TestSnippets: the Go code of every document is that of examples, which
// are compiled with the tests of their packages. Where a snippet has an empty line, the
// example may have more.
func TestSnippets(t *testing.T) {
	texts, all := markdown(t), 0
	for document := range texts {
		found := snippet.FindAllStringSubmatch(texts[document], -1)
		all += len(found)
		for _, m := range found {
			if m[1] == "" {
				t.Errorf("%s: no comment says where these lines are compiled:\n%s", document, m[2])
				continue
			}
			source, err := os.ReadFile(filepath.FromSlash(m[1]))
			if err != nil {
				t.Error(err)
				continue
			}
			rest := unindented(string(source))
			for part := range strings.SplitSeq(m[2], "\n\n") {
				_, after, found := strings.Cut(rest, unindented(part))
				if rest = after; !found {
					t.Errorf("%s: %s does not have these lines, or not in this order:\n%s", document, m[1], part)
				}
			}
		}
	}
	if all < 20 {
		t.Errorf("the documents have %d snippets of Go code: are they read?", all)
	}
}

// unindented returns the lines of a text that are not empty, without what they begin with.
func unindented(text string) string {
	var lines strings.Builder
	for line := range strings.Lines(text) {
		if line = strings.TrimSpace(line); line != "" {
			lines.WriteString(line + "\n")
		}
	}
	return lines.String()
}
