package chart

import (
	"fmt"
	"html"
	"math"
	"strings"
)

// drawing is one series in a picture. Series are written as they are: the library would
// write a style with each piece, and can neither refer to a marker nor draw a band.
type drawing struct {
	*Chart
	area
	defs      *Defs
	series    *Series
	index, of int // which of how many series it is
}

// place is where a point is. Series of a category lie one below the other.
func (d *drawing) place(x, y float64) (float64, float64) {
	py := d.y(y)
	if d.Y.Names != nil {
		py += lane(d.of) * (float64(d.index) - float64(d.of-1)/2)
	}
	return d.x(x), py
}

func (d *drawing) write(b *strings.Builder) {
	s := d.series
	name := html.EscapeString(s.Name)
	fmt.Fprintf(b, `<g class="series s%d"><title>%s</title>`, s.Slot%Slots, name)
	if s.Band {
		d.element(b, "band", d.band(), "")
	} else {
		d.element(b, "range", d.bars(), "")
	}
	if s.Span[0] < s.Span[1] {
		d.element(b, "span", d.span(), "")
	}
	if !s.Marks && len(s.Points) > 1 {
		d.element(b, "line", d.path(s.Points, func(p Point) (float64, float64) { return p.X, p.Y }), dashes(s.Slot))
	}
	every := 1
	if !s.Marks && len(s.Points) > few {
		every = len(s.Points)/3 + 1
	}
	for i, p := range s.Points {
		if i%every != s.Slot%every { // markers of lines that lie on each other are in different places
			continue
		}
		inside := ""
		if s.Marks {
			inside = "<title>" + html.EscapeString(s.Name+": "+d.X.format(p.X)+", "+d.Y.format(p.Y)) + "</title>"
		}
		x, y := d.place(p.X, p.Y)
		b.WriteString(d.defs.mark(s.Slot, x, y, inside))
	}
	b.WriteString("</g>")
}

func (d *drawing) element(b *strings.Builder, class, path, more string) {
	if path != "" {
		fmt.Fprintf(b, `<path class="%s" d="%s"%s/>`, class, path, more)
	}
}

// path is a line through what at returns of ps.
func (d *drawing) path(ps []Point, at func(Point) (x, y float64)) string {
	places := make([][2]float64, len(ps))
	for i, p := range ps {
		places[i][0], places[i][1] = d.place(at(p))
	}
	if len(places) > few {
		places = thinned(places)
	}
	var b strings.Builder
	for i, p := range places {
		if i == 0 {
			b.WriteByte('M')
		} else {
			b.WriteByte(' ')
		}
		b.WriteString(number(p[0]) + "," + number(p[1]))
	}
	return b.String()
}

// unseen is how far from a line a point may be that is left out of it: less than half of
// the line's width.
const unseen = 0.3

// thinned leaves out places that are not needed: those that are as good as on the line
// between the ones that stay (Douglas and Peucker, 1973).
func thinned(ps [][2]float64) [][2]float64 {
	if len(ps) < 3 {
		return ps
	}
	first, last := ps[0], ps[len(ps)-1]
	farthest, most := 0, unseen
	for i := 1; i < len(ps)-1; i++ {
		if far := distance(ps[i], first, last); far > most {
			farthest, most = i, far
		}
	}
	if farthest == 0 {
		return [][2]float64{first, last}
	}
	return append(thinned(ps[:farthest+1]), thinned(ps[farthest:])[1:]...)
}

// distance is how far p is from the nearest point between a and b.
func distance(p, a, b [2]float64) float64 {
	dx, dy := b[0]-a[0], b[1]-a[1]
	along := 0.0
	if d := dx*dx + dy*dy; d > 0 {
		along = min(1, max(0, ((p[0]-a[0])*dx+(p[1]-a[1])*dy)/d))
	}
	return math.Hypot(p[0]-a[0]-along*dx, p[1]-a[1]-along*dy)
}

// ends returns those of a point's range: the point itself where there is none.
func (d *drawing) ends(p Point) (lo, hi Point) {
	lo, hi = p, p
	switch {
	case !(p.Lo < p.Hi):
	case d.across():
		lo.X, hi.X = p.Lo, p.Hi
	default:
		lo.Y, hi.Y = p.Lo, p.Hi
	}
	return lo, hi
}

// band goes along the lower ends and back along the upper ones; "" without a range.
func (d *drawing) band() string {
	var there, back []Point
	ranged := false
	for _, p := range d.series.Points {
		lo, hi := d.ends(p)
		there, back = append(there, lo), append([]Point{hi}, back...)
		ranged = ranged || p.Lo < p.Hi
	}
	if !ranged {
		return ""
	}
	return d.path(append(there, back...), func(p Point) (float64, float64) { return p.X, p.Y }) + "Z"
}

// bars has a line for each range, with a small one across each end where nothing else
// shows the end.
func (d *drawing) bars() string {
	const half = 2 // of the line across an end
	var b strings.Builder
	for _, p := range d.series.Points {
		if !(p.Lo < p.Hi) {
			continue
		}
		lo, hi := d.ends(p)
		x1, y1 := d.place(lo.X, lo.Y)
		x2, y2 := d.place(hi.X, hi.Y)
		fmt.Fprintf(&b, "M%s,%sL%s,%s", number(x1), number(y1), number(x2), number(y2))
		for _, end := range [][2]float64{{x1, y1}, {x2, y2}} {
			if d.across() {
				fmt.Fprintf(&b, "M%s,%sv%d", number(end[0]), number(end[1]-half), 2*half)
			} else {
				fmt.Fprintf(&b, "M%s,%sh%d", number(end[0]-half), number(end[1]), 2*half)
			}
		}
	}
	return b.String()
}

// span is a bar just above the x axis, each series' above that of the last one.
func (d *drawing) span() string {
	y := d.bottom - 5 - 6*float64(d.index)
	return fmt.Sprintf("M%s,%sH%sM%s,%sv4M%s,%sv4", number(d.x(d.series.Span[0])), number(y), number(d.x(d.series.Span[1])),
		number(d.x(d.series.Span[0])), number(y-2), number(d.x(d.series.Span[1])), number(y-2))
}
