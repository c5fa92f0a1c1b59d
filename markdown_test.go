package firq_test

import (
	"errors"
	"fmt"
	"io/fs"
	"os"
	"os/exec"
	"path"
	"regexp"
	"slices"
	"strings"
	"testing"
)

// TestMarkdownLinks follows every relative link of every Markdown file of the
// repository: the file is there, and so is the heading that an #anchor names.
func TestMarkdownLinks(t *testing.T) {
	out, err := exec.Command("git", "ls-files", "--cached", "--others", "--exclude-standard").Output()
	if err != nil && os.Getenv("CI") == "" {
		t.Skipf("git cannot list the files: %v", err)
	} else if err != nil {
		t.Fatal(err)
	}
	files := site{}
	for name := range strings.Lines(string(out)) {
		name = strings.TrimSpace(name)
		text := []byte(nil)
		if strings.HasSuffix(name, ".md") {
			if text, err = os.ReadFile(name); errors.Is(err, fs.ErrNotExist) {
				continue // removed, and git has not been told
			} else if err != nil {
				t.Fatal(err)
			}
		} else if _, err := os.Lstat(name); err != nil {
			continue
		}
		files[name] = string(text)
	}
	if files["README.md"] == "" {
		t.Fatal("there is no README.md")
	}
	links := 0
	for name := range files {
		for _, target := range relativeLinks(files[name]) {
			links++
			if err := files.follow(name, target); err != nil {
				t.Errorf("%s: %v", name, err)
			}
		}
	}
	if links < 100 {
		t.Errorf("%d links were found: does the test still see them?", links)
	}
}

// TestMarkdownBroken: what TestMarkdownLinks stands on sees a broken link, and
// only that.
func TestMarkdownBroken(t *testing.T) {
	s := site{
		"docs/a.md": "# One `two` (three)\n\n## Same\n## Same\n```\n# no heading\n```\n    # nor this\n### [A link](b.md), _and_ more\n<a id=\"mark\"></a>\n",
		"b.go":      "",
	}
	for target, whole := range map[string]bool{
		"docs/a.md": true, "docs/a.md#one-two-three": true, "docs/a.md#same-1": true, "docs/a.md#a-link-and-more": true,
		"docs/a.md#mark": true, "b.go#L10": true, "docs": true, "docs/": true, ".": true,
		"docs/b.md": false, "docs/a.md#two": false, "docs/a.md#same-2": false, "docs/a.md#no-heading": false, "docs/a.md#nor-this": false,
		"../b.go": false, "doc": false,
	} {
		if err := s.follow("README.md", target); (err == nil) != whole {
			t.Errorf("%s: %v, want whole = %t", target, err, whole)
		}
	}
	if err := s.follow("docs/a.md", "../b.go"); err != nil {
		t.Error(err)
	}
	if err := s.follow("docs/a.md", "#same"); err != nil {
		t.Error(err)
	}
	const text = "[a](x.md) and ![b](y.svg \"title\"), `[c](no.md)` [d](https://x.org/no.md) [`e\nf`](z.md#q) `\n[c](no.md)`\n" +
		"```\n[f](no.md)\n```\n\n    [g](no.md)\n\n- item\n\n    [h](list.md)\n[i]: ref.md\n<img src=\"w.svg\" srcset=\"v.svg\"> [j](mailto:a@b)\n"
	want := []string{"x.md", "y.svg", "z.md#q", "list.md", "ref.md", "w.svg", "v.svg"}
	if got := relativeLinks(text); !slices.Equal(got, want) {
		t.Errorf("links %q, want %q", got, want)
	}
}

// site is the files of a repository: the text of Markdown, "" of all others.
type site map[string]string

// follow fails if the link in the file from leads nowhere.
func (s site) follow(from, target string) error {
	name, anchor, _ := strings.Cut(target, "#")
	file := from
	if name != "" {
		file = path.Join(path.Dir(from), name)
	}
	text, found := s[file]
	if !found {
		for other := range s {
			found = found || file == "." || strings.HasPrefix(other, file+"/")
		}
	}
	if !found {
		return fmt.Errorf("there is no %s (link %s)", file, target)
	}
	if anchor != "" && strings.HasSuffix(file, ".md") && !slices.Contains(headingAnchors(text), anchor) {
		return fmt.Errorf("%s has no heading #%s", file, anchor)
	}
	return nil
}

var (
	codeSpan   = regexp.MustCompile("`(?:[^`\n]|\n[^`\n])*`")
	inlineLink = regexp.MustCompile(`\]\(\s*<?([^)\s>]+)>?(?:\s+"[^"]*")?\s*\)`)
	linkLabel  = regexp.MustCompile(`(?m)^ {0,3}\[[^\]^]+\]:\s*(\S+)`)
	attribute  = regexp.MustCompile(`\b(?:href|src|srcset)="([^"\s]+)"`)
	scheme     = regexp.MustCompile(`^(?:[a-z][a-z0-9+.-]*:|//)`)
	listItem   = regexp.MustCompile(`^\s*(?:[-*+]|\d+[.)])\s`)
	heading    = regexp.MustCompile(`^ {0,3}#{1,6}\s+(.*?)\s*#*$`)
	idOfTag    = regexp.MustCompile(`<a\s+(?:id|name)="([^"]+)"`)
	textOfLink = regexp.MustCompile(`!?\[([^\]]*)\]\([^)]*\)`)
	notInSlug  = regexp.MustCompile(`[^\p{L}\p{N}\-_ ]+`)
)

// relativeLinks returns the targets of a document's links that stay in the
// repository: of inline links, of labels, of HTML.
func relativeLinks(text string) (targets []string) {
	// A span of code can be the text of a link, but holds none.
	text = codeSpan.ReplaceAllString(strings.Join(prose(text), "\n"), "code")
	for _, form := range []*regexp.Regexp{inlineLink, linkLabel, attribute} {
		for _, m := range form.FindAllStringSubmatch(text, -1) {
			if !scheme.MatchString(m[1]) {
				targets = append(targets, m[1])
			}
		}
	}
	return targets
}

// headingAnchors returns what GitHub calls the headings of a document.
func headingAnchors(text string) (anchors []string) {
	seen := map[string]int{}
	for _, line := range prose(text) {
		for _, m := range idOfTag.FindAllStringSubmatch(line, -1) {
			anchors = append(anchors, m[1])
		}
		m := heading.FindStringSubmatch(line)
		if m == nil {
			continue
		}
		title := textOfLink.ReplaceAllString(m[1], "$1")
		title = strings.NewReplacer(" _", " ", "_ ", " ").Replace(title)
		slug := strings.ReplaceAll(notInSlug.ReplaceAllString(strings.ToLower(title), ""), " ", "-")
		if n := seen[slug]; n > 0 {
			anchors = append(anchors, fmt.Sprintf("%s-%d", slug, n))
		} else {
			anchors = append(anchors, slug)
		}
		seen[slug]++
	}
	return anchors
}

// prose returns the lines of a document that are not code: neither between fences
// nor indented by four, unless that continues the item of a list.
func prose(text string) (lines []string) {
	fenced, inList := false, false
	for line := range strings.Lines(text) {
		line = strings.TrimRight(line, "\r\n")
		if fence := strings.TrimLeft(line, " "); strings.HasPrefix(fence, "```") {
			fenced = !fenced
			continue
		}
		if fenced {
			continue
		}
		indented := strings.HasPrefix(line, "    ") || strings.HasPrefix(line, "\t")
		switch {
		case listItem.MatchString(line) && !indented:
			inList = true
		case strings.TrimSpace(line) != "" && !strings.HasPrefix(line, " "):
			inList = false
		}
		if !indented || inList {
			lines = append(lines, line)
		}
	}
	return lines
}
