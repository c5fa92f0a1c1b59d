package page

import (
	"fmt"
	"regexp"
	"slices"
	"strings"
	"testing"

	"github.com/firq-go/firq/cmd/firqbench/internal/report"
)

// Every chart has its series in the picture, in its part's legend and in the table, each
// legend and table no others, and a line goes up and down as the numbers do.
func TestCharts(t *testing.T) {
	_, cs := whole()
	if len(cs) < 30 {
		t.Fatalf("%d charts", len(cs))
	}
	for _, c := range cs {
		if len(c.series) == 0 || len(c.rows) == 0 || !slices.Equal(c.legend, c.columns) {
			t.Errorf("%s: series %q, legend %q, table %q, %d rows", c.title, c.series, c.legend, c.columns, len(c.rows))
			continue
		}
		for i, name := range c.legend {
			has := slices.ContainsFunc(c.rows, func(row []string) bool { return row[i+1] != "" })
			if drawn := slices.Contains(c.series, name); drawn != has {
				t.Errorf("%s: %s is drawn %t, in the table %t", c.title, name, drawn, has)
			}
		}
		for _, name := range c.series {
			if !slices.Contains(c.legend, name) {
				t.Errorf("%s: %s is not in the legend %q", c.title, name, c.legend)
			}
		}
	}
	for _, c := range cs { // the rarer, the longer
		if !strings.Contains(c.title, "enqueue call") {
			continue
		}
		for name, line := range c.lines {
			for i := 1; i < len(line); i++ {
				if line[i][0] < line[i-1][0] || line[i][1] <= line[i-1][1] {
					t.Errorf("%s, %s: from %v to %v", c.title, name, line[i-1], line[i])
				}
			}
		}
	}
}

func find(t *testing.T, cs []drawn, title string) drawn {
	t.Helper()
	var titles []string
	for _, c := range cs {
		if c.title == title {
			return c
		}
		titles = append(titles, c.title)
	}
	t.Fatalf("no chart %q; there are\n%s", title, strings.Join(titles, "\n"))
	return drawn{}
}

// The numbers are those of the files.
func TestNumbers(t *testing.T) {
	_, cs := whole()
	row := func(title string, i int) string { return strings.Join(find(t, cs, title).rows[i], " ") }
	const two, eight = ", some &lt;cpu&gt;, 2 cores", ", some &lt;cpu&gt;, 8 cores"
	for _, c := range []struct {
		title string
		row   int
		want  string
	}{
		// By tenants: the scenarios that differ in nothing else, of one place; medians.
		{"8 producers, 8 consumers by tenants, no work" + two, 1, "64 1.05M 2.05M 3.05M 4.05M 5.05M"},
		{"8 producers, 8 consumers by tenants, no work" + two, 2, "100k 1.15M 2.15M 3.15M 4.15M 5.15M"},
		{"contended by cores, no work", 0, "2 1.05M 2.05M 3.05M 4.05M 5.05M"},
		{"contended by cores, no work", 2, "8 1.06M 2.06M 3.06M 4.06M 5.06M"},
		{"contended by cores, no work, 100 tenants", 2, "4 4M 4M 4M 4M 4M"},
		{"contended, 4 producers, 8 consumers by tenants, no work, 2 cores" + eight, 0, "10 2M 2M 2M 2M 2M"},
		// At a rate, from the intended start on.
		{"contended: queue time by rate, 99th percentile, constant arrivals" + two, 1, "50k 21µs 21µs 21µs 21µs 21µs"},
		{"contended: queue time, 50k/s constant" + two, 0, "50% 700ns 700ns 700ns 700ns 700ns"},
		{"contended: enqueue call, 50k/s constant" + two, 0, "50% 300ns 300ns 300ns 300ns 300ns"},
		// The median, and the case of which a thousandth is worse: of two rounds each.
		{"contended: enqueue call, no work" + two, 0, "50% 150ns 250ns 350ns 450ns 550ns"},
		{"contended: enqueue call, no work" + two, 3, "0.1% 215µs 358µs 501µs 644µs 787µs"},
		{"zipf: queue time, quiet tenants, no work" + two, 0, "50% 550ns 650ns 750ns 850ns 950ns"},
		{"overload, service 20µs/task" + two + ": quiet tenants", 4, "0.5 100% 20% 40% 60% 80% 100%"},
		{"zipf, no work" + two + ": noisy &lt;one&gt;", 0, "0.1 10k 20k 30k 40k 50k"},
		{"x.csv: queue time of quiet tenants, 99th percentile", 1, "16 938µs 625µs 469µs 375µs"},
		{"replay of x.csv, 8 workers: quiet tenants, waiting", 3, "0.4  0 0 0 0"},
	} {
		if got := row(c.title, c.row); got != c.want {
			t.Errorf("%s, row %d: %s, want %s", c.title, c.row, got, c.want)
		}
	}
}

// What files lack is said, and there is no chart of it.
func TestMissing(t *testing.T) {
	for _, c := range []struct {
		files []File
		want  []string
		none  []string
	}{
		{everything()[2:3], []string{
			"no chart by cores", "no chart by tenants", "old.json: no record of who was served when", "No file is a replay",
		}, []string{"by cores, no", "by tenants, no"}},
		{[]File{{"q.json", ran(2, "contended")}}, []string{"q.json: no scenario with noisy tenants"}, nil},
		{everything()[4:5], []string{"No file holds latencies", "No file holds throughput", "r16.json: no record of who"}, []string{"By workers"}},
		{everything()[:1], []string{"no chart by cores"}, []string{"no record of who", "no chart by tenants"}},
		{[]File{{"s.json", swept()}}, []string{"a sweep of 18 settings; the first 12", "a sweep, 18 of 20 steps done, 2 rounds of 1.00s each", "s.json: no record of who was served when: a sweep"}, []string{"Throughput by scenario"}},
		{[]File{{"e.json", &report.File{Schema: report.Schema}}}, []string{"nothing that this page shows", "nothing that could be recorded"}, []string{"<figure"}},
	} {
		html := write(t, c.files)
		for _, want := range c.want {
			if !strings.Contains(html, want) {
				t.Errorf("%s: %q is missing", c.files[0].Path, want)
			}
		}
		for _, none := range c.none {
			if strings.Contains(html, none) {
				t.Errorf("%s: there is %q", c.files[0].Path, none)
			}
		}
	}
	broken := ran(2, "contended")
	broken.Interrupted = true
	broken.Run.Cells[0].Errors = []string{"round 2: it <broke>"}
	broken.Run.Cells[0].Runs = nil
	html := write(t, []File{{"x.json", broken}})
	for _, want := range []string{"fewer runs than planned", "round 2: it &lt;broke&gt;"} {
		if !strings.Contains(html, want) {
			t.Errorf("%q is missing", want)
		}
	}
}

// Points of different machines or commits are not joined, and two runs of the same thing
// are pooled.
func TestNotCompared(t *testing.T) {
	other := ran(8, "contended")
	other.Env.Commit = "4567"
	cs := charts(write(t, []File{{"a.json", ran(2, "contended")}, {"b.json", other}}))
	for _, c := range cs {
		if strings.Contains(c.title, "by cores") {
			t.Errorf("there is %s", c.title)
		}
	}
	again := ran(2, "contended")
	again.Run.Cells[0].Runs[0].TasksPerSec, again.Run.Cells[0].Runs[len(names)].TasksPerSec = 5, 5
	cs = charts(write(t, []File{{"a.json", ran(2, "contended")}, {"b.json", ran(8, "contended")}, {"c.json", again}}))
	if got := find(t, cs, "contended by cores, no work").rows[0][1]; got != "501k" { // between 5 twice, 1.002M and 1.102M
		t.Errorf("got %s of two runs, want the median of their rounds", got)
	}
	pinned := ran(8, "contended")
	pinned.Env.Pinned = []int{3}
	cs = charts(write(t, []File{{"a.json", ran(2, "contended")}, {"b.json", pinned}}))
	if got := find(t, cs, "contended by cores, no work").rows[0][0]; got != "1" {
		t.Errorf("pinned to one processor: %s cores", got)
	}
}

// A contestant has one colour, on every chart and in every page; others have
// theirs too.
func TestSlots(t *testing.T) {
	slot := regexp.MustCompile(`class="series (s\d+)"><title>([^<]*)`)
	of := map[string]string{}
	html, _ := whole()
	for _, m := range slot.FindAllStringSubmatch(html, -1) {
		if of[m[2]] == "" {
			of[m[2]] = m[1]
		}
		if of[m[2]] != m[1] {
			t.Errorf("%s is %s and %s", m[2], of[m[2]], m[1])
		}
	}
	want := map[string]string{"lockfree": "s0", "baseline-1": "s1", "baseline-sharded": "s2", "channel": "s3", "fifo": "s4", "mutex-simple": "s7", "asked for": "s10"}
	if fmt.Sprint(of) != fmt.Sprint(want) {
		t.Errorf("slots %v, want %v", of, want)
	}
	s := slots{}
	if a, b := s.of("mine"), s.of("yours"); a == b || a < firstFree || b < firstFree || a == slotAsked || b == slotAsked || s.of("mine") != a {
		t.Errorf("others have slots %d and %d", a, b)
	}
}
