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

	"pgregory.net/rapid"
)

// places returns the places of a drawn path, which has M and L alone.
func places(t *testing.T, d string) (ps []Point) {
	t.Helper()
	for _, s := range regexp.MustCompile(`[ML]`).Split(d, -1)[1:] {
		x, y, _ := strings.Cut(s, " ")
		px, err1 := strconv.ParseFloat(x, 64)
		py, err2 := strconv.ParseFloat(y, 64)
		if err := errors.Join(err1, err2); err != nil {
			t.Fatalf("path %q: %v", d, err)
		}
		ps = append(ps, Point{X: px, Y: py})
	}
	return ps
}

var drawn = regexp.MustCompile(`<g class="series s\d" data-series="([^"]*)"><title>[^<]*</title><path class="line" d="([^"]*)"/>`)

// lines returns what was drawn, by series.
func lines(t *testing.T, svg string) map[string][]Point {
	t.Helper()
	all := map[string][]Point{}
	for _, m := range drawn.FindAllStringSubmatch(svg, -1) {
		all[m[1]] = places(t, m[2])
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
		{Axis{}, 0, 10, []float64{0, 2, 4, 6, 8, 10}},
		{Axis{}, 3, 3, []float64{2, 2.5, 3, 3.5, 4}},
		{Axis{FromZero: true}, 4.1e6, 7.2e6, []float64{0, 2e6, 4e6, 6e6, 8e6}},
		{Axis{FromZero: true, Tight: true}, 0, 0.5, []float64{0, 0.1, 0.2, 0.3, 0.4, 0.5}},
		{Axis{FromZero: true}, 0, 0, []float64{0, 0.2, 0.4, 0.6, 0.8, 1}},
		{Axis{Scale: Log}, 10, 9e6, []float64{10, 100, 1e3, 1e4, 1e5, 1e6, 1e7}},
		{Axis{Scale: Log}, 1, 9e12, []float64{1, 100, 1e4, 1e6, 1e8, 1e10, 1e12}},
		{Axis{Scale: Log}, 30, 60, []float64{20, 50, 100}},
		{Axis{Scale: Log}, 49, 50, []float64{40, 50}},
		{Axis{Scale: Log}, 20, 900, []float64{30, 100, 300, 1000}},
		{Axis{Scale: Tail}, 0.5, 0.9995, []float64{0, 0.5, 0.9, 0.99, 0.999}},
		{Axis{Ticks: []float64{1, 2, 8, 64}}, 1, 8, []float64{1, 2, 8}},
		{Axis{Names: []string{"a", "b"}}, 0, 1, []float64{0, 1}},
	} {
		lo, hi := c.axis.bounds(c.lo, c.hi)
		got := c.axis.ticks(lo, hi)
		if !slices.EqualFunc(got, c.want, func(a, b float64) bool { return math.Abs(a-b) <= 1e-9*math.Abs(b) }) {
			t.Errorf("%+v, %v to %v: ticks %v, want %v", c.axis, c.lo, c.hi, got, c.want)
		}
		for _, v := range got {
			if math.Signbit(v) {
				t.Errorf("%+v: a tick %v below 0", c.axis, v)
			}
		}
	}
}

func TestScales(t *testing.T) {
	for _, c := range []struct {
		scale     Scale
		lo, hi, v float64
	}{{Linear, 0, 10, 5}, {Linear, -5, 5, 0}, {Log, 1, 100, 10}, {Log, 0.1, 1000, 10}, {Tail, 0, 0.99, 0.9}, {Tail, 0.9, 0.999, 0.99}} {
		if got := (span{c.scale, c.lo, c.hi, 100, 300}).at(c.v); math.Abs(got-200) > 1e-9 {
			t.Errorf("%+v: %v, want the middle, 200", c, got)
		}
	}
}

// Whatever the values, they are drawn inside of the axes, in their order and
// where their scale has them, and the ticks are few and lie within the axes too.
func TestPlaces(t *testing.T) {
	rapid.Check(t, func(r *rapid.T) {
		c := Chart{ID: "c", Title: "c", X: Axis{Scale: Scale(rapid.IntRange(0, 2).Draw(r, "x scale"))}, Y: Axis{Scale: Scale(rapid.IntRange(0, 1).Draw(r, "y scale")), FromZero: rapid.Bool().Draw(r, "from zero")}}
		value := func(s Scale, name string) float64 {
			switch s {
			case Log:
				return math.Pow(10, rapid.Float64Range(-3, 12).Draw(r, name))
			case Tail:
				return 1 - math.Pow(10, -rapid.Float64Range(0, 6).Draw(r, name))
			}
			return rapid.Float64Range(-1e9, 1e9).Draw(r, name)
		}
		var s Series
		s.Name = "s"
		for range rapid.IntRange(1, 30).Draw(r, "points") {
			s.Points = append(s.Points, Point{X: value(c.X.Scale, "x"), Y: value(c.Y.Scale, "y")})
		}
		c.Series = []Series{s}
		l := c.layout()
		for name, ticks := range map[string][]float64{"x": l.xTicks, "y": l.yTicks} {
			if len(ticks) > 40 || name == "y" && len(ticks) == 0 || !slices.IsSorted(ticks) {
				r.Fatalf("%s: ticks %v", name, ticks)
			}
		}
		const eps = 0.02 // places are written with two digits
		ps := c.Visible()[0].Points
		got := lines(t, c.SVG())["s"]
		if len(ps) > 1 && len(got) != len(ps) {
			r.Fatalf("%d points drawn, want %d", len(got), len(ps))
		}
		for i, p := range got {
			if p.X < l.left-eps || p.X > l.right+eps || p.Y < l.top-eps || p.Y > l.bottom+eps {
				r.Fatalf("%+v is drawn at %+v, outside of %v to %v, %v to %v", ps[i], p, l.left, l.right, l.top, l.bottom)
			}
			// Back from the place to the value, as somebody would read it off.
			frac := (p.X - l.left) / (l.right - l.left)
			a, b := c.X.Scale.place(l.x.lo), c.X.Scale.place(l.x.hi)
			if want := (c.X.Scale.place(ps[i].X) - a) / (b - a); math.Abs(frac-want) > 1e-3 {
				r.Fatalf("x %v is drawn %v of the way along the axis, want %v", ps[i].X, frac, want)
			}
			frac = (l.bottom - p.Y) / (l.bottom - l.top)
			a, b = c.Y.Scale.place(l.y.lo), c.Y.Scale.place(l.y.hi)
			if want := (c.Y.Scale.place(ps[i].Y) - a) / (b - a); math.Abs(frac-want) > 1e-3 {
				r.Fatalf("y %v is drawn %v of the way up the axis, want %v", ps[i].Y, frac, want)
			}
		}
	})
}

// What cannot be drawn is neither in the chart nor in the table, and text is
// escaped.
func TestWhatIsShown(t *testing.T) {
	nan, inf := math.NaN(), math.Inf(1)
	c := Chart{ID: "c", Title: `a <b> & "c"`, X: Axis{Label: "x"}, Y: Axis{Label: "y", Scale: Log}, Series: []Series{
		{Name: `one <&>`, Points: []Point{{X: 2, Y: 20}, {X: 1, Y: 10, Lo: 5, Hi: 40}, {X: 3, Y: 0}, {X: nan, Y: 1}, {X: 4, Y: inf}}},
		{Name: "none", Points: []Point{{X: 1, Y: -1}, {X: 2, Y: nan}}},
		{Name: "two", Slot: 11, Points: []Point{{X: 2, Y: 30, Lo: 0, Hi: 40}}},
	}}
	svg := c.SVG()
	wellFormed(t, svg)
	for _, want := range []string{"a &lt;b&gt; &amp; &#34;c&#34;", `data-series="one &lt;&amp;&gt;"`, `class="series s1"`, `<desc id="c-d">`, `role="img"`} {
		if !strings.Contains(svg, want) {
			t.Errorf("%s is missing in\n%s", want, svg)
		}
	}
	if strings.Contains(svg, "none") || strings.Contains(svg, "NaN") || strings.Contains(svg, "Inf") {
		t.Errorf("shows what is not there:\n%s", svg)
	}
	if n := strings.Count(svg, `class="range"`); n != 1 {
		t.Errorf("%d ranges, want 1: from 0 there is none on a logarithmic scale", n)
	}
	if n := strings.Count(svg, `class="mark"`); n != 3 {
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
	if ps := lines(t, svg)["one &lt;&amp;&gt;"]; len(ps) != 2 || ps[0].X >= ps[1].X || ps[0].Y <= ps[1].Y {
		t.Errorf("line at %+v, want two points up to the right", ps)
	}
	if empty := (&Chart{ID: "e", Y: c.Y, Series: c.Series[1:2]}); !empty.Empty() || empty.SVG() != "" || len(empty.Table()) != 0 {
		t.Error("a chart of nothing")
	}
}

// A chart of categories has a row for each of them, the first one on top.
func TestCategories(t *testing.T) {
	c := Chart{ID: "c", Title: "c", X: Axis{Label: "rate", Scale: Log}, Y: Axis{Label: "who", Names: []string{"a", "b", "c"}}, Series: []Series{
		{Name: "s", Marks: true, Points: []Point{{X: 100, Y: 2}, {X: 10, Y: 0, Lo: 5, Hi: 20}, {X: 1, Y: 1}}},
	}}
	svg := c.SVG()
	wellFormed(t, svg)
	if strings.Contains(svg, `class="line"`) || strings.Count(svg, `class="mark"`) != 3 || strings.Count(svg, `class="range"`) != 1 {
		t.Errorf("got\n%s", svg)
	}
	l := c.layout()
	if !(l.y.at(0) < l.y.at(1) && l.y.at(1) < l.y.at(2)) {
		t.Errorf("rows at %v, %v, %v, want the first one on top", l.y.at(0), l.y.at(1), l.y.at(2))
	}
	var got []string
	for _, r := range c.Table() {
		got = append(got, r.Head.Text+" "+r.Cells[0].Text)
	}
	if want := []string{"a 10", "b 1", "c 100"}; !slices.Equal(got, want) || c.HeadLabel() != "who" || c.BodyLabel() != "rate" {
		t.Errorf("table %q, want %q; %q, %q", got, want, c.HeadLabel(), c.BodyLabel())
	}
}

// Labels of the x axis do not lie on each other, nor leave the picture, and none
// is wider than was thought.
func TestLabelsApart(t *testing.T) {
	label := regexp.MustCompile(`<text class="xtick" x="([^"]*)"[^>]*>([^<]*)</text>`)
	for _, hi := range []float64{0.9, 0.99, 0.9999, 0.99999, 0.999999} {
		c := Chart{ID: "c", Title: "c", X: Axis{Scale: Tail, Format: func(v float64) string { return strconv.FormatFloat(100*v, 'g', 8, 64) + "%" }}, Y: Axis{Scale: Log},
			Series: []Series{{Name: "s", Points: []Point{{X: 0, Y: 10}, {X: hi, Y: 1e7}}}}}
		free, n := 0.0, 0
		for _, m := range label.FindAllStringSubmatch(c.SVG(), -1) {
			x, _ := strconv.ParseFloat(m[1], 64)
			half := perChar * float64(len(m[2])) / 2
			if x-half < free || x+half > width {
				t.Errorf("up to %v: %s at %v begins before %v or leaves the picture", hi, m[2], x, free)
			}
			free = x + half
			n++
		}
		if n < 2 {
			t.Errorf("up to %v: %d labels", hi, n)
		}
	}
}

func TestSlug(t *testing.T) {
	for text, want := range map[string]string{"": "", "A b": "a-b", "  x__Y 1 ": "x-y-1", "µs/%": "s", "--": ""} {
		if got := Slug(text); got != want {
			t.Errorf("Slug(%q) = %q, want %q", text, got, want)
		}
	}
}
