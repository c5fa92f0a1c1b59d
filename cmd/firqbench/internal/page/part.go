package page

import (
	"html/template"
	"slices"

	"github.com/firq-go/firq/cmd/firqbench/internal/chart"
)

// part is some charts that belong together. They have one legend, and one table of their
// numbers.
type part struct {
	ID, Title string
	Text      []string
	Figures   []figure
	defs      *chart.Defs
}

// figure is a chart, its picture, and a note under it.
type figure struct {
	*chart.Chart
	Note    string
	Picture template.HTML
}

// add makes a chart part of p, unless it has nothing to show, or there is no room for it.
func (p *part) add(b *builder, c chart.Chart, note string) {
	if c.Empty() {
		return
	}
	if b.full(&c) {
		return
	}
	c.ID = b.id("chart", c.Title)
	before := b.defs.Len()
	picture := c.SVG(&b.defs)
	b.room -= len(picture) + b.defs.Len() - before + tableSize(&c)
	p.Figures = append(p.Figures, figure{&c, note, template.HTML(picture)}) //nolint:gosec // it escapes all text itself
}

// done returns p, ready for the page.
func (p part) done(b *builder, section string) part {
	p.ID, p.defs = b.id(section, p.Title), &b.defs
	return p
}

// key is an entry of a legend.
type key struct {
	Name   string
	Swatch template.HTML
}

// columns returns all series of the part, each name once. A series that is a line in any chart is a line
// here, else it is marks.
func (p part) columns() (all []chart.Series) {
	for _, f := range p.Figures {
		for _, s := range f.Visible() {
			at := slices.IndexFunc(all, func(other chart.Series) bool { return other.Name == s.Name })
			if at < 0 {
				all = append(all, s)
			} else {
				all[at].Marks = all[at].Marks && s.Marks
			}
		}
	}
	return all
}

// Legend returns its entries in the order of the table's columns.
func (p part) Legend() (keys []key) {
	for _, s := range p.columns() {
		keys = append(keys, key{s.Name, template.HTML(p.defs.Swatch(s.Slot, s.Marks))}) //nolint:gosec // made of numbers
	}
	return keys
}

// numbers are those of one chart, as a part of the table: a cell for each column, empty
// where the chart has no such series.
type numbers struct {
	Title, Head, Body string
	Columns           int
	Rows              []chart.Row
}

// Numbers returns the table's parts.
func (p part) Numbers() (all []numbers) {
	columns := p.columns()
	for _, f := range p.Figures {
		n := numbers{Title: f.Title, Head: f.HeadLabel(), Body: f.BodyLabel(), Columns: len(columns) + 1}
		visible := f.Visible()
		for _, r := range f.Table() {
			row := chart.Row{Head: r.Head, Cells: make([]chart.Cell, len(columns))}
			for i, s := range columns {
				if at := slices.IndexFunc(visible, func(v chart.Series) bool { return v.Name == s.Name }); at >= 0 {
					row.Cells[i] = r.Cells[at]
				}
				if f.Across {
					row.Cells[i].Range = "" // bands show it: with them the table would be twice as large
				}
			}
			n.Rows = append(n.Rows, row)
		}
		all = append(all, n)
	}
	return all
}
