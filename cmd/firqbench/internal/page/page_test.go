package page

import (
	"encoding/json"
	"encoding/xml"
	"errors"
	"fmt"
	"io"
	"math"
	"os"
	"path/filepath"
	"regexp"
	"slices"
	"strconv"
	"strings"
	"testing"

	"github.com/firq-go/firq/cmd/firqbench/internal/chart"
	"github.com/firq-go/firq/internal/proof/race"
)

// The page is well-formed, needs nothing from elsewhere, and its links lead
// somewhere. The same files give the same page.
func TestSelfContained(t *testing.T) {
	html, _ := whole()
	if html != write(t, everything()) {
		t.Error("the same files give two different pages")
	}
	d := xml.NewDecoder(strings.NewReader(html))
	d.Strict, d.Entity = true, xml.HTMLEntity
	ids, links := map[string]int{}, map[string]bool{}
	for {
		token, err := d.Token()
		if errors.Is(err, io.EOF) {
			break
		} else if err != nil {
			t.Fatal(err)
		}
		start, ok := token.(xml.StartElement)
		if !ok {
			continue
		}
		if slices.Contains([]string{"script", "link", "img", "iframe", "object", "embed", "base", "form", "image"}, start.Name.Local) {
			t.Errorf("there is a %s", start.Name.Local)
		}
		for _, a := range start.Attr {
			switch {
			case a.Name.Local == "id":
				ids[a.Value]++
			case a.Name.Local == "href" && strings.HasPrefix(a.Value, "#"):
				links[a.Value[1:]] = true
			case a.Name.Local == "aria-labelledby":
				for _, id := range strings.Fields(a.Value) {
					links[id] = true
				}
			case strings.Contains(a.Value, "//") || a.Name.Local == "src" || a.Name.Local == "href" || strings.HasPrefix(a.Name.Local, "on"):
				t.Errorf("<%s %s=%q>", start.Name.Local, a.Name.Local, a.Value)
			}
		}
	}
	for id, n := range ids {
		if n > 1 {
			t.Errorf("%d elements have the id %s", n, id)
		}
	}
	if n := strings.Count(html, ">contended</a>"); n != 1 {
		t.Errorf("%d parts of the contents are called contended", n)
	}
	for id := range links {
		if ids[id] == 0 {
			t.Errorf("#%s leads nowhere", id)
		}
	}
	if s := regexp.MustCompile(`url\(|@import|http`).FindString(Style); s != "" {
		t.Errorf("the style sheet has %s", s)
	}
	for _, want := range []string{`lang="en"`, `name="viewport"`, "prefers-color-scheme: dark", "some &lt;cpu&gt;", "firqbench run &#39;x y&#39;", "a/run.json", "b/run.json"} {
		if !strings.Contains(html, want) {
			t.Errorf("%s is missing", want)
		}
	}
}

// The committed results make a page.
func TestResults(t *testing.T) {
	paths, _ := filepath.Glob("../../../../results/*.json")
	if len(paths) == 0 {
		t.Fatal("no results")
	}
	if race.Enabled { // there is one goroutine
		paths = paths[max(0, len(paths)-3):]
	}
	files, err := Read(paths)
	if err != nil {
		t.Fatal(err)
	}
	if n := strings.Count(write(t, files), "<figure "); n < 10 {
		t.Errorf("%d charts of %d files", n, len(files))
	}
}

func TestRead(t *testing.T) {
	path := filepath.Join(t.TempDir(), "f.json")
	for text, want := range map[string]string{
		`{"schema":"firqbench/2","run":[]}`: `"firqbench/2", newer than "firqbench/1"`,
		`{"schema":"other/9"}`:              `"other/9", this program reads "firqbench/1"`,
		`{"a":1}`:                           "is not a result file of firqbench",
		`# text`:                            "is not a result file",
		`{"schema":"firqbench/1","run":[]}`: "cannot unmarshal",
	} {
		if err := os.WriteFile(path, []byte(text), 0o600); err != nil {
			t.Fatal(err)
		}
		if _, err := Read([]string{path}); err == nil || !strings.HasPrefix(err.Error(), path+": ") || !strings.Contains(err.Error(), want) {
			t.Errorf("%s: %v, want %s: ... %s", text, err, path, want)
		}
	}
	if _, err := Read([]string{path + "x"}); !errors.Is(err, os.ErrNotExist) {
		t.Errorf("no file: %v", err)
	}
	good, err := json.Marshal(ran(2, "contended"))
	if err := errors.Join(err, os.WriteFile(path, good, 0o600)); err != nil {
		t.Fatal(err)
	}
	if files, err := Read([]string{path, path}); err != nil || len(files) != 2 || files[0].Path != path || len(files[1].Run.Cells) != 1 {
		t.Errorf("%+v, %v", files, err)
	}
}

func TestWords(t *testing.T) {
	for _, c := range []struct{ got, want string }{
		{part100(1), "100%"}, {part100(0.5), "50%"}, {part100(rarity(5)), "10%"}, {part100(rarity(1)), "63.1%"}, {part100(rarity(25)), "0.001%"},
		{amount(0.00025), "0.00025"}, {amount(1e-5), "0.00001"}, {amount(0.1667), "0.17"},
		{duration(100), "100ns"}, {duration(1e6), "1ms"}, {duration(1.25e6), "1.25ms"}, {duration(3e5), "300µs"}, {duration(2.5e9), "2.5s"},
		{count(0), "0"}, {count(8e6), "8M"}, {count(2.5e3), "2.5k"}, {count(64), "64"},
	} {
		if c.got != c.want {
			t.Errorf("got %q, want %q", c.got, c.want)
		}
	}
}

// Colours stand out from the card that they are drawn on: at least 3 to 1, as WCAG
// 2.2 has it for graphics (1.4.11); text has at least 4.5 to 1 (1.4.3).
func TestContrast(t *testing.T) {
	light, dark, ok := strings.Cut(Style, "@media screen and (prefers-color-scheme: dark)")
	if !ok {
		t.Fatal("no dark theme")
	}
	for theme, css := range map[string]string{"light": light, "dark": dark} {
		colours := map[string]float64{}
		for _, m := range regexp.MustCompile(`--([a-z0-9-]+): #([0-9a-f]{6});`).FindAllStringSubmatch(css, -1) {
			colours[m[1]] = luminance(m[2])
		}
		contrast := func(a, b string) float64 {
			x, y := colours[a], colours[b]
			return (max(x, y) + 0.05) / (min(x, y) + 0.05)
		}
		for slot := range chart.Slots {
			if c := contrast(fmt.Sprintf("s%d", slot), "card"); c < 3 {
				t.Errorf("%s: s%d has a contrast of %.2f", theme, slot, c)
			}
		}
		for _, p := range [][2]string{{"ink", "paper"}, {"dim", "paper"}, {"dim", "card"}, {"ink", "card"}, {"link", "card"}, {"link", "paper"}, {"warn-ink", "warn"}} {
			if c := contrast(p[0], p[1]); c < 4.5 {
				t.Errorf("%s: %s on %s has a contrast of %.2f", theme, p[0], p[1], c)
			}
		}
	}
}

// luminance is WCAG's relative luminance of a colour in hexadecimal.
func luminance(hex string) float64 {
	v, _ := strconv.ParseUint(hex, 16, 32)
	channel := func(shift int, weight float64) float64 {
		c := float64(v>>shift&255) / 255
		if c <= 0.04045 {
			return weight * c / 12.92
		}
		return weight * math.Pow((c+0.055)/1.055, 2.4)
	}
	return channel(16, 0.2126) + channel(8, 0.7152) + channel(0, 0.0722)
}
