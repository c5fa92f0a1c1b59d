package chart

import (
	"math"
	"slices"
	"strings"
	"testing"
)

func values(name string, slot int, ys ...float64) Series {
	s := Series{Name: name, Slot: slot}
	for i, y := range ys {
		s.Points = append(s.Points, Point{X: float64(i), Y: y})
	}
	return s
}

// Charts that share axes draw the same value at the same place, and their frame is in the
// page once; axes with other labels stay as they are.
func TestShare(t *testing.T) {
	small := Chart{ID: "a", Title: "a", X: Axis{Label: "x"}, Y: Axis{Label: "y", Scale: Log}, Series: []Series{values("s", 0, 10, 20)}}
	large := Chart{ID: "b", Title: "b", X: Axis{Label: "x"}, Y: Axis{Label: "y", Scale: Log}, Series: []Series{values("s", 0, 1, 20, 5000)}}
	other := Chart{ID: "c", Title: "c", X: Axis{Label: "x"}, Y: Axis{Label: "z", Scale: Log}, Series: []Series{values("s", 0, 1e6, 1e7)}}
	empty := Chart{ID: "d", Title: "d", X: Axis{Label: "x"}, Y: Axis{Label: "y"}}
	if a, b := lines(t, picture(t, &small))["s"][1], lines(t, picture(t, &large))["s"][1]; a == b {
		t.Fatal("they are the same already")
	}
	Share(&small, &large, &other, &empty)
	if a, b := lines(t, picture(t, &small))["s"][1], lines(t, picture(t, &large))["s"][1]; a != b {
		t.Errorf("1, 20 is at %+v and at %+v", a, b)
	}
	if lo, hi := other.Y.bounds(1e6, 1e7); lo < 5e5 || hi > 2e7 {
		t.Errorf("an axis that is called otherwise goes from %v to %v", lo, hi)
	}
	var d Defs
	pictures := small.SVG(&d) + large.SVG(&d) + other.SVG(&d)
	if n := strings.Count(d.SVG(), `<g id="f`); n != 2 || strings.Count(pictures, `<use href="#f1"/>`) != 2 {
		t.Errorf("%d frames of three charts, of which two have the same", n)
	}
	if n := strings.Count(d.SVG(), `<g id="m`); n != 1 {
		t.Errorf("%d markers, one is used", n)
	}
}

// The series of a category lie apart, those of one category nearer to each other than to
// those of the next, and each range is where its mark is.
func TestLanes(t *testing.T) {
	c := Chart{ID: "c", Title: "c", X: Axis{Label: "x", Lines: []float64{0.1, 1, 99}}, Y: Axis{Label: "y", Names: []string{"a", "b"}}}
	const n = 4
	for i := range n {
		c.Series = append(c.Series, Series{Name: string(rune('k' + i)), Marks: true, Points: []Point{{X: 2, Y: 0, Lo: 1, Hi: 3}, {X: 2, Y: 1}}})
	}
	svg := picture(t, &c)
	at := marks(t, svg)
	bars := barsOf.FindAllStringSubmatch(svg, -1)
	if len(at) != 2*n || len(bars) != n {
		t.Fatalf("%d marks, %d ranges", len(at), len(bars))
	}
	for i := range n {
		if bar := places(t, bars[i][1]); bar[0].Y != at[2*i].Y {
			t.Errorf("the range of series %d is at %v, its mark at %v", i, bar[0].Y, at[2*i].Y)
		}
		if i > 0 && at[2*(i-1)].Y-at[2*i].Y < 7 {
			t.Errorf("series %d is at %v, the one above at %v", i, at[2*i].Y, at[2*(i-1)].Y)
		}
	}
	if within, between := at[0].Y-at[2].Y, at[2*(n-1)].Y-at[1].Y; between <= within {
		t.Errorf("%v between series, %v between categories", within, between)
	}
	// The line at 1 goes through where the ranges begin; 0.1 and 99 are not on the axis.
	down := strings.Split(strings.SplitAfter(svg, `stroke:var(--ink)" d="`)[1], `"`)[0]
	if ps := places(t, down); len(ps) != 2 || ps[0].X != ps[1].X || ps[0].X != places(t, bars[0][1])[0].X {
		t.Errorf("lines at %+v", ps)
	}
}

// A band goes along the lower ends of the ranges and back along the upper ones; where
// points go by y, both are of x.
func TestBand(t *testing.T) {
	s := Series{Name: "s", Band: true, Points: []Point{{X: 1, Y: 10, Lo: 5, Hi: 20}, {X: 2, Y: 10}, {X: 3, Y: 10, Lo: 8, Hi: 20}}}
	up := Chart{ID: "c", Title: "c", X: Axis{Label: "x"}, Y: Axis{Label: "y"}, Series: []Series{s}}
	svg := picture(t, &up)
	line := lines(t, svg)["s"]
	band := places(t, bandOf.FindStringSubmatch(svg)[1])
	if strings.Contains(svg, `class="range"`) || len(band) != 6 {
		t.Fatalf("a band of %d points in\n%s", len(band), svg)
	}
	for i, p := range line {
		lo, hi := band[i], band[5-i]
		if lo.X != p.X || hi.X != p.X || lo.Y > p.Y || hi.Y < p.Y || (lo.Y == hi.Y) != (i == 1) {
			t.Errorf("point %d at %+v, band from %+v to %+v", i, p, lo, hi)
		}
	}
	across := Chart{ID: "c", Title: "c", Across: true, X: Axis{Label: "x"}, Y: Axis{Label: "y"}, Series: []Series{
		{Name: "s", Band: true, Points: []Point{{X: 10, Y: 1, Lo: 5, Hi: 20}, {X: 30, Y: 0.5, Lo: 25, Hi: 40}}},
	}}
	svg = picture(t, &across)
	line, band = lines(t, svg)["s"], places(t, bandOf.FindStringSubmatch(svg)[1])
	for i, p := range line {
		if lo, hi := band[i], band[3-i]; lo.Y != p.Y || hi.Y != p.Y || lo.X >= p.X || hi.X <= p.X {
			t.Errorf("point %d at %+v, band from %+v to %+v", i, p, lo, hi)
		}
	}
	across.Rows = []float64{1, 7}
	if rows := across.Table(); len(rows) != 1 || rows[0].Head.Value != 1 || rows[0].Cells[0] != (Cell{10, "10", "5 to 20"}) || across.HeadLabel() != "y" {
		t.Errorf("table %+v by %s", rows, across.HeadLabel())
	}
}

// A span goes from one value to the other, above the foot of the chart; those of several
// series are apart.
func TestSpan(t *testing.T) {
	c := Chart{ID: "c", Title: "c", X: Axis{Label: "x"}, Y: Axis{Label: "y"}, Series: []Series{values("a", 0, 1, 2, 3), values("b", 0, 3, 2, 1), values("c", 0, 1, 1, 1)}}
	c.Series[0].Span, c.Series[1].Span = [2]float64{1, 2}, [2]float64{0, 1}
	svg := picture(t, &c)
	at := lines(t, svg)["a"]
	spans := spanOf.FindAllStringSubmatch(svg, -1)
	if len(spans) != 2 {
		t.Fatalf("%d spans", len(spans))
	}
	if p := places(t, spans[0][1]); math.Abs(p[0].X-at[1].X) > 0.01 || math.Abs(p[1].X-at[1].X) > 0.01 || math.Abs(p[2].X-at[2].X) > 0.01 || p[0].Y < margin {
		t.Errorf("from 1 to 2 is %+v, points at %+v", p, at)
	}
	if a, b := places(t, spans[0][1])[0].Y, places(t, spans[1][1])[0].Y; b-a < 5 {
		t.Errorf("spans %v and %v high", a, b)
	}
}

// Places have one decimal, and no sign that says nothing.
func TestNumber(t *testing.T) {
	var got []string
	for _, v := range []float64{0, -0.04, 1, 1.25, 99.96, -3.14} {
		got = append(got, number(v))
	}
	if want := []string{"0", "0", "1", "1.2", "100", "-3.1"}; !slices.Equal(got, want) {
		t.Errorf("%q, want %q", got, want)
	}
}

// A long line keeps its corners, and loses what is between them on the way.
func TestThinned(t *testing.T) {
	var ps [][2]float64
	for i := range 20 {
		ps = append(ps, [2]float64{float64(i), 0})
	}
	for i := range 20 {
		ps = append(ps, [2]float64{19, float64(i + 1)})
	}
	if got := thinned(ps); len(got) != 3 || got[0] != ps[0] || got[1] != [2]float64{19, 0} || got[2] != ps[39] {
		t.Errorf("%v", got)
	}
	there := [][2]float64{{0, 0}, {5, 0}, {0, 0.1}} // and back: all of it is near its ends' line
	if got := thinned(there); len(got) != 3 {
		t.Errorf("%v", got)
	}
}
