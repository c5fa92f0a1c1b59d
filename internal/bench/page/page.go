// Package page makes one HTML page of result files: charts with their numbers
// beside them, readable on a phone and on a wide screen, in a light and a dark
// theme, without a script and without the network.
//
// A chart is drawn of what the files hold and of nothing else. What a file lacks
// is said in the page.
package page

import (
	_ "embed" // template.html and style.css
	"fmt"
	"html/template"
	"io"
	"path/filepath"
	"slices"
	"strings"

	"github.com/firq-go/firq/internal/bench/chart"
	"github.com/firq-go/firq/internal/bench/report"
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
	{"answer", (*builder).answer}, {"latency", (*builder).latency}, {"throughput", (*builder).throughput},
	{"service", (*builder).service}, {"quiet", (*builder).quiet},
}

// Sections returns the names of all sections, for Write.
func Sections() (names []string) {
	for _, s := range sections {
		names = append(names, s.name)
	}
	return names
}

// Write writes the page of files to w, with these sections only; none: all. The same
// files give the same page.
func Write(w io.Writer, files []File, only ...string) error {
	for _, name := range only {
		if !slices.Contains(Sections(), name) {
			return fmt.Errorf("unknown section %q; there are %s", name, strings.Join(Sections(), ", "))
		}
	}
	return page.Execute(w, build(files, only))
}

// view is what the template shows.
type view struct {
	Style    template.CSS
	Sections []section
	Files    []facts
}

// section is a part of the page with a heading.
type section struct {
	ID, Title string
	Text      []string // what it shows, and how to read it
	Missing   []string // what the files lack for it
	Parts     []part
}

// part is some charts that belong together.
type part struct {
	ID, Title string
	Text      []string
	Figures   []figure
}

// figure is a chart with its legend and its table.
type figure struct {
	*chart.Chart
	Note string
}

// key is an entry of a legend.
type key struct {
	Name   string
	Swatch template.HTML
}

// Picture returns the chart's SVG, which escapes all text itself.
func (f figure) Picture() template.HTML {
	return template.HTML(f.SVG()) //nolint:gosec // see above
}

// Legend returns its entries in the order of the table's columns.
func (f figure) Legend() (keys []key) {
	for _, s := range f.Visible() {
		keys = append(keys, key{s.Name, template.HTML(chart.Swatch(s.Slot, s.Marks))}) //nolint:gosec // made of numbers
	}
	return keys
}

// builder makes the sections. IDs are unique within the page.
type builder struct {
	files []File
	names []string // of the files, short and different from each other
	ids   map[string]int
	slots slots
}

func build(files []File, only []string) view {
	b := &builder{files: files, ids: map[string]int{}, slots: slots{}}
	b.names = shortNames(files)
	v := view{Style: template.CSS(Style), Files: b.facts()} //nolint:gosec // a file of this package
	for _, known := range sections {
		if len(only) > 0 && !slices.Contains(only, known.name) {
			continue
		}
		s := known.of(b)
		s.ID = b.id(s.Title)
		v.Sections = append(v.Sections, s)
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

// figure makes a chart part of the page; false if it has nothing to show.
func (b *builder) figure(c chart.Chart, note string) (figure, bool) {
	if c.Empty() {
		return figure{}, false
	}
	c.ID = b.id("chart", c.Title)
	return figure{&c, note}, true
}

// lacks collects what files lack: files that lack the same are named together.
type lacks struct {
	order []string
	names map[string][]string
}

func (l *lacks) add(name, what string) {
	if l.names == nil {
		l.names = map[string][]string{}
	}
	if l.names[what] == nil {
		l.order = append(l.order, what)
	}
	l.names[what] = append(l.names[what], name)
}

func (l *lacks) sentences() (all []string) {
	for _, what := range l.order {
		all = append(all, strings.Join(l.names[what], ", ")+": "+what)
	}
	return all
}

// coarse is what files of before there were points lack.
const coarse = "only p50, p95, p99, p99.9 and the maximum of each latency; files of a newer firqbench have up to 26 points."

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
