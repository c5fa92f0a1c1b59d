// Package page makes one HTML page of result files: charts with their numbers
// beside them, readable on a phone and on a wide screen, in a light and a dark
// theme, without a script and without the network.
//
// A chart is drawn of what the files hold and of nothing else. What a file lacks
// is said in the page.
package page

import (
	"bytes"
	_ "embed" // template.html and style.css
	"fmt"
	"html/template"
	"io"
	"path/filepath"
	"slices"
	"strings"

	"github.com/firq-go/firq/cmd/firqbench/internal/chart"
	"github.com/firq-go/firq/cmd/firqbench/internal/report"
)

// File is a result file with the path that it was read from.
type File struct {
	Path string
	*report.File
}

// Read reads result files. Its errors name the file.
func Read(paths []string) (files []File, err error) {
	for _, path := range paths {
		f, err := report.ReadFile(path)
		if err != nil {
			return nil, err
		}
		files = append(files, File{path, f})
	}
	return files, nil
}

//go:embed template.html
var text string

// Style is the style sheet of a page with charts, in both themes.
//
//go:embed style.css
var Style string

var page = template.Must(template.New("page").Parse(text))

// sections are what a page is made of, in this order.
var sections = []struct {
	name string
	of   func(*builder) section
}{
	{"answer", (*builder).answer}, {"throughput", (*builder).throughput}, {"fairness", (*builder).fairness},
	{"rate", (*builder).byRate}, {"latency", (*builder).latency}, {"quiet", (*builder).quiet},
}

// Sections returns the names of all sections.
func Sections() (names []string) {
	for _, s := range sections {
		names = append(names, s.name)
	}
	return names
}

// Check returns an error that names a word that is no section.
func Check(only []string) error {
	for _, name := range only {
		if !slices.Contains(Sections(), name) {
			return fmt.Errorf("unknown section %q; there are %s", name, strings.Join(Sections(), ", "))
		}
	}
	return nil
}

// Write writes the page of files to w, with the sections that only names; none: all. The same
// files give the same page.
func Write(w io.Writer, files []File, only []string) error {
	if err := Check(only); err != nil {
		return err
	}
	var text bytes.Buffer
	if err := page.Execute(&text, build(files, only)); err != nil {
		return err
	}
	_, err := text.WriteTo(w)
	return err
}

// view is what the template shows.
type view struct {
	Style    template.CSS
	Sections []section
	Files    []facts
	defs     *chart.Defs
}

// Defs returns what the pictures refer to. It comes behind all of them.
func (v view) Defs() template.HTML {
	return template.HTML(v.defs.SVG()) //nolint:gosec // it escapes all text itself
}

// section is a part of the page with a heading.
type section struct {
	ID, Title string
	Text      []string // what it shows, and how to read it
	Missing   []string // what the files lack for it
	Parts     []part
}

// builder makes the sections. IDs are unique within the page.
type builder struct {
	files   []File
	names   []string // of the files, short and different from each other
	places  []place
	placeOf []int // by file
	groups  []*group
	late    lacks // results of replays that are not shown
	ids     map[string]int
	slots   slots
	defs    chart.Defs
}

func newBuilder(files []File) *builder {
	b := &builder{files: files, names: shortNames(files), ids: map[string]int{}, slots: slots{}}
	b.strike()
	b.findPlaces()
	b.findGroups()
	return b
}

func build(files []File, only []string) view {
	b := newBuilder(files)
	v := view{Style: template.CSS(Style), Files: b.facts(), defs: &b.defs} //nolint:gosec // a file of this package
	for _, known := range sections {
		if len(only) == 0 || slices.Contains(only, known.name) {
			s := known.of(b)
			s.ID = b.id(s.Title)
			v.Sections = append(v.Sections, s)
		}
	}
	return v
}

// id returns an ID made of words.
func (b *builder) id(words ...string) string {
	s := chart.Slug(strings.Join(words, " "))
	if s == "" || s[0] >= '0' && s[0] <= '9' {
		s = "x-" + s
	}
	b.ids[s]++
	if n := b.ids[s]; n > 1 {
		return b.id(fmt.Sprintf("%s-%d", s, n))
	}
	return s
}

// heading returns a title that no other part of the section has.
func (b *builder) heading(parts []part, title, file string) string {
	if slices.ContainsFunc(parts, func(p part) bool { return p.Title == title }) {
		return title + ", " + file
	}
	return title
}

// shortNames are the files' base names; where two are the same, their paths.
func shortNames(files []File) []string {
	count := map[string]int{}
	for _, f := range files {
		count[filepath.Base(f.Path)]++
	}
	names := make([]string, len(files))
	for i, f := range files {
		if names[i] = filepath.Base(f.Path); count[names[i]] > 1 {
			names[i] = f.Path
		}
	}
	return names
}
