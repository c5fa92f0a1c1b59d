// Package chart draws charts as SVG: lines or marks over one x axis, for a page
// that is read without a script and without the network.
//
// # What draws
//
// gonum.org/v1/plot lays out a chart and draws its frame: scales, linear ticks, grid,
// axes and what is written at them, with its fonts. Added here are
// ticks of logarithmic axes that suit a phone, and a canvas that keeps the
// frame small. Series are written as SVG by this package. Frames and markers are written
// once for all charts of a page (Defs), which refer to them. Package plot brings
// github.com/ajstarks/svgo, under CC BY 4.0, unless it is built with the tag minimal.
//
// # Colours
//
// A chart names no colour: each series has a slot, which becomes a class (s0, s1
// and so on), a dash and a marker. The page's style sheet gives the classes their
// colours, says how line, band, range and span look, and has the colours of the rest as
// variables: --grid, --dim for axes and ticks, --ink for the names of the axes. So one
// picture serves a light and a dark theme, and paper. Series can be told apart without
// seeing colours.
package chart

import (
	"math"
	"slices"
	"strings"
)

// Chart is what to draw. The zero values of the fields make sense, but for ID
// and Title.
type Chart struct {
	ID    string // unique in the page; a letter, then letters, digits and dashes
	Title string
	About string // what it shows, for readers who do not see it
	X, Y  Axis
	// Across: the points go by y, and ranges are of x. So it is where y is a category.
	Across bool
	// Scatter: each series has one point, and both of its values matter alike: the table has
	// a row for each.
	Scatter bool
	// Rows are the values that the table has, in this order, of those that the points go by;
	// nil: all.
	Rows []float64
	// Series share the axes. Those without a finite point are left out.
	Series []Series
}

func (c *Chart) across() bool { return c.Across || c.Y.Names != nil }

// Axis is one of the two.
type Axis struct {
	Label string // with the unit
	Scale Scale
	// Format writes a value, in ticks and tables; nil: as %g does.
	Format func(float64) string
	// Ticks are where values are written; nil: chosen by the scale.
	Ticks []float64
	// Names, on the y axis, makes it one of categories: y is an index into it,
	// from the top.
	Names []string
	// FromZero makes a linear axis start at 0; Tight makes it end with the values,
	// not at the next round number.
	FromZero, Tight bool
	// Min and Max, if they differ, are what the axis shows at least (see Share).
	Min, Max float64
	// Lines, on the x axis, are values at which a line goes from below to above.
	Lines []float64
}

// Series is one line, or one kind of mark.
type Series struct {
	Name   string
	Slot   int  // style: class, dash and marker
	Marks  bool // no line between the points
	Band   bool // the ranges are an area; else each is a thin line
	Points []Point
	// Span, if its ends differ, is a bar from one x to another at the foot of the chart.
	Span [2]float64
}

// Point is a value. Points that are not finite, or that the scale of an axis
// cannot show (0 on a logarithmic one), are left out of chart and table.
type Point struct {
	X, Y float64
	// Lo and Hi are the range that the value, Y, comes from; equal: there is none.
	// With Chart.Across it is the range of X.
	Lo, Hi float64
}

// shown returns the points that can be drawn, by x; those that go by y in
// the order given.
func (c *Chart) shown(s *Series) []Point {
	ps := slices.DeleteFunc(slices.Clone(s.Points), func(p Point) bool {
		return !c.X.Scale.takes(p.X) || !c.Y.Scale.takes(p.Y)
	})
	for i := range ps { // a range that cannot be shown is none
		p, scale := &ps[i], c.Y.Scale
		if c.across() {
			scale = c.X.Scale
		}
		if !(p.Lo < p.Hi) || !scale.takes(p.Lo) || !scale.takes(p.Hi) {
			p.Lo, p.Hi = 0, 0
		}
	}
	if !c.across() {
		slices.SortStableFunc(ps, func(a, b Point) int {
			switch {
			case a.X < b.X:
				return -1
			case a.X > b.X:
				return 1
			}
			return 0
		})
	}
	return ps
}

// Visible returns the series that have points to show, with those points only.
func (c *Chart) Visible() (visible []Series) {
	for _, s := range c.Series {
		if s.Points = c.shown(&s); len(s.Points) > 0 {
			visible = append(visible, s)
		}
	}
	return visible
}

// Empty reports whether there is nothing to draw.
func (c *Chart) Empty() bool { return len(c.Visible()) == 0 }

func (a *Axis) format(v float64) string {
	if a.Names != nil {
		if i := int(v); i >= 0 && i < len(a.Names) {
			return a.Names[i]
		}
		return ""
	}
	if a.Format != nil {
		return a.Format(v)
	}
	return plain(v)
}

// Cell is a value of a table, and how people read it. Text is empty where there is
// none.
type Cell struct {
	Value float64
	Text  string
	Range string // "" where Point has none
}

// Row is a line of a table: a value of the axis that the rows go by, and one
// cell per visible series.
type Row struct {
	Head  Cell
	Cells []Cell
}

// Table returns numbers that the chart draws, no others: a row for each x (with Across
// for each y) that Rows has, a cell for each visible series.
func (c *Chart) Table() (rows []Row) {
	if c.Scatter {
		return c.scattered()
	}
	key, value := func(p Point) float64 { return p.X }, func(p Point) float64 { return p.Y }
	head, body := &c.X, &c.Y
	if c.across() {
		key, value, head, body = value, key, body, head
	}
	visible := c.Visible()
	var keys []float64
	for _, s := range visible {
		for _, p := range s.Points {
			keys = append(keys, key(p))
		}
	}
	slices.Sort(keys)
	keys = slices.Compact(keys)
	if c.Rows != nil {
		present := keys
		keys = slices.DeleteFunc(slices.Clone(c.Rows), func(k float64) bool { return !slices.Contains(present, k) })
	}
	for _, k := range keys {
		row := Row{Head: Cell{Value: k, Text: head.format(k)}, Cells: make([]Cell, len(visible))}
		for i, s := range visible {
			for _, p := range s.Points {
				if key(p) == k {
					row.Cells[i] = Cell{Value: value(p), Text: body.format(value(p))}
					if p.Lo < p.Hi {
						row.Cells[i].Range = body.format(p.Lo) + " to " + body.format(p.Hi)
					}
				}
			}
		}
		rows = append(rows, row)
	}
	return rows
}

// scattered is the table of Scatter.
func (c *Chart) scattered() []Row {
	x, y := Row{Head: Cell{Text: c.X.Label}}, Row{Head: Cell{Text: c.Y.Label}}
	for _, s := range c.Visible() {
		p := s.Points[0]
		x.Cells = append(x.Cells, Cell{Value: p.X, Text: c.X.format(p.X)})
		cell := Cell{Value: p.Y, Text: c.Y.format(p.Y)}
		if p.Lo < p.Hi {
			cell.Range = c.Y.format(p.Lo) + " to " + c.Y.format(p.Hi)
		}
		y.Cells = append(y.Cells, cell)
	}
	return []Row{x, y}
}

// HeadLabel is what the first column of Table holds, and BodyLabel what the
// others do.
func (c *Chart) HeadLabel() string {
	switch {
	case c.Scatter:
		return ""
	case c.across():
		return c.Y.Label
	}
	return c.X.Label
}

// BodyLabel is what the columns of Table but the first one hold.
func (c *Chart) BodyLabel() string {
	switch {
	case c.Scatter:
		return ""
	case c.across():
		return c.X.Label
	}
	return c.Y.Label
}

// extent returns the least and the greatest value on an axis; ranged says that
// the points' ranges are on it.
func extent(series []Series, value func(Point) float64, ranged bool) (lo, hi float64) {
	lo, hi = math.Inf(1), math.Inf(-1)
	for _, s := range series {
		for _, p := range s.Points {
			lo, hi = min(lo, value(p)), max(hi, value(p))
			if ranged && p.Lo < p.Hi {
				lo, hi = min(lo, p.Lo), max(hi, p.Hi)
			}
		}
	}
	return lo, hi
}

// Share makes charts show the same part of an axis where the axis has the same label, so
// that what is higher on one is higher than on the other.
func Share(charts ...*Chart) {
	type bounds struct{ lo, hi float64 }
	xs, ys := map[string]bounds{}, map[string]bounds{}
	widen := func(all map[string]bounds, label string, lo, hi float64) {
		if b, ok := all[label]; ok {
			lo, hi = min(lo, b.lo), max(hi, b.hi)
		}
		all[label] = bounds{lo, hi}
	}
	for _, c := range charts {
		if visible := c.Visible(); len(visible) > 0 {
			lo, hi := extent(visible, func(p Point) float64 { return p.X }, c.across())
			widen(xs, c.X.Label, lo, hi)
			lo, hi = extent(visible, func(p Point) float64 { return p.Y }, !c.across())
			widen(ys, c.Y.Label, lo, hi)
		}
	}
	for _, c := range charts {
		c.X.Min, c.X.Max = xs[c.X.Label].lo, xs[c.X.Label].hi
		c.Y.Min, c.Y.Max = ys[c.Y.Label].lo, ys[c.Y.Label].hi
	}
}

// Slug makes text fit for an ID.
func Slug(text string) string {
	var b strings.Builder
	for _, r := range strings.ToLower(text) {
		switch {
		case r >= 'a' && r <= 'z' || r >= '0' && r <= '9':
			b.WriteRune(r)
		case b.Len() > 0 && !strings.HasSuffix(b.String(), "-"):
			b.WriteByte('-')
		}
	}
	return strings.Trim(b.String(), "-")
}
