package chart

import (
	"fmt"
	"html"
	"regexp"
	"strconv"
	"strings"
	"testing"
)

// Texts do not lie on each other, nor leave the picture. What is too long is
// squeezed.
func TestLabelsApart(t *testing.T) {
	percent := func(v float64) string { return strconv.FormatFloat(100*v, 'g', 8, 64) + "%" }
	var charts []Chart
	for _, hi := range []float64{0.09, 0.9, 9, 90, 9e4, 9e6} {
		charts = append(charts, Chart{X: Axis{Scale: Log, Label: strings.Repeat("wide ", 30), Format: percent}, Y: Axis{Scale: Log, Label: "y"},
			Series: []Series{{Name: "s", Points: []Point{{X: 0.01, Y: 10}, {X: hi, Y: 1e7}}}}})
	}
	charts = append(charts,
		Chart{X: Axis{Label: "x", Ticks: []float64{1, 2, 3, 4, 5, 6, 7, 8, 1000, 1001}, Format: percent}, Y: Axis{Label: "y"},
			Series: []Series{{Name: "s", Points: []Point{{X: 1, Y: 10}, {X: 1001, Y: 1e7}}}}},
		Chart{X: Axis{Label: "x", Format: percent}, Y: Axis{Label: "y", Ticks: []float64{0, 1, 2, 99, 100}},
			Series: []Series{{Name: "s", Points: []Point{{X: 1, Y: 0}, {X: 10, Y: 100}}}}})
	for i, c := range charts {
		c.ID, c.Title = "c", "c"
		ws, n := level(t, picture(t, &c)), 0
		for j, a := range ws {
			if strings.HasSuffix(a.text, "%") {
				n++
			}
			if a.left < 0 || a.right > width || a.top < 0 || a.bottom > height {
				t.Errorf("chart %d: %+v leaves the picture", i, a)
			}
			for _, b := range ws[:j] {
				if a.left < b.right && b.left < a.right && a.top < b.bottom && b.top < a.bottom {
					t.Errorf("chart %d: %+v lies on %+v", i, a, b)
				}
			}
		}
		if n < 2 {
			t.Errorf("chart %d: %d labels", i, n)
		}
	}
}

// The page decides about colours and the font, and only about those: text stays.
func TestThemed(t *testing.T) {
	odd := `";fill:#FF0000" style="fill:none;stroke:#00FF00`
	c := Chart{ID: "c", Title: "c", X: Axis{Label: odd}, Y: Axis{Label: "y"}}
	for slot := range Slots {
		c.Series = append(c.Series, Series{Name: strconv.Itoa(slot), Slot: slot, Points: []Point{{X: 1, Y: 1}, {X: 2, Y: 2, Lo: 1, Hi: 3}}})
	}
	svg := picture(t, &c)
	if !strings.Contains(svg, html.EscapeString(odd)+"</text>") {
		t.Errorf("the label has changed in\n%s", svg)
	}
	svg = strings.ReplaceAll(svg, html.EscapeString(odd), "")
	var d Defs
	for slot := range Slots {
		svg += d.Swatch(slot, false) + d.Swatch(slot, true)
	}
	svg += d.SVG()
	if s := regexp.MustCompile(`#[0-9A-Fa-f]{3}|rgb|font-family|(fill|stroke)[:=]"?[^nvc;"-]`).FindString(svg); s != "" {
		t.Errorf("there is %q in\n%s", s, svg)
	}
	for _, want := range []string{"var(--grid)", "var(--dim)", "var(--ink)", "currentColor", `stroke-dasharray="`} {
		if !strings.Contains(svg, want) {
			t.Errorf("%s is missing", want)
		}
	}
	seen := map[string]int{}
	for slot := range Slots {
		s := d.Swatch(slot, false)
		wellFormed(t, s)
		s = strings.NewReplacer(fmt.Sprintf(` s%d"`, slot), "", fmt.Sprintf("#m%d", slot), styles[slot].mark).Replace(s)
		if other, ok := seen[s]; ok {
			t.Errorf("slots %d and %d look the same", slot, other)
		}
		seen[s] = slot
	}
}

func TestSlug(t *testing.T) {
	for text, want := range map[string]string{"": "", "A b": "a-b", "  x__Y 1 ": "x-y-1", "µs/%": "s", "--": ""} {
		if got := Slug(text); got != want {
			t.Errorf("Slug(%q) = %q, want %q", text, got, want)
		}
	}
}
