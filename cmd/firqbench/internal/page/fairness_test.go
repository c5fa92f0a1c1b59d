package page

import (
	"math"
	"strings"
	"testing"
)

// A contestant is where its index and its throughput have it, one that is perfectly fair at
// the edge, and one without an index nowhere. The page says where the index comes from.
func TestFairness(t *testing.T) {
	f := ran(2, "contended", "uncontended")
	for i := range f.Run.Cells[0].Runs {
		switch r := &f.Run.Cells[0].Runs[i]; r.Contestant {
		case "lockfree":
			r.Jain, r.JainTenants = 0.999, 64
		case "baseline-1":
			r.Jain, r.JainTenants = 1, 64
		case "channel":
			r.Jain, r.JainTenants = 0.75, 64
		}
	}
	text := write(t, []File{{"r.json", f}})
	c := find(t, charts(text), "contended, no work")
	if got, want := strings.Join(c.series, " "), "lockfree baseline-1 channel"; got != want {
		t.Fatalf("%s, want %s", got, want)
	}
	if got, want := strings.Join(c.rows[0], "|"), "1 - Jain&#39;s index (log scale, left is fairer)|0.001|0.00001|0.25"; got != want {
		t.Errorf("%s, want %s", got, want)
	}
	if got, want := strings.Join(c.rows[1][1:], "|"), "1.05M|2.05M|4.05M"; got != want {
		t.Errorf("%s, want %s", got, want)
	}
	if n := strings.Count(text, "backlog is made beforehand"); n != 1 {
		t.Error("the page does not say what the index is of")
	}
	if strings.Contains(text, "<figcaption>uncontended, no work") {
		t.Error("a chart of a scenario without an index")
	}
	b := newBuilder([]File{{"r.json", f}})
	b.room = pageRoom
	if p := b.fairness().Parts[0].Figures[0].Visible()[1].Points[0]; p.X != fairest || math.IsNaN(p.Y) {
		t.Errorf("perfectly fair is at %+v", p)
	}
	if !strings.Contains(write(t, []File{{"r.json", ran(2, "contended")}}), "No file has closed loops with an index of fairness") {
		t.Error("a page without it does not say so")
	}
}
