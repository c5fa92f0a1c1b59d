package firq_test

import (
	"crypto/sha256"
	"fmt"
	"io/fs"
	"net/url"
	"os"
	"path/filepath"
	"regexp"
	"strconv"
	"strings"
	"testing"
	"unicode"
)

const pictures = "docs/pictures"

// markdown returns the text of each Markdown file.
func markdown(t *testing.T) map[string]string {
	t.Helper()
	texts := map[string]string{}
	err := filepath.WalkDir(".", func(name string, d fs.DirEntry, err error) error {
		switch {
		case err != nil:
			return err
		case d.IsDir() && name != "." && (strings.HasPrefix(d.Name(), ".") || d.Name() == "testdata"):
			return fs.SkipDir
		case !strings.HasSuffix(name, ".md"):
			return nil
		}
		text, err := os.ReadFile(name)
		texts[filepath.ToSlash(name)] = string(text)
		return err
	})
	if err != nil {
		t.Fatal(err)
	}
	return texts
}

var widthOf = regexp.MustCompile(`<svg[^>]* width="([0-9.]+)"`)

// TestPictures: each picture is drawn from its source as it is now, is not wider than
// GitHub shows it, and is on some page. scripts/pictures draws them.
func TestPictures(t *testing.T) {
	var pages strings.Builder
	for _, text := range markdown(t) {
		pages.WriteString(text)
	}
	files, err := os.ReadDir(pictures)
	if err != nil {
		t.Fatal(err)
	}
	for _, file := range files {
		name, kind, _ := strings.Cut(file.Name(), ".")
		switch kind {
		case "svg":
			drawn, err := filepath.Glob(filepath.Join(pictures, name+".*"))
			if err != nil || len(drawn) != 2 {
				t.Errorf("%s is drawn from nothing: %v, %v", file.Name(), drawn, err)
			}
		case "d2", "txt":
			if name != "style" {
				checkPicture(t, name, kind)
				if !strings.Contains(pages.String(), "pictures/"+name+".svg\"") {
					t.Errorf("%s.svg is on no page", name)
				}
			}
		default:
			t.Errorf("%s is neither a picture nor the source of one", file.Name())
		}
	}
}

func checkPicture(t *testing.T, name, kind string) {
	t.Helper()
	sum := sha256.New()
	from := []string{name + "." + kind}
	if kind == "d2" {
		from = []string{"style.d2", name + ".d2"}
	}
	for _, source := range from {
		text, err := os.ReadFile(filepath.Join(pictures, source))
		if err != nil {
			t.Fatal(err)
		}
		sum.Write(text)
	}
	svg, err := os.ReadFile(filepath.Join(pictures, name+".svg"))
	if err != nil {
		t.Errorf("%s was never drawn: run scripts/pictures %s", from, name)
		return
	}
	if want := fmt.Sprintf("<!-- drawn from %x -->", sum.Sum(nil)); !strings.Contains(string(svg), want) {
		t.Errorf("%s.svg was drawn from something else than %s is now: run scripts/pictures %s", name, from, name)
	}
	if w := widthOf.FindSubmatch(svg); w == nil {
		t.Errorf("%s.svg has no width", name)
	} else if n, err := strconv.ParseFloat(string(w[1]), 64); err != nil || n > 800 {
		t.Errorf("%s.svg is %s wide; GitHub shows 800", name, w[1])
	}
}

var (
	fence   = regexp.MustCompile("(?ms)^```.*?^```|`[^`\n]*`")
	link    = regexp.MustCompile(`\]\(([^()\s]+)\)|<img src="([^"]+)"`)
	heading = regexp.MustCompile(`(?m)^#+ +(.*)$`)
)

// TestLinks: the links of Markdown files to files and headings of this repository lead
// somewhere.
func TestLinks(t *testing.T) {
	texts := markdown(t)
	for name, text := range texts {
		for _, found := range link.FindAllStringSubmatch(fence.ReplaceAllString(text, "``"), -1) {
			to := found[1] + found[2]
			file, anchor, _ := strings.Cut(to, "#")
			if strings.Contains(file, ":") {
				continue // another site
			}
			file, err := url.PathUnescape(file)
			if err != nil {
				t.Errorf("%s: %s: %v", name, to, err)
			}
			at := filepath.ToSlash(filepath.Join(filepath.Dir(name), file))
			if file == "" {
				at = name
			}
			if _, err := os.Stat(at); err != nil {
				t.Errorf("%s: the link to %s leads nowhere", name, to)
			} else if other, ok := texts[at]; ok && anchor != "" && !anchors(other)[anchor] {
				t.Errorf("%s: %s has no heading for %s", name, at, to)
			}
		}
	}
}

// anchors returns what GitHub makes of the headings of a page.
func anchors(text string) map[string]bool {
	names, times := map[string]bool{}, map[string]int{}
	text = regexp.MustCompile("(?ms)^```.*?^```").ReplaceAllString(text, "")
	for _, found := range heading.FindAllStringSubmatch(text, -1) {
		plain := regexp.MustCompile(`\[([^\]]*)\]\([^)]*\)`).ReplaceAllString(strings.TrimSpace(found[1]), "$1")
		slug := strings.Map(func(r rune) rune {
			switch {
			case r == ' ':
				return '-'
			case unicode.IsLetter(r), unicode.IsDigit(r), r == '-', r == '_':
				return unicode.ToLower(r)
			}
			return -1
		}, plain)
		if n := times[slug]; n > 0 {
			names[slug+"-"+strconv.Itoa(n)] = true
		} else {
			names[slug] = true
		}
		times[slug]++
	}
	return names
}
