// Package chart draws charts as SVG: lines or marks over one x axis, for a page
// that is read without a script and without the network.
//
// # What draws
//
// gonum.org/v1/plot does: scales, linear ticks, layout, grid, axes, lines, error
// bars and markers are its own, and its vg/vgsvg writes the SVG. Added here are the
// scale for quantiles, ticks of logarithmic axes that suit a phone, and a canvas
// around vgsvg's. That puts a group around each series, and the page's colours and
// font in the place of fixed ones, by replacing what vgsvg wrote: less code than a
// vg.Canvas that writes paths, arcs and text itself. vgsvg brings
// github.com/ajstarks/svgo, under CC BY 4.0; so does package plot, unless it is
// built with the tag minimal.
//
// # Colours
//
// A chart names no colour: each series has a slot, which becomes a class (s0, s1
// and so on), a dash and a marker. The page's style sheet gives the classes their
// colours, and has those of the rest as variables: --grid, --dim for axes and
// ticks, --ink for the names of the axes. So one picture serves a light and a dark
// theme. Series can be told apart without seeing colours.
package chart

import (
	"math"
	"slices"
	"strconv"
	"strings"
)

// Slots is how many styles there are. A series of slot Slots or more looks like
// that of slot mod Slots. The last style has no marker, so it is for lines.
const Slots = 11

// Chart is what to draw. The zero values of the fields make sense, but for ID
// and Title.
type Chart struct {
	ID    string // unique in the page; a letter, then letters, digits and dashes
	Title string
	About string // what it shows, for those who do not see it
	X, Y  Axis
	// Series share the axes. Those without a finite point are left out.
	Series []Series
}

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
}

// Series is one line, or one kind of mark.
type Series struct {
	Name   string
	Slot   int  // style: class, dash and marker
	Marks  bool // no line between the points
	Points []Point
}

// Point is a value. Points that are not finite, or that the scale of an axis
// cannot show (0 on a logarithmic one), are left out of chart and table.
type Point struct {
	X, Y float64
	// Lo and Hi are the range that the value, Y, comes from; equal: there is none.
	// Where y is a category it is the range of X.
	Lo, Hi float64
}

// shown returns the points that can be drawn, by x; where y is a category in
// the order given.
func (c *Chart) shown(s *Series) []Point {
	ps := slices.DeleteFunc(slices.Clone(s.Points), func(p Point) bool {
		return !c.X.Scale.takes(p.X) || !c.Y.Scale.takes(p.Y)
	})
	for i := range ps { // a range that cannot be shown is none
		p, scale := &ps[i], c.Y.Scale
		if c.Y.Names != nil {
			scale = c.X.Scale
		}
		if !(p.Lo < p.Hi) || !scale.takes(p.Lo) || !scale.takes(p.Hi) {
			p.Lo, p.Hi = 0, 0
		}
	}
	if c.Y.Names == nil {
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

// Cell is a value of a table: exactly, and as people read it. Text is empty
// where there is none.
type Cell struct {
	Value float64
	Text  string
	Range string // "" where Point has none
}

// Exact writes the value for machines.
func (c Cell) Exact() string { return strconv.FormatFloat(c.Value, 'f', -1, 64) }

// Row is a line of a table: a value of the axis that the rows go by, and one
// cell per visible series.
type Row struct {
	Head  Cell
	Cells []Cell
}

// Table returns the numbers that the chart draws, no others: a row for each x
// (or for each category), a cell for each visible series.
func (c *Chart) Table() (rows []Row) {
	key, value := func(p Point) float64 { return p.X }, func(p Point) float64 { return p.Y }
	head, body := &c.X, &c.Y
	if c.Y.Names != nil {
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

// HeadLabel is what the first column of Table holds, and BodyLabel what the
// others do.
func (c *Chart) HeadLabel() string {
	if c.Y.Names != nil {
		return c.Y.Label
	}
	return c.X.Label
}

// BodyLabel is what the columns of Table but the first one hold.
func (c *Chart) BodyLabel() string {
	if c.Y.Names != nil {
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
