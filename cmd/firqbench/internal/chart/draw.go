package chart

import (
	"fmt"
	"html"
	"image/color"
	"math"
	"strings"

	"gonum.org/v1/plot"
	"gonum.org/v1/plot/font"
	"gonum.org/v1/plot/plotter"
	"gonum.org/v1/plot/vg"
	"gonum.org/v1/plot/vg/draw"
)

// Measures in units of the picture. It is as wide as a phone, so that what is
// written stays readable there; a wider screen shows several side by side.
const (
	width     = 360
	height    = 250
	rowHeight = 22 // of a category, at least
	fontSize  = 11
	margin    = 19 // for the name of an axis
	lower     = 3  // what is written below the x axis, so that it does not touch what is left of the y axis
	edge      = 6  // for markers that are at the ends of the axes
	gap       = 5  // between labels, at least
	few       = 12 // a line with the given number of points has a marker on each; longer ones have some
)

// SVG returns the picture, "" if there is nothing to draw. What it shares with other
// charts is in defs.
func (c *Chart) SVG(defs *Defs) string {
	series := c.Visible()
	if len(series) == 0 {
		return ""
	}
	h := vg.Length(height)
	if c.Y.Names != nil {
		h = 58 + vg.Length(rowsOf(len(series))*float64(len(c.Y.Names)))
	}
	to := newCanvas(width, h)
	var b strings.Builder
	area := c.frame(to, series)
	fmt.Fprintf(&b, `<svg class="chart" role="img" aria-labelledby="%s-t %s-d" viewBox="0 0 %d %s"><title id="%s-t">%s</title><desc id="%s-d">%s</desc><use href="#%s"/>`,
		c.ID, c.ID, width, number(h.Points()), c.ID, html.EscapeString(c.Title), c.ID, html.EscapeString(c.describe()), defs.frame(to.svg()))
	for i := range series {
		d := drawing{Chart: c, area: area, defs: defs, series: &series[i], index: i, of: len(series)}
		d.write(&b)
	}
	b.WriteString("</svg>")
	return b.String()
}

// lane is how high a series is within a category: markers of two lanes hardly touch, unless
// there are too many: a chart of many categories would not fit on a sheet of paper.
func lane(series int) float64 { return max(6, min(8, 32/float64(series))) }

// rowsOf is how high a category is: each series has its own lane.
func rowsOf(series int) float64 { return max(rowHeight, lane(series)*float64(series)+6) }

func (c *Chart) describe() string {
	return strings.TrimSpace(fmt.Sprintf("%s Across: %s. Up: %s.", c.About, c.X.Label, c.Y.Label))
}

// area is where the axes are, and how values become places from the top left corner on.
type area struct {
	vg.Rectangle
	x, y   func(float64) float64
	bottom float64
	right  float64
}

// frame draws what is not a series: grid, axes, ticks and names.
func (c *Chart) frame(to *canvas, series []Series) area {
	p := plot.New()
	c.X.setUp(&p.X, series, func(p Point) float64 { return p.X }, c.across())
	c.Y.setUp(&p.Y, series, func(p Point) float64 { return p.Y }, !c.across())
	p.BackgroundColor = nil
	p.X.Tick.Label.YAlign -= draw.YAlignment(lower / p.X.Tick.Label.Height("0"))
	name := p.Y.Label.TextStyle
	name.Font, name.Color = face, ink
	left := vg.Length(margin)
	if c.Y.Names != nil {
		left = 2 // the names say what they are
	}
	whole := draw.Crop(draw.New(to), left, -edge, margin, -edge)
	room := p.DataCanvas(whole).Size()
	apart(&p.X, room.X, p.X.Tick.Label.Width)
	if c.Y.Names == nil {
		apart(&p.Y, room.Y, func(string) vg.Length { return fontSize })
	}
	data := p.DataCanvas(whole)
	(&plotter.Grid{Vertical: line(grid), Horizontal: line(grid)}).Plot(data, p) // below the axes
	p.Draw(whole)

	trX, trY := p.Transforms(&data)
	a := area{
		Rectangle: data.Rectangle,
		x:         func(v float64) float64 { return trX(v).Points() }, y: func(v float64) float64 { return (to.h - trY(v)).Points() },
		bottom: (to.h - data.Min.Y).Points(), right: data.Max.X.Points(),
	}
	to.SetColor(ink)
	for _, v := range c.X.Lines {
		if v >= p.X.Min && v <= p.X.Max {
			to.Stroke(vg.Path{{Type: vg.MoveComp, Pos: vg.Point{X: trX(v), Y: data.Min.Y}}, {Type: vg.LineComp, Pos: vg.Point{X: trX(v), Y: data.Max.Y}}})
		}
	}
	// Not plot.Axis.Label: on a logarithmic axis the library keeps room for it
	// where it is not.
	to.room = data.Size().X
	named := draw.New(to)
	named.FillText(name, vg.Point{X: data.Center().X, Y: 4}, c.X.Label)
	if c.Y.Names == nil {
		to.room = data.Size().Y
		to.upright(font.DefaultCache.Lookup(face, fontSize), vg.Point{X: 12, Y: data.Center().Y}, c.Y.Label)
	}
	return a
}

var face = font.Font{Typeface: "Liberation", Variant: "Sans", Size: fontSize}

func line(c color.Color) draw.LineStyle { return draw.LineStyle{Color: c, Width: 1} }

// setUp makes an axis of the library of a; value returns what points have on it,
// and ranged says that their ranges are on it.
func (a *Axis) setUp(to *plot.Axis, series []Series, value func(Point) float64, ranged bool) {
	to.Min, to.Max = a.bounds(extent(series, value, ranged))
	to.Scale = a.normalizer()
	to.Tick.Marker = plot.ConstantTicks(a.ticks(to.Min, to.Max))
	to.Padding = 0
	to.LineStyle = line(dim)
	to.Tick.LineStyle, to.Tick.Length = to.LineStyle, 4
	to.Tick.Label.Color, to.Tick.Label.Font = dim, face
}

// apart takes away the labels that would lie on others on an axis of the given
// length. size returns what a label takes up of it.
func apart(a *plot.Axis, length vg.Length, size func(string) vg.Length) {
	ticks := a.Tick.Marker.Ticks(a.Min, a.Max)
	free := vg.Length(math.Inf(-1))
	for i, t := range ticks {
		if t.IsMinor() {
			continue
		}
		middle, half := vg.Length(a.Norm(t.Value))*length, size(t.Label)/2
		if middle-half < free {
			ticks[i].Label = ""
			continue
		}
		free = middle + half + gap
	}
}
