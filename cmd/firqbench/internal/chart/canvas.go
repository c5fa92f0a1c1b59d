package chart

import (
	"fmt"
	"html"
	"image"
	"image/color"
	"strconv"
	"strings"

	"gonum.org/v1/plot/font"
	"gonum.org/v1/plot/vg"
)

// pen is a colour that the library draws a frame with. It stands for a variable of the
// page's style sheet.
type pen struct {
	color.Gray
	css string
}

var (
	grid = pen{color.Gray{1}, "var(--grid)"}
	dim  = pen{color.Gray{2}, "var(--dim)"} // axes, and what is written at ticks
	ink  = pen{color.Gray{3}, "var(--ink)"}
)

// canvas is a vg.Canvas that keeps what a frame is made of, lines and level text, in a
// few elements: a path per pen for all lines, and a text each. Frames are half of a page
// where each line is an element, which is how vgsvg writes them.
type canvas struct {
	w, h  vg.Length
	pen   pen
	room  vg.Length // texts that are wider are squeezed; 0: none is
	pens  []pen     // in the order in which they were first used
	lines map[pen]*strings.Builder
	texts map[pen]*strings.Builder
}

func newCanvas(w, h vg.Length) *canvas {
	return &canvas{w: w, h: h, lines: map[pen]*strings.Builder{}, texts: map[pen]*strings.Builder{}}
}

// Size implements vg.CanvasSizer.
func (c *canvas) Size() (x, y vg.Length) { return c.w, c.h }

// SetColor implements vg.Canvas. The library sets black at first, and draws nothing with it.
func (c *canvas) SetColor(to color.Color) {
	if p, ok := to.(pen); ok {
		c.pen = p
	}
}

// A frame has one width of lines, no dashes, and nothing that is turned, filled or scaled.

// SetLineWidth implements vg.Canvas.
func (c *canvas) SetLineWidth(vg.Length) {}

// SetLineDash implements vg.Canvas.
func (c *canvas) SetLineDash([]vg.Length, vg.Length) {}

// Push implements vg.Canvas.
func (c *canvas) Push() {}

// Pop implements vg.Canvas.
func (c *canvas) Pop() {}

// Rotate implements vg.Canvas.
func (c *canvas) Rotate(float64) { panic("chart: a frame has nothing that is turned") }

// Translate implements vg.Canvas.
func (c *canvas) Translate(vg.Point) { panic("chart: a frame has nothing that is moved") }

// Scale implements vg.Canvas.
func (c *canvas) Scale(float64, float64) { panic("chart: a frame has nothing that is scaled") }

// Fill implements vg.Canvas.
func (c *canvas) Fill(vg.Path) { panic("chart: a frame has no areas") }

// DrawImage implements vg.Canvas.
func (c *canvas) DrawImage(vg.Rectangle, image.Image) { panic("chart: a frame has no images") }

func (c *canvas) of(all map[pen]*strings.Builder) *strings.Builder {
	if c.lines[c.pen] == nil {
		c.pens = append(c.pens, c.pen)
		c.lines[c.pen], c.texts[c.pen] = &strings.Builder{}, &strings.Builder{}
	}
	return all[c.pen]
}

// Stroke implements vg.Canvas.
func (c *canvas) Stroke(path vg.Path) {
	to := c.of(c.lines)
	for _, p := range path {
		switch p.Type {
		case vg.MoveComp:
			to.WriteString("M" + c.at(p.Pos))
		case vg.LineComp:
			to.WriteString("L" + c.at(p.Pos))
		default:
			panic("chart: a frame has straight lines only")
		}
	}
}

// FillString implements vg.Canvas. The browser makes each text as wide as it was measured,
// whatever font it has for it.
func (c *canvas) FillString(f font.Face, at vg.Point, text string) {
	w := f.Width(text)
	if c.room > 0 && w > c.room {
		at.X += (w - c.room) / 2
		w = c.room
	}
	c.text(fmt.Sprintf(`x="%s" y="%s"`, number(at.X.Points()), number((c.h-at.Y).Points())), w, text)
}

func (c *canvas) text(where string, w vg.Length, text string) {
	fmt.Fprintf(c.of(c.texts), `<text textLength="%s" lengthAdjust="spacingAndGlyphs" %s>%s</text>`, number(w.Points()), where, html.EscapeString(text))
}

// upright writes a text around its middle from below to above.
func (c *canvas) upright(f font.Face, middle vg.Point, text string) {
	w := f.Width(text)
	if c.room > 0 {
		w = min(w, c.room)
	}
	c.text(fmt.Sprintf(`transform="rotate(-90)" x="%s" y="%s"`, number((middle.Y-c.h-w/2).Points()), number(middle.X.Points())), w, text)
}

// at writes a place from the top left corner on. The library's origin is at the bottom.
func (c *canvas) at(p vg.Point) string {
	return number(p.X.Points()) + "," + number((c.h - p.Y).Points())
}

// number has one decimal: a tenth of a unit is less than a pixel wherever a chart is shown.
func number(v float64) string {
	s := strings.TrimSuffix(strconv.FormatFloat(v, 'f', 1, 64), ".0")
	if s == "-0" {
		return "0"
	}
	return s
}

// svg returns all that was drawn, lines below the texts.
func (c *canvas) svg() string {
	var b strings.Builder
	for _, p := range c.pens {
		if d := c.lines[p].String(); d != "" {
			fmt.Fprintf(&b, `<path style="fill:none;stroke:%s" d="%s"/>`, p.css, d)
		}
	}
	for _, p := range c.pens {
		if texts := c.texts[p].String(); texts != "" {
			fmt.Fprintf(&b, `<g font-size="%d" style="fill:%s">%s</g>`, fontSize, p.css, texts)
		}
	}
	return b.String()
}
