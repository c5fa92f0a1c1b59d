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
	rowHeight = 22 // of a category
	fontSize  = 11
	margin    = 19 // for the name of an axis
	lower     = 3  // what is written below the x axis, so that it does not touch what is left of the y axis
	edge      = 6  // for markers that are at the ends of the axes
	gap       = 5  // between labels, at least
	markers   = 12 // of a long line; a short one has one per point
)

// SVG returns the picture, "" if there is nothing to draw.
func (c *Chart) SVG() string {
	series := c.Visible()
	if len(series) == 0 {
		return ""
	}
	h := vg.Length(height)
	if c.Y.Names != nil {
		h = 58 + rowHeight*vg.Length(len(c.Y.Names))
	}
	to := newCanvas(width, h)
	c.draw(to, series)
	return to.svg(fmt.Sprintf(`class="chart" role="img" aria-labelledby="%s-t %s-d"`, c.ID, c.ID),
		fmt.Sprintf(`<title id="%s-t">%s</title><desc id="%s-d">%s</desc>`, c.ID, html.EscapeString(c.Title), c.ID, html.EscapeString(c.describe(series))))
}

func (c *Chart) describe(series []Series) string {
	var names []string
	for _, s := range series {
		names = append(names, s.Name)
	}
	return strings.TrimSpace(fmt.Sprintf("%s Across: %s. Up: %s. Series: %s. The table below has the numbers.",
		c.About, c.X.Label, c.Y.Label, strings.Join(names, ", ")))
}

// draw draws the chart and returns where its axes are.
func (c *Chart) draw(to *canvas, series []Series) vg.Rectangle {
	p := plot.New()
	c.X.setUp(&p.X, series, func(p Point) float64 { return p.X }, c.Y.Names != nil)
	c.Y.setUp(&p.Y, series, func(p Point) float64 { return p.Y }, c.Y.Names == nil)
	p.BackgroundColor = nil
	for _, s := range series {
		p.Add(newDrawing(c, to, s))
	}

	p.X.Tick.Label.YAlign -= draw.YAlignment(lower / p.X.Tick.Label.Height("0"))
	name := p.Y.Label.TextStyle
	name.Font, name.Color = face, ink
	left := vg.Length(margin)
	if c.Y.Names != nil {
		left = 2 // the names say what they are
	}
	area := draw.Crop(draw.New(to), left, -edge, margin, -edge)
	room := p.DataCanvas(area).Size()
	apart(&p.X, room.X, p.X.Tick.Label.Width)
	if c.Y.Names == nil {
		apart(&p.Y, room.Y, func(string) vg.Length { return fontSize })
	}

	data := p.DataCanvas(area)
	(&plotter.Grid{Vertical: line(grid, 1), Horizontal: line(grid, 1)}).Plot(data, p) // below the axes
	p.Draw(area)

	// Not plot.Axis.Label: on a logarithmic axis the library keeps room for it
	// where it is not.
	whole := draw.New(to)
	to.room = data.Size().X
	whole.FillText(name, vg.Point{X: data.Center().X, Y: 4}, c.X.Label)
	if c.Y.Names == nil {
		to.room = data.Size().Y
		name.Rotation = math.Pi / 2
		whole.FillText(name, vg.Point{X: 12, Y: data.Center().Y}, c.Y.Label)
	}
	return data.Rectangle
}

var face = font.Font{Typeface: "Liberation", Variant: "Sans", Size: fontSize}

func line(c color.Color, width vg.Length, dashes ...vg.Length) draw.LineStyle {
	return draw.LineStyle{Color: c, Width: width, Dashes: dashes}
}

// setUp makes an axis of the library of a; value returns what points have on it,
// and ranged says that their ranges are on it.
func (a *Axis) setUp(to *plot.Axis, series []Series, value func(Point) float64, ranged bool) {
	to.Min, to.Max = a.bounds(extent(series, value, ranged))
	to.Scale = a.normalizer()
	to.Tick.Marker = plot.ConstantTicks(a.ticks(to.Min, to.Max))
	to.Padding = 0
	to.LineStyle = line(dim, 1)
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

// drawing is a series as the library draws it: in a group of its own.
type drawing struct {
	to     *canvas
	series Series
	style  style
	title  func(Point) string // of a mark
	line   plotter.Line       // without points where there are marks alone
	marks  []Point
	bars   plot.Plotter // the ranges; nil: there is none
}

func newDrawing(c *Chart, to *canvas, s Series) *drawing {
	d := &drawing{to: to, series: s, style: styles[s.Slot%Slots]}
	d.title = func(p Point) string { return s.Name + ": " + c.X.format(p.X) + ", " + c.Y.format(p.Y) }
	if !s.Marks && len(s.Points) > 1 {
		d.line = plotter.Line{XYs: xys(s.Points), LineStyle: d.style.line}
	}
	every := 1
	if !s.Marks && len(s.Points) > markers {
		every = (len(s.Points) + markers - 1) / markers
	}
	var ranged []Point
	for i, p := range s.Points {
		// Markers of lines that lie on each other are in different places.
		if i%every == s.Slot%every || i == len(s.Points)-1 {
			d.marks = append(d.marks, p)
		}
		if p.Lo < p.Hi {
			ranged = append(ranged, p)
		}
	}
	if len(ranged) > 0 {
		d.bars = c.bars(ranged)
	}
	return d
}

// bars draws the ranges of points. Both ends are given from Lo on: the library
// subtracts and adds, and Y-(Y-Lo) may be 0, which is not on a logarithmic axis.
func (c *Chart) bars(ranged []Point) plot.Plotter {
	at, errs := xys(ranged), make(plotter.Errors, len(ranged))
	for i, p := range ranged {
		errs[i].High = p.Hi - p.Lo
		if c.Y.Names != nil {
			at[i].X = p.Lo
		} else {
			at[i].Y = p.Lo
		}
	}
	if c.Y.Names != nil {
		return &plotter.XErrorBars{XYs: at, XErrors: plotter.XErrors(errs), LineStyle: line(own, 1.2), CapWidth: 4}
	}
	return &plotter.YErrorBars{XYs: at, YErrors: plotter.YErrors(errs), LineStyle: line(own, 1.2), CapWidth: 4}
}

func xys(ps []Point) plotter.XYs {
	all := make(plotter.XYs, len(ps))
	for i, p := range ps {
		all[i] = plotter.XY{X: p.X, Y: p.Y}
	}
	return all
}

// Plot implements plot.Plotter.
func (d *drawing) Plot(c draw.Canvas, p *plot.Plot) {
	name := html.EscapeString(d.series.Name)
	d.to.tag(fmt.Sprintf(`<g class="series s%d" data-series="%s"><title>%s</title>`, d.series.Slot%Slots, name, name))
	if len(d.line.XYs) > 0 {
		d.group("line", "", &d.line, c, p)
	}
	if d.bars != nil {
		d.group("range", "", d.bars, c, p)
	}
	for _, m := range d.marks {
		title := "<title>" + html.EscapeString(d.title(m)) + "</title>"
		d.group("mark", title, &plotter.Scatter{XYs: xys([]Point{m}), GlyphStyle: d.style.mark}, c, p)
	}
	d.to.tag(`</g>`)
}

// group draws into a group of a class.
func (d *drawing) group(class, title string, what plot.Plotter, c draw.Canvas, p *plot.Plot) {
	d.to.tag(`<g class="` + class + `">` + title)
	what.Plot(c, p)
	d.to.tag(`</g>`)
}

// style is what a slot looks like, but for the colour.
type style struct {
	line draw.LineStyle
	mark draw.GlyphStyle
}

func look(shape draw.GlyphDrawer, radius vg.Length, dashes ...vg.Length) style {
	return style{line(own, 1.8, dashes...), draw.GlyphStyle{Color: own, Radius: radius, Shape: shape}}
}

var styles = [Slots]style{
	look(draw.CircleGlyph{}, 3.4),
	look(draw.BoxGlyph{}, 3.6, 7, 3),
	look(draw.PyramidGlyph{}, 3.4, 2, 3),
	look(draw.CrossGlyph{}, 4.4, 8, 3, 2, 3),
	look(draw.RingGlyph{}, 3.2, 5, 2, 1, 2, 1, 2),
	look(draw.SquareGlyph{}, 3.6, 4, 4),
	look(draw.TriangleGlyph{}, 3.4, 12, 4),
	look(draw.PlusGlyph{}, 4, 10, 3, 2, 3, 2, 3),
	look(draw.CircleGlyph{}, 2, 3, 2),
	look(draw.SquareGlyph{}, 2.4, 6, 2, 2, 2),
	look(nil, 0, 1, 3), // for lines: it has no marks
}

// Swatch returns a small picture of a slot's line and marker, for a legend.
func Swatch(slot int, marks bool) string {
	to, s := newCanvas(28, 14), styles[slot%Slots]
	c := draw.New(to)
	to.tag(fmt.Sprintf(`<g class="s%d">`, slot%Slots))
	if !marks {
		c.StrokeLine2(s.line, 1, 7, 27, 7)
	}
	c.DrawGlyph(s.mark, c.Center())
	to.tag(`</g>`)
	return to.svg(`class="swatch" aria-hidden="true"`, "")
}
