package page

import (
	"bytes"
	"encoding/json"
	"encoding/xml"
	"errors"
	"fmt"
	"io"
	"math"
	"os"
	"path/filepath"
	"regexp"
	"slices"
	"strconv"
	"strings"
	"sync"
	"testing"
	"time"

	"github.com/firq-go/firq/internal/bench/contest"
	"github.com/firq-go/firq/internal/bench/load"
	"github.com/firq-go/firq/internal/bench/machine"
	"github.com/firq-go/firq/internal/bench/replay"
	"github.com/firq-go/firq/internal/bench/report"
	"github.com/firq-go/firq/internal/bench/scenario"
	"github.com/firq-go/firq/internal/bench/suite"
	"github.com/firq-go/firq/internal/bench/sweep"
)

var names = []string{contest.Lockfree, contest.OneLock, contest.Sharded, contest.Channel}

// latency has a point for each quantile, if it is to have points.
func latency(scale float64, points bool) load.Latency {
	l := load.Latency{Samples: 20_000, P50: time.Duration(100 * scale), P95: time.Duration(400 * scale), P99: time.Duration(3000 * scale),
		P999: time.Duration(1e5 * scale), Max: time.Duration(7e6 * scale)}
	for k := 0; points && (1-load.PointQuantile(k))*float64(l.Samples) >= 1; k++ {
		l.Points = append(l.Points, time.Duration(scale*50*math.Pow(1.7, float64(k))))
	}
	return l
}

func record(rate float64) *load.Service {
	s := &load.Service{Unit: "tasks", Lines: []load.ServiceLine{{Name: "noisy <one>", Tenants: 1}, {Name: scenario.FocusQuiet, Tenants: 9}}}
	for i := range 25 {
		s.Ends = append(s.Ends, time.Duration(i+1)*20*time.Millisecond)
		for j := range s.Lines {
			l := &s.Lines[j]
			l.Asked = append(l.Asked, 1000)
			l.Served = append(l.Served, int64(rate*1000))
		}
	}
	return s
}

// ran makes a file of two rounds of the named scenarios.
func ran(cores int, points bool, scenarios ...string) *report.File {
	chosen, err := scenario.Choose(scenarios, nil)
	if err != nil {
		panic(err)
	}
	f := &report.File{Schema: report.Schema, Env: machine.Env{Commit: "0123", GoVersion: "go1.x", CPU: "some <cpu>", Cores: 8, GOMAXPROCS: cores, Command: "firqbench run 'x y'"},
		Run: &report.RunSection{Rounds: 2, Measure: time.Second, Contestants: names}}
	for _, s := range chosen {
		cell := suite.Cell{Scenario: s}
		for round := range 2 {
			for i, name := range names {
				r := load.Result{TasksPerSec: float64((1+i)*1e6 + round*1e5 + s.Tenants + 1000*cores), Enqueue: latency(float64(1+i+round), points), Queue: latency(float64(10+i+round), points)}
				if s.Focus != "" {
					l := latency(float64(5+i+round), points)
					r.Focus = &l
				}
				if points && round == 0 && s.Hot() > 0 {
					r.Service = record(0.2 * float64(i+1))
				}
				cell.Runs = append(cell.Runs, suite.Run{Contestant: name, Round: round, Result: r})
			}
		}
		f.Run.Cells = append(f.Run.Cells, cell)
	}
	return f
}

func replayed(workers int, points bool) *report.File {
	r := &replay.Report{
		Trace: replay.TraceFacts{Name: "/some/where/x.csv", Requests: 20_000, Tenants: 100, Span: time.Hour, Cost: 50_000},
		Plan:  replay.Plan{Workers: workers, Load: 0.95, Span: 10 * time.Second, Quantum: 5},
	}
	for i, name := range []string{contest.FIFO, contest.OneLock, contest.Lockfree} {
		res := replay.Result{Contestant: name}
		for j, group := range []string{replay.GroupAll, replay.GroupQuiet, replay.GroupBusiest} {
			res.Groups = append(res.Groups, replay.GroupTime{Group: replay.Group{Name: group, Tenants: 50}, Queue: latency(1e4/float64(workers)/float64(1+i+j), points)})
		}
		if points {
			res.Service = record(1)
		}
		r.Results = append(r.Results, res)
	}
	return &report.File{Schema: report.Schema, Env: machine.Env{Commit: "0123", Cores: 8, GOMAXPROCS: 8}, Replay: r}
}

// swept is a sweep over cores, with twice as many producers, and tenants.
func swept() *report.File {
	two, err := sweep.ParseValue("2x")
	if err != nil {
		panic(err)
	}
	var tenants []sweep.Value
	for _, n := range []string{"10", "100", "1000"} {
		v, err := sweep.ParseValue(n)
		if err != nil {
			panic(err)
		}
		tenants = append(tenants, v)
	}
	f := ran(8, true, "contended")
	cell := f.Run.Cells[0]
	f.Run, f.Sweep = nil, &sweep.Report{Plan: sweep.Plan{Producers: []sweep.Value{two}, Tenants: tenants, Rounds: 2, Duration: time.Second}, Steps: 20, Done: 18}
	for _, cores := range []int{1, 2, 4} {
		for _, tenants := range []int{10, 100, 1000} {
			for _, rate := range []float64{0, 500} {
				c := cell
				c.Point = &suite.Point{GOMAXPROCS: 8, Pinned: make([]int, cores)}
				c.Scenario.Tenants, c.Scenario.Producers = tenants, 2*cores
				c.Variant.Rate, c.Variant.Arrivals = rate, "poisson"
				c.Runs = nil
				for _, r := range cell.Runs {
					r.TasksPerSec = float64(cores*1e6 + tenants)
					if rate > 0 {
						r.TasksPerSec = rate
						r.Open = &load.Open{Enqueue: latency(3, true), Queue: latency(7, true)}
					}
					c.Runs = append(c.Runs, r)
				}
				f.Sweep.Cells = append(f.Sweep.Cells, c)
			}
		}
	}
	return f
}

// opened is a run at two rates.
func opened() *report.File {
	f := ran(2, true, "contended")
	slow := f.Run.Cells[0]
	slow.Variant.Rate, slow.Variant.Arrivals = 1000, "constant"
	for i := range slow.Runs {
		slow.Runs[i].Open = &load.Open{Enqueue: latency(3, true), Queue: latency(7, true)}
	}
	fast := slow
	fast.Variant.Rate = 50_000
	f.Run.Cells = []suite.Cell{slow, fast}
	return f
}

// everything is files that make every kind of chart.
func everything() []File {
	return []File{
		{"a/run.json", ran(2, true, "contended", "many_tenants", "single_hot_tenant", "zipf", "overload")},
		{"b/run.json", ran(8, true, "contended")},
		{"old.json", ran(4, false, "contended", "zipf")},
		{"r8.json", replayed(8, true)},
		{"r16.json", replayed(16, false)},
		{"sweep.json", swept()},
		{"open.json", opened()},
	}
}

func write(t *testing.T, files []File) string {
	t.Helper()
	var b bytes.Buffer
	if err := Write(&b, files); err != nil {
		t.Fatal(err)
	}
	return b.String()
}

// whole is the page of everything, and its charts.
var whole = sync.OnceValues(func() (string, []drawn) {
	var b strings.Builder
	if err := Write(&b, everything()); err != nil {
		panic(err)
	}
	return b.String(), charts(b.String())
})

// drawn is a chart as the page has it.
type drawn struct {
	title   string
	legend  []string
	series  []string             // of the picture
	lines   map[string][]float64 // heights in the picture, where there is a line
	columns []string             // of the table
	rows    [][]string           // exact values
}

var (
	figures = regexp.MustCompile(`(?s)<figure id="([^"]+)">\n<figcaption>(.*?)</figcaption>(.*?)</figure>`)
	inList  = regexp.MustCompile(`<li><svg class="swatch".*?</svg>(.*?)</li>`)
	inSVG   = regexp.MustCompile(`data-series="(.*?)"><title>[^<]*</title>(?:<path class="line" d="(.*?)"/>)?`)
	columns = regexp.MustCompile(`<th scope="col">(.*?)</th>`)
	rows    = regexp.MustCompile(`<tr><th scope="row">.*</tr>`)
	cells   = regexp.MustCompile(`<t[hd][^>]*>(?:<data value="(.*?)">[^<]*</data>)?`)
	points  = regexp.MustCompile(`[ML][-\d.]+ ([-\d.]+)`)
)

func all(re *regexp.Regexp, text string) (found []string) {
	for _, m := range re.FindAllStringSubmatch(text, -1) {
		found = append(found, m[1])
	}
	return found
}

func charts(html string) (cs []drawn) {
	for _, m := range figures.FindAllStringSubmatch(html, -1) {
		c := drawn{title: m[2], legend: all(inList, m[3]), lines: map[string][]float64{}, columns: all(columns, m[3])}
		for _, s := range inSVG.FindAllStringSubmatch(m[3], -1) {
			c.series = append(c.series, s[1])
			for _, y := range all(points, s[2]) {
				v, _ := strconv.ParseFloat(y, 64)
				c.lines[s[1]] = append(c.lines[s[1]], v)
			}
		}
		for _, row := range rows.FindAllString(m[3], -1) {
			c.rows = append(c.rows, all(cells, row))
		}
		cs = append(cs, c)
	}
	return cs
}

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
				if up, higher := line[j] < line[j-1]-0.02, values[j] > values[j-1]; up && !higher || line[j] > line[j-1]+0.02 && values[j] >= values[j-1] {
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
		{"8 producers, 8 consumers by tenants, no work", 1, "64 1052064 2052064 3052064 4052064"},
		{"8 producers, 8 consumers by tenants, no work", 2, "100000 1152000 2152000 3152000 4152000"},
		{"contended by cores, no work", 0, "2 1052064 2052064 3052064 4052064"},
		{"contended by cores, no work", 2, "8 1058064 2058064 3058064 4058064"},
		{"contended by cores, no work, 100 tenants", 2, "4 4000100 4000100 4000100 4000100"},
		{"contended, 4 producers, 8 consumers by tenants, no work, 2 cores", 0, "10 2000010 2000010 2000010 2000010"},
		// At a rate, from the intended start on.
		{"contended: queue time by rate, 99th percentile, constant arrivals", 1, "50000 21000 21000 21000 21000"},
		{"contended: queue time, 50k/s constant", 0, "0 350 350 350 350"},
		{"contended: enqueue call, 50k/s constant", 0, "0 150 150 150 150"},
		// The least of a latency, median of 50 and 100 ns.
		{"contended: enqueue call, no work", 0, "0 75 125 175 225"},
		{"zipf: queue time, quiet tenants, no work", 0, "0 275 325 375 425"},
		{"overload, service 20µs/task: quiet tenants", 25, "0.5 100 20 40 60 80"},
		{"zipf, no work: noisy &lt;one&gt;", 0, "0.02 10000 20000 30000 40000"},
		{"x.csv: queue time of quiet tenants, 99th percentile", 1, "16 937500 625000 468750"},
		{"replay of x.csv, 8 workers: quiet tenants, waiting", 3, "0.06 0 0 0"},
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
	again.Run.Cells[0].Runs[0].TasksPerSec, again.Run.Cells[0].Runs[4].TasksPerSec = 5, 5
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
	slot := regexp.MustCompile(`class="series (s\d)" data-series="([^"]*)"`)
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
	want := map[string]string{"lockfree": "s0", "baseline-1": "s1", "baseline-sharded": "s2", "channel": "s3", "fifo": "s4", "asked for": "s9"}
	if fmt.Sprint(of) != fmt.Sprint(want) {
		t.Errorf("slots %v, want %v", of, want)
	}
	s := slots{}
	if a, b := s.of("mine"), s.of("yours"); a == b || a < firstFree || b < firstFree || a == slotAsked || b == slotAsked || s.of("mine") != a {
		t.Errorf("others have slots %d and %d", a, b)
	}
}

// The page is well-formed, needs nothing from elsewhere, and its links lead
// somewhere. The same files give the same page.
func TestSelfContained(t *testing.T) {
	html, _ := whole()
	if html != write(t, everything()) {
		t.Error("the same files give two different pages")
	}
	d := xml.NewDecoder(strings.NewReader(html))
	d.Strict, d.Entity = true, xml.HTMLEntity
	ids, links := map[string]int{}, map[string]bool{}
	for {
		token, err := d.Token()
		if errors.Is(err, io.EOF) {
			break
		} else if err != nil {
			t.Fatal(err)
		}
		start, ok := token.(xml.StartElement)
		if !ok {
			continue
		}
		if slices.Contains([]string{"script", "link", "img", "iframe", "object", "embed", "base", "form", "use", "image"}, start.Name.Local) {
			t.Errorf("there is a %s", start.Name.Local)
		}
		for _, a := range start.Attr {
			switch {
			case a.Name.Local == "id":
				ids[a.Value]++
			case a.Name.Local == "href" && strings.HasPrefix(a.Value, "#"):
				links[a.Value[1:]] = true
			case a.Name.Local == "aria-labelledby":
				for _, id := range strings.Fields(a.Value) {
					links[id] = true
				}
			case strings.Contains(a.Value, "//") || a.Name.Local == "src" || a.Name.Local == "href" || strings.HasPrefix(a.Name.Local, "on"):
				t.Errorf("<%s %s=%q>", start.Name.Local, a.Name.Local, a.Value)
			}
		}
	}
	for id, n := range ids {
		if n > 1 {
			t.Errorf("%d elements have the id %s", n, id)
		}
	}
	for id := range links {
		if ids[id] == 0 {
			t.Errorf("#%s leads nowhere", id)
		}
	}
	if s := regexp.MustCompile(`url\(|@import|http`).FindString(Style); s != "" {
		t.Errorf("the style sheet has %s", s)
	}
	for _, want := range []string{`lang="en"`, `name="viewport"`, "prefers-color-scheme: dark", "some &lt;cpu&gt;", "firqbench run &#39;x y&#39;", "a/run.json", "b/run.json"} {
		if !strings.Contains(html, want) {
			t.Errorf("%s is missing", want)
		}
	}
}

// The committed results make a page.
func TestResults(t *testing.T) {
	paths, _ := filepath.Glob("../../../results/*.json")
	if len(paths) == 0 {
		t.Fatal("no results")
	}
	files, err := Read(paths)
	if err != nil {
		t.Fatal(err)
	}
	if n := strings.Count(write(t, files), "<figure "); n < 10 {
		t.Errorf("%d charts of %d files", n, len(files))
	}
}

func TestRead(t *testing.T) {
	path := filepath.Join(t.TempDir(), "f.json")
	for text, want := range map[string]string{
		`{"schema":"firqbench/2","run":[]}`: `"firqbench/2", newer than "firqbench/1"`,
		`{"schema":"other/9"}`:              `"other/9", this program reads "firqbench/1"`,
		`{"a":1}`:                           "is not a result file of firqbench",
		`# text`:                            "is not a result file",
		`{"schema":"firqbench/1","run":[]}`: "cannot unmarshal",
	} {
		if err := os.WriteFile(path, []byte(text), 0o600); err != nil {
			t.Fatal(err)
		}
		if _, err := Read([]string{path}); err == nil || !strings.HasPrefix(err.Error(), path+": ") || !strings.Contains(err.Error(), want) {
			t.Errorf("%s: %v, want %s: ... %s", text, err, path, want)
		}
	}
	if _, err := Read([]string{path + "x"}); !errors.Is(err, os.ErrNotExist) {
		t.Errorf("no file: %v", err)
	}
	good, err := json.Marshal(ran(2, true, "contended"))
	if err := errors.Join(err, os.WriteFile(path, good, 0o600)); err != nil {
		t.Fatal(err)
	}
	if files, err := Read([]string{path, path}); err != nil || len(files) != 2 || files[0].Path != path || len(files[1].Run.Cells) != 1 {
		t.Errorf("%+v, %v", files, err)
	}
}

func TestWords(t *testing.T) {
	for _, c := range []struct{ got, want string }{
		{percentile(0), "0%"}, {percentile(0.5), "50%"}, {percentile(load.PointQuantile(1)), "36.9%"}, {percentile(0.9), "90%"}, {percentile(0.99), "99%"},
		{percentile(0.999), "99.9%"}, {percentile(0.9999), "99.99%"}, {percentile(0.99995), "99.995%"}, {percentile(0.999999), "99.9999%"},
		{duration(100), "100ns"}, {duration(1e6), "1ms"}, {duration(1.25e6), "1.25ms"}, {duration(3e5), "300µs"}, {duration(2.5e9), "2.5s"},
		{count(0), "0"}, {count(8e6), "8M"}, {count(2.5e3), "2.5k"}, {count(64), "64"},
	} {
		if c.got != c.want {
			t.Errorf("got %q, want %q", c.got, c.want)
		}
	}
}

// Colours stand out from the card that they are drawn on: at least 3 to 1, as WCAG
// 2.2 has it for graphics (1.4.11); text has at least 4.5 to 1 (1.4.3).
func TestContrast(t *testing.T) {
	light, dark, ok := strings.Cut(Style, "@media (prefers-color-scheme: dark)")
	if !ok {
		t.Fatal("no dark theme")
	}
	for theme, css := range map[string]string{"light": light, "dark": dark} {
		colours := map[string]float64{}
		for _, m := range regexp.MustCompile(`--([a-z0-9-]+): #([0-9a-f]{6});`).FindAllStringSubmatch(css, -1) {
			colours[m[1]] = luminance(m[2])
		}
		contrast := func(a, b string) float64 {
			x, y := colours[a], colours[b]
			return (max(x, y) + 0.05) / (min(x, y) + 0.05)
		}
		for slot := range 10 {
			if c := contrast(fmt.Sprintf("s%d", slot), "card"); c < 3 {
				t.Errorf("%s: s%d has a contrast of %.2f", theme, slot, c)
			}
		}
		for _, p := range [][2]string{{"ink", "paper"}, {"dim", "paper"}, {"dim", "card"}, {"ink", "card"}, {"link", "card"}, {"link", "paper"}, {"warn-ink", "warn"}} {
			if c := contrast(p[0], p[1]); c < 4.5 {
				t.Errorf("%s: %s on %s has a contrast of %.2f", theme, p[0], p[1], c)
			}
		}
	}
}

// luminance is WCAG's relative luminance of a colour in hexadecimal.
func luminance(hex string) float64 {
	v, _ := strconv.ParseUint(hex, 16, 32)
	channel := func(shift int, weight float64) float64 {
		c := float64(v>>shift&255) / 255
		if c <= 0.04045 {
			return weight * c / 12.92
		}
		return weight * math.Pow((c+0.055)/1.055, 2.4)
	}
	return channel(16, 0.2126) + channel(8, 0.7152) + channel(0, 0.0722)
}
