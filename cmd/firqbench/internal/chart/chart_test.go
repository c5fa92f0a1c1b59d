package chart

import (
	"encoding/xml"
	"errors"
	"io"
	"math"
	"regexp"
	"slices"
	"strconv"
	"strings"
	"testing"

	"gonum.org/v1/plot"
	"pgregory.net/rapid"
)

// places returns the places of a drawn path of straight lines, from the bottom left
// corner on.
func places(t *testing.T, d string) (ps []Point) {
	t.Helper()
	for _, m := range regexp.MustCompile(`[ML ](-?[\d.]+),(-?[\d.]+)`).FindAllStringSubmatch(d, -1) {
		px, err1 := strconv.ParseFloat(m[1], 64)
		py, err2 := strconv.ParseFloat(m[2], 64)
		if err := errors.Join(err1, err2); err != nil {
			t.Fatalf("path %q: %v", d, err)
		}
		ps = append(ps, Point{X: px, Y: height - py})
	}
	return ps
}

var (
	lineOf = regexp.MustCompile(`<g class="series s\d"><title>([^<]*)</title>(?:<path class="(?:band|range|span)"[^>]*>)*<path class="line" d="([^"]*)"`)
	gridOf = regexp.MustCompile(`<path style="fill:none;stroke:var\(--grid\)" d="([^"]*)"/>`)
	barsOf = regexp.MustCompile(`<path class="range" d="([^"]*)"`)
	bandOf = regexp.MustCompile(`<path class="band" d="([^"]*)Z"`)
	spanOf = regexp.MustCompile(`<path class="span" d="([^"]*)"`)
	markOf = regexp.MustCompile(`<use href="#m0" x="([^"]*)" y="([^"]*)"`)
	textOf = regexp.MustCompile(`<text textLength="([^"]*)" lengthAdjust="spacingAndGlyphs" x="([^"]*)" y="([^"]*)">([^<]*)</text>`)
)

// picture returns a chart with what it refers to, and fails unless both are XML.
func picture(t *testing.T, c *Chart) string {
	t.Helper()
	var d Defs
	svg := c.SVG(&d)
	wellFormed(t, svg)
	wellFormed(t, d.SVG())
	return svg + d.SVG()
}

// lines returns what was drawn, by series.
func lines(t *testing.T, svg string) map[string][]Point {
	t.Helper()
	all := map[string][]Point{}
	for _, m := range lineOf.FindAllStringSubmatch(svg, -1) {
		all[m[1]] = places(t, m[2])
	}
	return all
}

// marks returns where the markers of slot 0 are.
func marks(t *testing.T, svg string) (ps []Point) {
	t.Helper()
	for _, m := range markOf.FindAllStringSubmatch(svg, -1) {
		ps = append(ps, places(t, "M"+m[1]+","+m[2])...)
	}
	return ps
}

// written is a text in the picture; y is from the top.
type written struct {
	left, right, top, bottom float64
	text                     string
}

// level returns the texts that are not turned.
func level(t *testing.T, svg string) (all []written) {
	t.Helper()
	ms := textOf.FindAllStringSubmatch(svg, -1)
	if n := strings.Count(svg, "<text") - strings.Count(svg, `transform="rotate(-90)"`); n != len(ms) {
		t.Fatalf("%d texts, %d of them as expected, in\n%s", n, len(ms), svg)
	}
	for _, m := range ms {
		wide, err1 := strconv.ParseFloat(m[1], 64)
		x, err2 := strconv.ParseFloat(m[2], 64)
		y, err3 := strconv.ParseFloat(m[3], 64)
		if err := errors.Join(err1, err2, err3); err != nil {
			t.Fatal(err)
		}
		all = append(all, written{x, x + wide, y - 8, y + 2, m[4]})
	}
	return all
}

// wellFormed fails if svg is not XML.
func wellFormed(t *testing.T, svg string) {
	t.Helper()
	d := xml.NewDecoder(strings.NewReader(svg))
	for {
		if _, err := d.Token(); errors.Is(err, io.EOF) {
			return
		} else if err != nil {
			t.Fatalf("%v in\n%s", err, svg)
		}
	}
}

func TestTicks(t *testing.T) {
	for _, c := range []struct {
		axis   Axis
		lo, hi float64
		want   []float64
	}{
		{Axis{}, 0, 10, []float64{0, 5, 10}},
		{Axis{}, 3, 3, []float64{2, 3, 4}},
		{Axis{}, -1e9, -1e9, []float64{-1e9 - 1000, -1e9, -1e9 + 1000}},
		{Axis{}, -5, 5, []float64{-5, 0, 5}},
		{Axis{}, -9.7, -0.3, []float64{-10, -5, 0}},
		{Axis{FromZero: true}, 4.1e6, 7.2e6, []float64{0, 4e6, 8e6}},
		{Axis{FromZero: true, Tight: true}, 4.1e6, 7.2e6, []float64{0, 3e6, 6e6}},
		{Axis{FromZero: true, Tight: true}, 0, 0.5, []float64{0, 0.25, 0.5}},
		{Axis{FromZero: true}, 0, 0, []float64{0, 0.5, 1}},
		{Axis{Scale: Log}, 10, 9e6, []float64{10, 100, 1e3, 1e4, 1e5, 1e6, 1e7}},
		{Axis{Scale: Log}, 1, 9e12, []float64{1, 100, 1e4, 1e6, 1e8, 1e10, 1e12}},
		{Axis{Scale: Log}, 30, 60, []float64{20, 50, 100}},
		{Axis{Scale: Log}, 49, 50, []float64{40, 50}},
		{Axis{Scale: Log}, 20, 900, []float64{30, 100, 300, 1000}},
		{Axis{Ticks: []float64{1, 2, 8, 64}}, 1, 8, []float64{1, 2, 8}},
		{Axis{Names: []string{"a", "b"}}, 0, 1, []float64{0, 1}},
	} {
		lo, hi := c.axis.bounds(c.lo, c.hi)
		var got []float64
		for _, tick := range c.axis.ticks(lo, hi) {
			if math.Signbit(tick.Value) && tick.Value == 0 {
				t.Errorf("%+v: a tick of -0", c.axis)
			}
			if !tick.IsMinor() {
				got = append(got, tick.Value)
			}
		}
		if !slices.EqualFunc(got, c.want, func(a, b float64) bool { return math.Abs(a-b) <= 1e-9*math.Abs(b) }) {
			t.Errorf("%+v, %v to %v: ticks %v, want %v", c.axis, c.lo, c.hi, got, c.want)
		}
		if lo > c.lo || hi < c.hi {
			t.Errorf("%+v: from %v to %v, which leaves values out", c.axis, lo, hi)
		}
	}
}

func TestScales(t *testing.T) {
	for _, c := range []struct {
		scale     Scale
		lo, hi, v float64
	}{{Linear, 0, 10, 5}, {Linear, -5, 5, 0}, {Log, 1, 100, 10}, {Log, 0.1, 1000, 10}} {
		n := (&Axis{Scale: c.scale}).normalizer()
		for v, want := range map[float64]float64{c.lo: 0, c.v: 0.5, c.hi: 1} {
			if got := n.Normalize(c.lo, c.hi, v); math.Abs(got-want) > 1e-9 {
				t.Errorf("%+v: %v is %v of the way along, want %v", c, v, got, want)
			}
		}
	}
}

// along says how far along an axis from lo to hi v is.
func along(s Scale, lo, hi, v float64) float64 {
	place := func(v float64) float64 {
		if s == Log {
			return math.Log10(v)
		}
		return v
	}
	return (place(v) - place(lo)) / (place(hi) - place(lo))
}

// beside is how far a place is from the nearest part of a line.
func beside(line []Point, x, y float64) float64 {
	least := math.Inf(1)
	for i := 1; i < len(line); i++ {
		least = min(least, distance([2]float64{x, y}, [2]float64{line[i-1].X, line[i-1].Y}, [2]float64{line[i].X, line[i].Y}))
	}
	return least
}

// Whatever the values, they are drawn inside of the axes, in their order and
// where their scale has them, so are the marks and the grid, and the ticks are few.
func TestPlaces(t *testing.T) {
	rapid.Check(t, func(r *rapid.T) {
		c := Chart{ID: "c", Title: "c", X: Axis{Scale: Scale(rapid.IntRange(0, 1).Draw(r, "x scale")), Tight: rapid.Bool().Draw(r, "tight")},
			Y: Axis{Scale: Scale(rapid.IntRange(0, 1).Draw(r, "y scale")), FromZero: rapid.Bool().Draw(r, "from zero")}}
		value := func(s Scale, name string) float64 {
			if s == Log {
				return math.Pow(10, rapid.Float64Range(-3, 12).Draw(r, name))
			}
			return rapid.Float64Range(-1e9, 1e9).Draw(r, name)
		}
		var s Series
		s.Name = "s"
		for range rapid.IntRange(1, 30).Draw(r, "points") {
			s.Points = append(s.Points, Point{X: value(c.X.Scale, "x"), Y: value(c.Y.Scale, "y")})
		}
		c.Series = []Series{s}
		visible := c.Visible()
		ps := visible[0].Points
		area := c.frame(newCanvas(width, height), visible)
		xlo, xhi := c.X.bounds(extent(visible, func(p Point) float64 { return p.X }, false))
		ylo, yhi := c.Y.bounds(extent(visible, func(p Point) float64 { return p.Y }, true))
		at := func(p Point) (x, y float64) {
			return float64(area.Min.X) + along(c.X.Scale, xlo, xhi, p.X)*float64(area.Size().X),
				float64(area.Min.Y) + along(c.Y.Scale, ylo, yhi, p.Y)*float64(area.Size().Y)
		}
		const eps = 0.0501 // places are written with one decimal
		if area.Min.X < margin || area.Min.Y < margin || area.Max.X > width-edge+eps || area.Max.Y > height-edge+eps || area.Size().X < 200 || area.Size().Y < 150 {
			r.Fatalf("the axes are at %v", area)
		}
		svg := picture(t, &c)
		got := lines(t, svg)["s"]
		if len(ps) > 1 && len(ps) <= few && len(got) != len(ps) {
			r.Fatalf("%d points drawn, want %d", len(got), len(ps))
		}
		if len(ps) > few {
			for _, p := range ps {
				if x, y := at(p); !slices.ContainsFunc(got, func(g Point) bool { return math.Hypot(g.X-x, g.Y-y) < 0.1 }) && beside(got, x, y) > unseen+0.1 {
					r.Fatalf("%+v is at %v, %v, which is not on the line %+v", p, x, y, got)
				}
			}
			got = nil
		}
		for i, p := range got {
			if p.X < float64(area.Min.X)-eps || p.X > float64(area.Max.X)+eps || p.Y < float64(area.Min.Y)-eps || p.Y > float64(area.Max.Y)+eps {
				r.Fatalf("%+v is drawn at %+v, outside of %v", ps[i], p, area)
			}
			if x, y := at(ps[i]); math.Abs(p.X-x) > eps || math.Abs(p.Y-y) > eps {
				r.Fatalf("%+v is drawn at %+v, want %v, %v", ps[i], p, x, y)
			}
		}
		found := marks(t, svg)
		if n := len(found); n == 0 && len(ps) > 0 || len(ps) <= few && n != len(ps) || n > few {
			r.Fatalf("%d marks of %d points", n, len(ps))
		}
		for _, m := range found {
			if !slices.ContainsFunc(ps, func(p Point) bool {
				x, y := at(p)
				return math.Abs(m.X-x) <= eps && math.Abs(m.Y-y) <= eps
			}) {
				r.Fatalf("a mark at %+v, where no point is", m)
			}
		}
		across, up := 0, 0
		xs, ys := c.X.ticks(xlo, xhi), c.Y.ticks(ylo, yhi)
		if len(xs) > 40 || len(ys) > 40 {
			r.Fatalf("%d and %d ticks", len(xs), len(ys))
		}
		gs := places(t, gridOf.FindStringSubmatch(svg)[1])
		for ; len(gs) > 0; gs = gs[2:] {
			g := gs[:2]
			if g[0].X == g[1].X {
				across++
				if !slices.ContainsFunc(xs, func(t plot.Tick) bool { x, _ := at(Point{X: t.Value, Y: ylo}); return math.Abs(x-g[0].X) <= eps }) {
					r.Fatalf("a line at x %v, where no tick is", g[0].X)
				}
				continue
			}
			up++
			if !slices.ContainsFunc(ys, func(t plot.Tick) bool { _, y := at(Point{X: xlo, Y: t.Value}); return math.Abs(y-g[0].Y) <= eps }) {
				r.Fatalf("a line at y %v, where no tick is", g[0].Y)
			}
		}
		if up == 0 || up > 15 || across > 15 {
			r.Fatalf("%d lines across, %d lines up", up, across)
		}
	})
}

// What cannot be drawn is neither in the chart nor in the table, and text is
// escaped.
func TestWhatIsShown(t *testing.T) {
	nan, inf := math.NaN(), math.Inf(1)
	c := Chart{ID: "c", Title: `a <b> & "c"`, X: Axis{Label: "x"}, Y: Axis{Label: "y", Scale: Log}, Series: []Series{
		{Name: `one <&>`, Points: []Point{{X: 2, Y: 20}, {X: 1, Y: 10, Lo: 5, Hi: 40}, {X: 3, Y: 0}, {X: nan, Y: 1}, {X: 4, Y: inf}}},
		{Name: "absent", Points: []Point{{X: 1, Y: -1}, {X: 2, Y: nan}}},
		{Name: "two", Slot: Slots + 1, Points: []Point{{X: 2, Y: 30, Lo: 0, Hi: 40}}},
	}}
	for scale, want := range map[Scale]int{Linear: 4, Log: 2} {
		s := Series{Name: "s", Points: []Point{{X: -0.5}, {X: 0}, {X: 1}, {X: 2}, {X: nan}, {X: inf}}}
		if v := (&Chart{X: Axis{Scale: scale}, Series: []Series{s}}).Visible(); len(v) != 1 || len(v[0].Points) != want {
			t.Fatalf("scale %d shows %+v, want %d points", scale, v, want)
		}
	}
	svg := picture(t, &c)
	for _, want := range []string{"a &lt;b&gt; &amp; &#34;c&#34;", `<title>one &lt;&amp;&gt;</title>`, `class="series s1"`, `<desc id="c-d">`, `role="img"`} {
		if !strings.Contains(svg, want) {
			t.Errorf("%s is missing in\n%s", want, svg)
		}
	}
	if strings.Contains(svg, "absent") || strings.Contains(svg, "NaN") || strings.Contains(svg, "Inf") {
		t.Errorf("shows what is not there:\n%s", svg)
	}
	bars := barsOf.FindAllStringSubmatch(svg, -1)
	if len(bars) != 1 {
		t.Fatalf("%d series with ranges, want 1: from 0 there is none on a logarithmic scale", len(bars))
	}
	if n := strings.Count(svg, `<use href="#m`); n != 3 {
		t.Errorf("%d marks, want 3", n)
	}
	want := []Row{
		{Cell{1, "1", ""}, []Cell{{10, "10", "5 to 40"}, {}}},
		{Cell{2, "2", ""}, []Cell{{20, "20", ""}, {30, "30", ""}}},
	}
	got := c.Table()
	if !slices.EqualFunc(got, want, func(a, b Row) bool { return a.Head == b.Head && slices.Equal(a.Cells, b.Cells) }) {
		t.Errorf("table %+v, want %+v", got, want)
	}
	if ps := lines(t, svg)["one &lt;&amp;&gt;"]; len(ps) != 2 || ps[0].X >= ps[1].X || ps[0].Y >= ps[1].Y {
		t.Errorf("line at %+v, want two points up to the right", ps)
	} else { // a bar from 5 to 40, with a cap at each end; 10 and 20 say how long it is
		b := places(t, bars[0][1])
		double := ps[1].Y - ps[0].Y
		if len(b) != 4 || b[0].X != ps[0].X || math.Abs(b[0].Y-(ps[0].Y-double)) > 0.21 || math.Abs(b[1].Y-(ps[1].Y+double)) > 0.21 {
			t.Errorf("range %+v beside %+v", b, ps)
		}
	}
	if empty := (&Chart{ID: "e", Y: c.Y, Series: c.Series[1:2]}); !empty.Empty() || empty.SVG(&Defs{}) != "" || len(empty.Table()) != 0 {
		t.Error("a chart of nothing")
	}
}

// A chart of categories has a row for each of them, the first one on top.
func TestCategories(t *testing.T) {
	c := Chart{ID: "c", Title: "c", X: Axis{Label: "rate", Scale: Log}, Y: Axis{Label: "who", Names: []string{"a", "b", "c"}}, Series: []Series{
		{Name: "s", Marks: true, Points: []Point{{X: 100, Y: 2}, {X: 10, Y: 0, Lo: 5, Hi: 20}, {X: 1, Y: 1}}},
	}}
	svg := picture(t, &c)
	if strings.Contains(svg, `class="line"`) || strings.Count(svg, `<use href="#m`) != 3 || strings.Count(svg, `class="range"`) != 1 {
		t.Errorf("got\n%s", svg)
	}
	row := map[string]float64{}
	for _, w := range level(t, svg) {
		row[w.text] = w.top
	}
	if len(row) < 5 || !(row["a"] < row["b"] && row["b"] < row["c"]) {
		t.Errorf("rows at %v, want the first one on top", row)
	}
	at := marks(t, svg)
	if len(at) != 3 || !(at[1].Y > at[2].Y && at[2].Y > at[0].Y) { // c, a, b
		t.Errorf("marks at %v, want those of the first row highest", at)
	}
	bar := places(t, barsOf.FindStringSubmatch(svg)[1])
	if bar[0].Y != bar[1].Y || bar[0].X >= bar[1].X || bar[0].Y != at[1].Y {
		t.Errorf("range %+v, want it along the row at %v", bar, at[1])
	}
	var got []string
	for _, r := range c.Table() {
		got = append(got, r.Head.Text+" "+r.Cells[0].Text)
	}
	if want := []string{"a 10", "b 1", "c 100"}; !slices.Equal(got, want) || c.HeadLabel() != "who" || c.BodyLabel() != "rate" {
		t.Errorf("table %q, want %q; %q, %q", got, want, c.HeadLabel(), c.BodyLabel())
	}
}
