// Package page makes one HTML page of result files: charts with their numbers
// next to them, readable on a phone and on a wide screen, in a light and a dark
// theme, without a script and without the network.
//
// Charts show what the files hold, and nothing else. The page says what a file lacks.
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

// sections has the sections of a page in their order, and the bytes that each may take; 0: what
// the others leave.
var sections = []struct {
	name string
	of   func(*builder) section
	most int
}{
	{"answer", (*builder).answer, littleRoom}, {"throughput", (*builder).throughput, someRoom}, {"fairness", (*builder).fairness, littleRoom},
	{"rate", (*builder).byRate, littleRoom}, {"latency", (*builder).latency, 0}, {"service", (*builder).service, someRoom}, {"quiet", (*builder).quiet, littleRoom},
}

// Sections returns the names of all sections.
func Sections() (names []string) {
	for _, s := range sections {
		names = append(names, s.name)
	}
	return names
}

// Write writes to w the page of the sections and files that only chooses; its zero value chooses
// all. The same files give the same page.
func Write(w io.Writer, files []File, only Only) error {
	files, err := only.choose(files)
	if err != nil {
		return err
	}
	var text bytes.Buffer
	for room := pageRoom; ; room -= max(text.Len()-pageMost, pageStep) {
		text.Reset()
		if err := page.Execute(&text, build(files, only.Sections, room)); err != nil {
			return err
		}
		if text.Len() <= pageMost || room <= 0 {
			break
		}
	}
	_, err = text.WriteTo(w)
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

	room    int    // that the section has left, in bytes
	without int    // charts that it had no room for
	first   string // the first of them
}

func newBuilder(files []File) *builder {
	b := &builder{files: files, names: shortNames(files), ids: map[string]int{}, slots: slots{}}
	b.strike()
	b.findPlaces()
	b.findGroups()
	return b
}

func build(files []File, only []string, most int) view {
	b := newBuilder(files)
	v := view{Style: template.CSS(Style), Files: b.facts(), defs: &b.defs} //nolint:gosec // a file of this package
	made := make([]*section, len(sections))
	used := 0
	fill := func(i int) {
		known := sections[i]
		if len(only) > 0 && !slices.Contains(only, known.name) {
			return
		}
		room := roomFor(most, known.most, used, len(only))
		b.room, b.without = room, 0
		s := known.of(b)
		used += room - b.room
		if left := b.leftOut(known.name); left != "" {
			s.Missing = append(s.Missing, left)
		}
		s.ID = b.id(s.Title)
		made[i] = &s
	}
	for i := range sections {
		if sections[i].most > 0 {
			fill(i)
		}
	}
	for i := range sections {
		if sections[i].most == 0 {
			fill(i)
		}
	}
	for _, s := range made {
		if s != nil {
			v.Sections = append(v.Sections, *s)
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
