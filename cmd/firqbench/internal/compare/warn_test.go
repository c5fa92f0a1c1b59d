package compare

import (
	"slices"
	"strings"
	"testing"
	"time"

	"github.com/firq-go/firq/cmd/firqbench/internal/contest"
	"github.com/firq-go/firq/cmd/firqbench/internal/report"
	"github.com/firq-go/firq/cmd/firqbench/internal/suite"
	"github.com/firq-go/firq/cmd/firqbench/internal/sweep"
)

// Whatever makes two files hard to compare is said, and nothing else.
func TestWarnings(t *testing.T) {
	steady := func() *report.File { return file(cell("s", rates{"lockfree": upwards(1000, 10)})) }
	with := func(rs rates) func(*report.File) { return func(f *report.File) { f.Run.Cells[0] = cell("s", rs) } }
	for _, c := range []struct {
		change func(*report.File)
		want   string // "": no warning
	}{
		{func(*report.File) {}, ""},
		{func(f *report.File) { f.Env.Commit, f.Env.Command, f.Env.Start = "b", "c", time.Now() }, ""},
		{func(f *report.File) { f.Env.CPU = "y" }, "the processor differs: x, now y"},
		{func(f *report.File) { f.Env.Cores = 4 }, "the number of cores differs: 8, now 4"},
		{func(f *report.File) { f.Env.GOMAXPROCS = 2 }, "GOMAXPROCS differs: 8, now 2"},
		{func(f *report.File) { f.Env.Pinned = []int{0, 1} }, "pinned to differs: none, now [0 1]"},
		{func(f *report.File) { f.Env.GoVersion = "go1.27" }, "Go differs: go1.26, now go1.27"},
		{func(f *report.File) { f.Env.Kernel = "7" }, "the kernel differs"},
		{func(f *report.File) { f.Run.Measure = 2 * time.Second }, "--duration differs: 1s, now 2s"},
		{func(f *report.File) { f.Run.Warmup = 1 }, "--warmup differs"},
		{func(f *report.File) { f.Run.Contestants = []string{"a", "b"} }, "contestants differs: lockfree, now a,b"},
		{func(f *report.File) { f.Run.Cells[0].Scenario.Tenants = 65 }, "s, no work was not run alike: tenants was 64, is 65"},
		{func(f *report.File) { f.Interrupted = true }, "the new file is of a run that was interrupted"},
		{func(f *report.File) { f.Env.Load = "3.5" }, ""}, // that of the compiler, say
		{func(f *report.File) { disturb(f, 0.58) }, "other programs used 58% of the machine's processor time while the new file was measured"},
		{func(f *report.File) { disturb(f, 0.09) }, ""},
		{func(f *report.File) { f.Run.Cells = append(f.Run.Cells, cell("t", rates{"lockfree": {1}})) }, "only the new file has t, no work"},
		{with(rates{"lockfree": {700, 1000, 1400, 900, 1100, 1000}}), "noisy in the new file: rounds lie within 35%"},
		{with(rates{"lockfree": upwards(1000, 4)}), "there are as few as 4 runs, and p cannot become small: use --rounds 10 or more"},
		{with(rates{"lockfree": upwards(1000, 1)}), "comparisons have too few values to find any difference"},
	} {
		now := steady()
		c.change(now)
		got, err := Files(one(steady()), one(now), Options{Metrics: choose(t, "tasks/s")})
		if err != nil {
			t.Fatal(err)
		}
		if all := strings.Join(got.Warnings, "\n"); c.want == "" && len(got.Warnings) > 1 || !strings.Contains(all, c.want) { // one says that there is one series
			t.Errorf("got %q, want %q", all, c.want)
		}
	}
	old := steady()
	old.Run.Cells = append(old.Run.Cells, cell("t", rates{"lockfree": {1}}))
	old.Run.Cells[0] = cell("s", rates{"lockfree": upwards(1000, 10), "gone": upwards(1000, 10)})
	got, err := Files(one(old), one(steady()), Options{Metrics: choose(t, "tasks/s")})
	for _, want := range []string{"only the old file has t, no work", "only the old file has gone in s, no work"} {
		if err != nil || !slices.Contains(got.Warnings, want) {
			t.Errorf("%q, %v; want %q", got.Warnings, err, want)
		}
	}
}

// disturb makes f a file of runs in which other programs used this part of the machine.
func disturb(f *report.File, others float64) {
	for _, c := range f.Run.Cells {
		for i := range c.Runs {
			c.Runs[i].Others = others
		}
	}
}

// Two contestants of one file suffer from a busy machine as well.
func TestWarningOfOneFile(t *testing.T) {
	f := file(cell("s", rates{"a": upwards(1000, 10), "b": upwards(1000, 10)}))
	disturb(f, 0.4)
	got, err := Contestants(f, Options{Metrics: choose(t, "tasks/s"), Contestants: []string{"a", "b"}})
	if want := "other programs used 40% of the machine's processor time while the one file was measured"; err != nil || !slices.Contains(got.Warnings, want) {
		t.Error(got.Warnings, err)
	}
}

// With several series, what is not the same in all of them is said, once.
func TestWarningsOfSeries(t *testing.T) {
	old, now := series(upwards(1000, 5)), series(upwards(1000, 5))
	now[2].Env.Kernel, now[3].Env.Kernel = "7", "7"
	now[1].Run.Cells = append(now[1].Run.Cells, cell("t", rates{"lockfree": {1}}))
	old[4].Run.Cells = nil
	old[0].Env.Load = "7" // that of the series before
	got, err := Files(old, now, Options{Metrics: choose(t, "tasks/s")})
	want := []string{
		"the kernel differs: none, now 7", "s, no work is in 4 of 5 old files and 5 of 5 new ones", "only the new file has t, no work",
		"there are as few as 4 series, and p cannot become small: run 5 or more of each",
	}
	if err != nil || !slices.Equal(got.Warnings, want) || got.Unit != Series {
		t.Errorf("%s: %q, %v; want %q", got.Unit, got.Warnings, err, want)
	}
}

// The channel is the control: where it is not what it was, the machine is not.
func TestControl(t *testing.T) {
	for _, c := range []struct {
		now    float64
		warned bool
	}{{1000, false}, {1500, true}} {
		old := file(cell("s", rates{contest.Channel: upwards(1000, 6), contest.Lockfree: upwards(1000, 6)}))
		now := file(cell("s", rates{contest.Channel: upwards(c.now, 6), contest.Lockfree: upwards(1000, 6)}))
		got, err := Files(one(old), one(now), Options{Contestants: []string{contest.Lockfree}})
		if err != nil || strings.Contains(strings.Join(got.Warnings, "\n"), "the machine was not the same") != c.warned {
			t.Errorf("the channel at %v, was 1000: %q, %v", c.now, got.Warnings, err)
		}
	}
}

// The same scenario with other settings is another cell in a sweep.
func TestKey(t *testing.T) {
	a, b := cell("s", nil), cell("s", nil)
	b.Scenario.Tenants = 7
	if key(&a) != key(&b) {
		t.Error("settings are part of the key of a run")
	}
	swept := file()
	swept.Run, swept.Sweep = nil, &sweep.Report{Plan: sweep.Plan{Warmup: 5}, Cells: []suite.Cell{cell("s", rates{"a": upwards(1, 6)})}}
	other := file()
	other.Run, other.Sweep = nil, &sweep.Report{Cells: swept.Sweep.Cells}
	if got, err := Files(one(swept), one(other), Options{}); err != nil || !slices.Contains(got.Warnings, "--warmup differs: 5ns, now 0s") {
		t.Errorf("two sweeps: %+v, %v", got, err)
	}
	a.Point, b.Point = &suite.Point{GOMAXPROCS: 2}, &suite.Point{GOMAXPROCS: 2}
	if key(&a) == key(&b) || variant(&a) == variant(&b) {
		t.Error("settings are no part of the key of a sweep")
	}
}
