package page

import (
	"fmt"
	"regexp"
	"slices"
	"strconv"
	"strings"
	"testing"

	"github.com/firq-go/firq/internal/bench/report"
)

// Every chart has its series in the picture, in the legend and in the table, and
// the line goes up and down as the numbers do.
func TestCharts(t *testing.T) {
	_, cs := whole()
	if len(cs) < 30 {
		t.Fatalf("%d charts", len(cs))
	}
	for _, c := range cs {
		if len(c.series) == 0 || !slices.Equal(c.series, c.legend) || !slices.Equal(c.series, c.columns[1:]) || len(c.rows) == 0 {
			t.Errorf("%s: series %q, legend %q, table %q, %d rows", c.title, c.series, c.legend, c.columns, len(c.rows))
			continue
		}
		for i, name := range c.series {
			var values []float64
			for _, row := range c.rows {
				if v, err := strconv.ParseFloat(row[i+1], 64); err == nil {
					values = append(values, v)
				}
			}
			line, drawn := c.lines[name]
			if drawn && len(line) != len(values) {
				t.Errorf("%s, %s: %d points drawn, %d numbers", c.title, name, len(line), len(values))
				continue
			}
			for j := 1; j < len(line); j++ {
				if up, higher := line[j] > line[j-1]+0.02, values[j] > values[j-1]; up && !higher || line[j] < line[j-1]-0.02 && values[j] >= values[j-1] {
					t.Errorf("%s, %s: %v to %v is drawn at %v to %v", c.title, name, values[j-1], values[j], line[j-1], line[j])
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
	for _, c := range []struct {
		title string
		row   int
		want  string
	}{
		// By tenants: the scenarios that differ in nothing else, from one file; medians.
		{"8 producers, 8 consumers by tenants, no work", 1, "64 1052064 2052064 3052064 4052064 5052064"},
		{"8 producers, 8 consumers by tenants, no work", 2, "100000 1152000 2152000 3152000 4152000 5152000"},
		{"contended by cores, no work", 0, "2 1052064 2052064 3052064 4052064 5052064"},
		{"contended by cores, no work", 2, "8 1058064 2058064 3058064 4058064 5058064"},
		{"contended by cores, no work, 100 tenants", 2, "4 4000100 4000100 4000100 4000100 4000100"},
		{"contended, 4 producers, 8 consumers by tenants, no work, 2 cores", 0, "10 2000010 2000010 2000010 2000010 2000010"},
		// At a rate, from the intended start on.
		{"contended: queue time by rate, 99th percentile, constant arrivals", 1, "50000 21000 21000 21000 21000 21000"},
		{"contended: queue time, 50k/s constant", 0, "0 350 350 350 350 350"},
		{"contended: enqueue call, 50k/s constant", 0, "0 150 150 150 150 150"},
		// The least of a latency, median of 50 and 100 ns.
		{"contended: enqueue call, no work", 0, "0 75 125 175 225 275"},
		{"zipf: queue time, quiet tenants, no work", 0, "0 275 325 375 425 475"},
		{"overload, service 20µs/task: quiet tenants", 25, "0.5 100 20 40 60 80 100"},
		{"zipf, no work: noisy &lt;one&gt;", 0, "0.02 10000 20000 30000 40000 50000"},
		{"x.csv: queue time of quiet tenants, 99th percentile", 1, "16 937500 625000 468750 375000"},
		{"replay of x.csv, 8 workers: quiet tenants, waiting", 3, "0.06 0 0 0 0"},
	} {
		if got := row(c.title, c.row); got != c.want {
			t.Errorf("%s, row %d: %s, want %s", c.title, c.row, got, c.want)
		}
	}
	// A file of before there were points: what it has, and the greatest.
	old := find(t, charts(write(t, everything()[2:3])), "contended: enqueue call, no work")
	var got []string
	for _, r := range old.rows {
		got = append(got, r[0]+" "+r[1])
	}
	if want := []string{"0.5 150", "0.95 600", "0.99 4500", "0.999 150000", "0.99995 10500000"}; !slices.Equal(got, want) {
		t.Errorf("few points: %q, want %q", got, want)
	}
	if q := find(t, cs, "contended: enqueue call, no work"); len(q.rows) != 23 { // 0 % and 21 more down to 1 in 20,000, and the greatest
		t.Errorf("%d points of a latency: %v", len(q.rows), q.rows)
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
			"old.json: only p50, p95", "no chart by cores", "no chart by tenants", "old.json: no record of who was served when", "No file is a replay",
		}, []string{"by cores, no", "by tenants, no"}},
		{[]File{{"q.json", ran(2, true, "contended")}}, []string{"q.json: no scenario with noisy tenants"}, []string{"only p50"}},
		{everything()[4:5], []string{"No file holds latencies", "No file holds throughput", "r16.json: only p50", "r16.json: no record of who"}, []string{"By workers"}},
		{everything()[:1], []string{"no chart by cores"}, []string{"only p50", "no record of who", "no chart by tenants"}},
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
	broken := ran(2, true, "contended")
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

// Points of different machines or commits are not joined, and of two runs of the
// same thing the last one counts.
func TestNotCompared(t *testing.T) {
	other := ran(8, true, "contended")
	other.Env.Commit = "4567"
	cs := charts(write(t, []File{{"a.json", ran(2, true, "contended")}, {"b.json", other}}))
	for _, c := range cs {
		if strings.Contains(c.title, "by cores") {
			t.Errorf("there is %s", c.title)
		}
	}
	again := ran(2, true, "contended")
	again.Run.Cells[0].Runs[0].TasksPerSec, again.Run.Cells[0].Runs[len(names)].TasksPerSec = 5, 5
	cs = charts(write(t, []File{{"a.json", ran(2, true, "contended")}, {"b.json", ran(8, true, "contended")}, {"c.json", again}}))
	if got := find(t, cs, "contended by cores, no work").rows[0][1]; got != "5" {
		t.Errorf("got %s of two runs, want that of the last one", got)
	}
	pinned := ran(8, true, "contended")
	pinned.Env.Pinned = []int{3}
	cs = charts(write(t, []File{{"a.json", ran(2, true, "contended")}, {"b.json", pinned}}))
	if got := find(t, cs, "contended by cores, no work").rows[0][0]; got != "1" {
		t.Errorf("pinned to one processor: %s cores", got)
	}
}

// A contestant has one colour, on every chart and in every page; others have
// theirs too.
func TestSlots(t *testing.T) {
	slot := regexp.MustCompile(`class="series (s\d+)" data-series="([^"]*)"`)
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
