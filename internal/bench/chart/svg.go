package chart

import (
	"fmt"
	"html"
	"strconv"
	"strings"
)

// Measures in units of the picture. It is as wide as a phone, so that what is
// written stays readable there; a wider screen shows several side by side.
const (
	width     = 360.0
	height    = 250.0
	rowHeight = 22.0 // of a category
	perChar   = 6.8  // of the ticks' letters, at most
	markers   = 12   // of a long line; a short one has one per point
)

// layout is where things are.
type layout struct {
	c              *Chart
	series         []Series
	x, y           span
	top, bottom    float64
	left, right    float64
	width, height  float64
	xTicks, yTicks []float64
}

func (c *Chart) layout() layout {
	l := layout{c: c, series: c.Visible(), width: width, height: height, top: 10, right: width - 14}
	if c.Y.Names != nil {
		l.height = l.top + 46 + rowHeight*float64(len(c.Y.Names))
	}
	lo, hi := c.Y.bounds(extent(l.series, func(p Point) float64 { return p.Y }, c.Y.Names == nil))
	l.yTicks = c.Y.ticks(lo, hi)
	widest := 0
	for _, t := range l.yTicks {
		widest = max(widest, len([]rune(c.Y.format(t))))
	}
	l.left = 10 + perChar*float64(widest)
	if c.Y.Names == nil {
		l.left += 16 // for the label
	}
	l.bottom = l.height - 40
	l.y = span{c.Y.Scale, lo, hi, l.bottom, l.top}
	if c.Y.Names != nil { // the first one is on top
		l.y.from, l.y.to = l.top, l.bottom
	}
	lo, hi = c.X.bounds(extent(l.series, func(p Point) float64 { return p.X }, c.Y.Names != nil))
	l.xTicks = c.X.ticks(lo, hi)
	l.x = span{c.X.Scale, lo, hi, l.left, l.right}
	return l
}

// SVG returns the picture, "" if there is nothing to draw.
func (c *Chart) SVG() string {
	if c.Empty() {
		return ""
	}
	l := c.layout()
	var b strings.Builder
	fmt.Fprintf(&b, `<svg class="chart" viewBox="0 0 %s %s" role="img" aria-labelledby="%s-t %s-d">`, num(l.width), num(l.height), c.ID, c.ID)
	fmt.Fprintf(&b, `<title id="%s-t">%s</title><desc id="%s-d">%s</desc>`, c.ID, html.EscapeString(c.Title), c.ID, html.EscapeString(c.describe(l.series)))
	l.axes(&b)
	for _, s := range l.series {
		l.draw(&b, &s)
	}
	b.WriteString(`</svg>`)
	return b.String()
}

func (c *Chart) describe(series []Series) string {
	var names []string
	for _, s := range series {
		names = append(names, s.Name)
	}
	return strings.TrimSpace(fmt.Sprintf("%s Across: %s. Up: %s. Series: %s. The table below has the numbers.",
		c.About, c.X.Label, c.Y.Label, strings.Join(names, ", ")))
}

func (l *layout) axes(b *strings.Builder) {
	text := func(class string, x, y float64, more, s string) {
		fmt.Fprintf(b, `<text class="%s" x="%s" y="%s"%s>%s</text>`, class, num(x), num(y), more, html.EscapeString(s))
	}
	line := func(class string, x1, y1, x2, y2 float64) {
		fmt.Fprintf(b, `<line class="%s" x1="%s" y1="%s" x2="%s" y2="%s"/>`, class, num(x1), num(y1), num(x2), num(y2))
	}
	for _, t := range l.yTicks {
		y := l.y.at(t)
		line("grid", l.left, y, l.right, y)
		text("ytick", l.left-5, y+4, "", l.c.Y.format(t))
	}
	free := -1e9 // where the last label ends
	for _, t := range l.xTicks {
		x, s := l.x.at(t), l.c.X.format(t)
		half := perChar * float64(len([]rune(s))) / 2
		line("grid", x, l.top, x, l.bottom)
		// Inside of the picture, and not over its neighbour.
		at := min(max(x, half+1), l.width-half-1)
		if at-half >= free {
			text("xtick", at, l.bottom+15, "", s)
			free = at + half + 5
		}
	}
	line("axis", l.left, l.bottom, l.right, l.bottom)
	line("axis", l.left, l.top, l.left, l.bottom)
	text("label", (l.left+l.right)/2, l.height-8, l.fit(l.c.X.Label, l.right-l.left), l.c.X.Label)
	if l.c.Y.Names == nil {
		middle := (l.top + l.bottom) / 2
		turned := fmt.Sprintf(` transform="rotate(-90 12 %s)"%s`, num(middle), l.fit(l.c.Y.Label, l.bottom-l.top))
		text("label", 12, middle, turned, l.c.Y.Label)
	}
}

// fit squeezes a label that would be longer than its axis.
func (l *layout) fit(label string, room float64) string {
	if perChar*float64(len([]rune(label))) <= room {
		return ""
	}
	return fmt.Sprintf(` textLength="%s" lengthAdjust="spacingAndGlyphs"`, num(room))
}

// draw draws a series: a line, and marks that say what they stand for.
func (l *layout) draw(b *strings.Builder, s *Series) {
	fmt.Fprintf(b, `<g class="series s%d" data-series="%s"><title>%s</title>`, s.Slot%Slots, html.EscapeString(s.Name), html.EscapeString(s.Name))
	if !s.Marks && len(s.Points) > 1 {
		b.WriteString(`<path class="line" d="`)
		for i, p := range s.Points {
			b.WriteByte("ML"[min(i, 1)])
			b.WriteString(num(l.x.at(p.X)) + " " + num(l.y.at(p.Y)))
		}
		b.WriteString(`"/>`)
	}
	l.ranges(b, s)
	every := 1
	if !s.Marks && len(s.Points) > markers {
		every = (len(s.Points) + markers - 1) / markers
	}
	for i, p := range s.Points {
		// Markers of lines that lie on each other are in different places.
		if i%every != s.Slot%every && i != len(s.Points)-1 {
			continue
		}
		fmt.Fprintf(b, `<path class="mark" d="M%s %s%s"><title>%s: %s, %s</title></path>`, num(l.x.at(p.X)), num(l.y.at(p.Y)),
			shapes[s.Slot%Slots], html.EscapeString(s.Name), html.EscapeString(l.c.X.format(p.X)), html.EscapeString(l.c.Y.format(p.Y)))
	}
	b.WriteString(`</g>`)
}

// ranges draws where the values of a series come from.
func (l *layout) ranges(b *strings.Builder, s *Series) {
	for _, p := range s.Points {
		switch {
		case !(p.Lo < p.Hi):
		case l.c.Y.Names != nil:
			fmt.Fprintf(b, `<path class="range" d="M%s %sH%s"/>`, num(l.x.at(p.Lo)), num(l.y.at(p.Y)), num(l.x.at(p.Hi)))
		default:
			fmt.Fprintf(b, `<path class="range" d="M%s %sV%s"/>`, num(l.x.at(p.X)), num(l.y.at(p.Lo)), num(l.y.at(p.Hi)))
		}
	}
}

// shapes are the markers by slot, drawn from their middle.
var shapes = [Slots]string{
	"m-3.5 0a3.5 3.5 0 1 0 7 0a3.5 3.5 0 1 0 -7 0z",              // disc
	"m-3.2 -3.2h6.4v6.4h-6.4z",                                   // square
	"m0 -4.2l4 7h-8z",                                            // triangle
	"m0 -4.4l4.4 4.4l-4.4 4.4l-4.4 -4.4z",                        // diamond
	"m0 4.2l4 -7h-8z",                                            // triangle, down
	"m-1.2 -4h2.4v2.8h2.8v2.4h-2.8v2.8h-2.4v-2.8h-2.8v-2.4h2.8z", // plus
	"m-4 -2l4 -2.5l4 2.5l-1.6 5h-4.8z",                           // pentagon
	"m-4.2 0l4.2 -2l4.2 2l-4.2 2z",                               // flat diamond
	"m-2 -4h4v8h-4z",                                             // bar, up
	"m-4 -1.6h8v3.2h-8z",                                         // bar, across
}

// Swatch returns a small picture of a slot's line and marker, for a legend.
func Swatch(slot int, marks bool) string {
	line := `<path class="line" d="M1 7L27 7"/>`
	if marks {
		line = ""
	}
	return fmt.Sprintf(`<svg class="swatch" viewBox="0 0 28 14" aria-hidden="true"><g class="s%d">%s<path class="mark" d="M14 7%s"/></g></svg>`,
		slot%Slots, line, shapes[slot%Slots])
}

// num writes a place in the picture.
func num(v float64) string {
	s := strconv.FormatFloat(v, 'f', 2, 64)
	s = strings.TrimRight(strings.TrimRight(s, "0"), ".")
	if s == "-0" {
		return "0"
	}
	return s
}
