package page

import (
	"fmt"
	"regexp"
	"strings"
	"testing"
	"time"

	"github.com/firq-go/firq/cmd/firqbench/internal/report"
)

// Files of one place make one curve: the median over the rounds of all, in a band from the
// least to the greatest. The chart of which tenants were served when is of the first file alone.
func TestPooled(t *testing.T) {
	one, two := ran(2, "zipf"), ran(2, "zipf")
	two.Env.Start, two.Env.Command = time.Unix(1, 0), "another"
	for i := range two.Run.Cells[0].Runs {
		r := &two.Run.Cells[0].Runs[i]
		r.Enqueue = latency(float64(10 * (1 + r.Round))) // of lockfree it was 1 and 2
	}
	b := newBuilder([]File{{"1.json", one}, {"2.json", two}})
	b.room = pageRoom
	f := b.latency().Parts[0].Figures[0]
	p := f.Visible()[0].Points[1] // the median: 100 ns times 1, 2, 10, 20
	if p.Y != 0.5 || p.X != 600 || p.Lo != 100 || p.Hi != 2000 || !f.Visible()[0].Band {
		t.Errorf("%s: %+v, want 600 ns within 100 and 2000", f.Title, p)
	}
	service := b.service()
	if len(service.Parts) != 1 || len(service.Missing) != 0 || service.Parts[0].Text[0] != "From 1.json." {
		t.Errorf("%d records, %q", len(service.Parts), service.Missing)
	}
	if p := b.throughput().Parts[0].Figures[0]; p.Note != "From 1.json, 2.json." {
		t.Error(p.Note)
	}
	if b.at(0) != "" {
		t.Errorf("the only place is named: %q", b.at(0))
	}
}

// The place with most results comes first, and titles name the places where there are two.
func TestPlacesOrder(t *testing.T) {
	other := ran(2, "contended", "zipf")
	other.Env.CPU = "other"
	text := write(t, []File{{"1.json", ran(2, "contended")}, {"2.json", other}, {"3.json", other}})
	var got []string
	for _, c := range charts(text) {
		if place, ok := strings.CutPrefix(c.title, "Throughput by scenario, no work, "); ok {
			got = append(got, place)
		}
	}
	if want := "[other, 2 cores some &lt;cpu&gt;, 2 cores]"; fmt.Sprint(got) != want {
		t.Errorf("%v, want %s", got, want)
	}
	if !strings.Contains(text, "<dt>place</dt><dd>other, 2 cores</dd>") {
		t.Error("the facts of a file do not say what its place is called")
	}
}

// Charts of one part that show the same have the same frame, which the page has once.
func TestSharedAxes(t *testing.T) {
	slow := ran(2, "contended")
	slow.Env.CPU = "slow"
	for i := range slow.Run.Cells[0].Runs {
		r := &slow.Run.Cells[0].Runs[i]
		r.Enqueue, r.TasksPerSec = latency(1e3), r.TasksPerSec/float64(10+i)
	}
	text := write(t, []File{{"1.json", ran(2, "contended")}, {"2.json", slow}})
	frames := map[string][]string{}
	for _, m := range regexp.MustCompile(`<figcaption>(.*?)</figcaption>\n<svg [^>]*><title[^>]*>[^<]*</title><desc[^>]*>[^<]*</desc><use href="#(f\d+)"`).FindAllStringSubmatch(text, -1) {
		what, _, _ := strings.Cut(m[1], ", ")
		frames[what] = append(frames[what], m[2])
	}
	for what, want := range map[string]int{"Tasks/s of lockfree over those of the others": 2, "Throughput by scenario": 2, "contended: enqueue call": 2, "contended: queue time": 2} {
		if got := frames[what]; len(got) != want || got[0] != got[1] {
			t.Errorf("%s: frames %q", what, got)
		}
	}
	for _, ids := range frames {
		if n := strings.Count(text, `<g id="`+ids[0]+`">`); n != 1 {
			t.Errorf("frame %s is in the page %d times", ids[0], n)
		}
	}
}

// Places that differ in one detail are told apart by it, and by a number at last.
func TestPlaceNames(t *testing.T) {
	file := func(change func(*report.File)) File {
		f := ran(2, "contended")
		f.Env.CPU, f.Env.Commit = "cpu", "0123456789"
		change(f)
		return File{"f", f}
	}
	b := newBuilder([]File{
		file(func(*report.File) {}), file(func(f *report.File) { f.Env.Modified = true }), file(func(f *report.File) { f.Env.GoVersion = "go2" }),
		file(func(f *report.File) { f.Env.Clock = "sun" }), file(func(f *report.File) { f.Env.Pinned = []int{1} }), file(func(f *report.File) { f.Env.CPU = "" }),
	})
	// A replay of another commit is no reason to name the commit.
	r := replayed(8)
	r.Env = b.places[3].env
	r.Env.Commit = "other"
	if two := newBuilder([]File{b.files[0], {"r", r}}); two.places[0].name != "cpu, 2 cores" || two.at(0) != "" {
		t.Errorf("%q, %q", two.places[0].name, two.at(0))
	}
	var got []string
	for _, p := range b.places {
		got = append(got, p.name)
	}
	want := []string{
		"cpu, 2 cores, commit 0123456, go1.x, place 1", "cpu, 2 cores, commit 0123456 (modified)", "cpu, 2 cores, commit 0123456, go2",
		"cpu, 2 cores, commit 0123456, go1.x, place 4", "cpu, 1 core", "unknown processor, 2 cores",
	}
	if fmt.Sprintf("%q", got) != fmt.Sprintf("%q", want) {
		t.Errorf("%q, want %q", got, want)
	}
}
