package compare

import (
	"fmt"
	"reflect"
	"slices"
	"strconv"
	"strings"
	"time"

	"github.com/firq-go/firq/cmd/firqbench/internal/contest"
	"github.com/firq-go/firq/cmd/firqbench/internal/machine"
	"github.com/firq-go/firq/cmd/firqbench/internal/metric"
	"github.com/firq-go/firq/cmd/firqbench/internal/report"
	"github.com/firq-go/firq/cmd/firqbench/internal/scenario"
	"github.com/firq-go/firq/cmd/firqbench/internal/stats"
	"github.com/firq-go/firq/cmd/firqbench/internal/suite"
	"github.com/firq-go/firq/cmd/firqbench/internal/usage"
)

func (c *Comparison) warn(format string, args ...any) {
	if text := fmt.Sprintf(format, args...); !slices.Contains(c.Warnings, text) {
		c.Warnings = append(c.Warnings, text)
	}
}

// key tells the cells of a file apart. In a sweep the same scenario occurs with
// different settings; elsewhere those are no part of it, so that a change of
// them is seen as one.
func key(c *suite.Cell) string {
	k := c.Scenario.Name + " " + c.Label()
	if c.Point != nil {
		s := &c.Scenario
		k += fmt.Sprint(" ", c.Point.GOMAXPROCS, s.Producers, s.Consumers, s.Tenants, s.Shards, s.Batch)
	}
	return k
}

// byKey returns the cells of the files, one of each file that has it.
func byKey(files []*report.File) map[string][]*suite.Cell {
	m := make(map[string][]*suite.Cell)
	for _, f := range files {
		for i := range f.Cells() {
			c := &f.Cells()[i]
			m[key(c)] = append(m[key(c)], c)
		}
	}
	return m
}

// keys returns those of all files, in the order of the first that has them.
func keys(files []*report.File) (ks []string) {
	for _, f := range files {
		for i := range f.Cells() {
			if k := key(&f.Cells()[i]); !slices.Contains(ks, k) {
				ks = append(ks, k)
			}
		}
	}
	return ks
}

// alike warns of cells that were not run alike, or that not all files have.
func (c *Comparison) alike(a, b []*suite.Cell, olds, news int) {
	if len(a) != olds || len(b) != news {
		c.warn("%s is in %d of %d old files and %d of %d new ones", title(a[0]), len(a), olds, len(b), news)
	}
	for _, other := range slices.Concat(a[1:], b) {
		if same, what := settings(a[0], other); !same {
			c.warn("%s was not run alike: %s", title(a[0]), what)
		}
	}
}

// variant is what people call a cell, after the name of its scenario.
func variant(c *suite.Cell) string {
	if c.Point == nil {
		return c.Label()
	}
	s := &c.Scenario
	shards := "default"
	if s.Shards > 0 {
		shards = strconv.Itoa(s.Shards)
	}
	return fmt.Sprintf("%s, %d processors, %d+%d goroutines, %d tenants, %s shards", c.Label(), c.Point.GOMAXPROCS, s.Producers, s.Consumers, s.Tenants, shards)
}

func title(c *suite.Cell) string { return c.Scenario.Name + ", " + variant(c) }

// environments warns of what is not the same for all files, other than the program.
func (c *Comparison) environments(before, after []*report.File) {
	first := before[0]
	for _, other := range slices.Concat(before[1:], after) {
		ds := first.Env.Differences(&other.Env)
		a, b := optionsOf(first), optionsOf(other)
		for i := range a {
			ds = append(ds, machine.Difference{Name: a[i][0], Old: a[i][1], New: b[i][1]})
		}
		for _, d := range ds {
			if d.Old != d.New {
				c.warn("%s differs: %s, now %s", d.Name, quote(d.Old), quote(d.New))
			}
		}
	}
	c.disturbed("old", before)
	c.disturbed("new", after)
}

// disturbed warns of a run that was not whole, or not alone on its machine. The load before it is
// no sign of that: it is what the compiler, or the series before, has left behind.
func (c *Comparison) disturbed(which string, files []*report.File) {
	others := 0.0
	for _, f := range files {
		if f.Interrupted {
			c.warn("the %s file is of a run that was interrupted", which)
		}
		others = max(others, f.Others())
	}
	if others >= usage.Busy {
		c.warn("other programs used %s of the machine's processor time while the %s file was measured", report.Percent(others), which)
	}
}

// optionsOf are the names and values of the options that figures depend on.
func optionsOf(f *report.File) [][2]string {
	var warmup, measure time.Duration
	var contestants []string
	switch {
	case f.Run != nil:
		warmup, measure, contestants = f.Run.Warmup, f.Run.Measure, f.Run.Contestants
	case f.Sweep != nil:
		warmup, measure, contestants = f.Sweep.Plan.Warmup, f.Sweep.Plan.Duration, f.Sweep.Plan.Contestants
	}
	return [][2]string{{"--duration", measure.String()}, {"--warmup", warmup.String()}, {"contestants", strings.Join(contestants, ",")}}
}

func quote(s string) string {
	if s == "" {
		return "none"
	}
	return s
}

// settings compares how a cell was run, and says what differs.
func settings(a, b *suite.Cell) (same bool, what string) {
	plain := func(s scenario.Scenario) scenario.Scenario {
		s.About, s.More = "", ""
		return s
	}
	x, y := reflect.ValueOf(plain(a.Scenario)), reflect.ValueOf(plain(b.Scenario))
	var parts []string
	for i := range x.NumField() {
		if !x.Field(i).Equal(y.Field(i)) {
			parts = append(parts, fmt.Sprintf("%s was %v, is %v", strings.ToLower(x.Type().Field(i).Name), x.Field(i), y.Field(i)))
		}
	}
	return len(parts) == 0, strings.Join(parts, ", ")
}

// noisy is the spread (half the range of the rounds / their median) beyond which a
// machine was not quiet.
const noisy = 0.15

// noise warns of a file whose runs do not agree with each other, and says what
// that means for the comparison. Files that were written at different times are
// then hard to compare: the machine may have been another one.
func (c *Comparison) noise(which string, f *report.File, meaning string) {
	rate, err := metric.Choose([]string{"tasks/s"})
	if err != nil {
		panic("firq: " + err.Error())
	}
	var spreads []float64
	for i := range f.Cells() {
		cell := &f.Cells()[i]
		for _, name := range contestants([]*suite.Cell{cell}) {
			if vs := values(cell, name, rate[0]); len(vs) > 1 {
				spreads = append(spreads, stats.Spread(vs))
			}
		}
	}
	if m := stats.Median(spreads); m > noisy {
		c.warn("the machine was noisy in the %s file: rounds lie within %.0f%% of their median; %s", which, 100*m, meaning)
	}
}

// control looks at the channel, which no change of ours makes faster: where it
// differs, the machine does.
func (c *Comparison) control(olds, news map[string][]*suite.Cell) {
	probe := Comparison{Alpha: c.Alpha, Unit: c.Unit}
	rate, err := metric.Choose([]string{"tasks/s"})
	if err != nil {
		panic("firq: " + err.Error())
	}
	for k, a := range olds {
		if b := news[k]; b != nil {
			probe.compare(a, b, contest.Channel, contest.Channel, rate)
		}
	}
	changed := 0
	for _, r := range probe.Rows {
		if r.P <= c.Alpha && r.Old.Median != r.New.Median {
			changed++
		}
	}
	if float64(changed) > 2*c.Alpha*float64(len(probe.Rows)) { // more than chance explains
		c.warn("the Go channel, which has not changed, has other tasks/s in %d of %d comparisons: the machine was not the same", changed, len(probe.Rows))
	}
}
