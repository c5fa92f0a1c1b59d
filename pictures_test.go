package firq_test

import (
	"crypto/sha256"
	"fmt"
	"io/fs"
	"os"
	"path/filepath"
	"regexp"
	"strconv"
	"strings"
	"testing"
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
	} else if n, err := strconv.ParseFloat(string(w[1]), 64); err != nil || n > 820 {
		t.Errorf("%s.svg is %s wide; GitHub shows about 800", name, w[1])
	}
}
