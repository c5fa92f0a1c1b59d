package page

import (
	"math"
	"time"

	"github.com/firq-go/firq/cmd/firqbench/internal/contest"
	"github.com/firq-go/firq/cmd/firqbench/internal/load"
	"github.com/firq-go/firq/cmd/firqbench/internal/machine"
	"github.com/firq-go/firq/cmd/firqbench/internal/replay"
	"github.com/firq-go/firq/cmd/firqbench/internal/report"
	"github.com/firq-go/firq/cmd/firqbench/internal/scenario"
	"github.com/firq-go/firq/cmd/firqbench/internal/suite"
	"github.com/firq-go/firq/cmd/firqbench/internal/sweep"
)

var names = []string{contest.Lockfree, contest.OneLock, contest.Sharded, contest.Channel, contest.Simple}

// latency has a point for each quantile.
func latency(scale float64) load.Latency {
	l := load.Latency{Samples: 20_000, P50: time.Duration(100 * scale), P95: time.Duration(400 * scale), P99: time.Duration(3000 * scale),
		P999: time.Duration(1e5 * scale), Max: time.Duration(7e6 * scale)}
	for k := 0; (1-load.PointQuantile(k))*float64(l.Samples) >= 1; k++ {
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
func ran(cores int, scenarios ...string) *report.File {
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
				r := load.Result{TasksPerSec: float64((1+i)*1e6 + round*1e5 + s.Tenants + 1000*cores), Enqueue: latency(float64(1 + i + round)), Queue: latency(float64(10 + i + round))}
				if s.Focus != "" {
					l := latency(float64(5 + i + round))
					r.Focus = &l
				}
				if round == 0 && s.Hot() > 0 {
					r.Service = record(0.2 * float64(i+1))
				}
				cell.Runs = append(cell.Runs, suite.Run{Contestant: name, Round: round, Result: r})
			}
		}
		f.Run.Cells = append(f.Run.Cells, cell)
	}
	return f
}

func replayed(workers int) *report.File {
	r := &replay.Report{
		Trace: replay.TraceFacts{Name: "/some/where/x.csv", Requests: 20_000, Tenants: 100, Span: time.Hour, Cost: 50_000},
		Plan:  replay.Plan{Workers: workers, Load: 0.95, Span: 10 * time.Second, Quantum: 5},
	}
	for i, name := range []string{contest.FIFO, contest.OneLock, contest.Lockfree, contest.Simple} {
		res := replay.Result{Contestant: name}
		for j, group := range []string{replay.GroupAll, replay.GroupQuiet, replay.GroupBusiest} {
			res.Groups = append(res.Groups, replay.GroupTime{Group: replay.Group{Name: group, Tenants: 50}, Queue: latency(1e4 / float64(workers) / float64(1+i+j))})
		}
		res.Service = record(1)
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
	f := ran(8, "contended")
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
						r.Open = &load.Open{Enqueue: latency(3), Queue: latency(7)}
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
	f := ran(2, "contended")
	slow := f.Run.Cells[0]
	slow.Variant.Rate, slow.Variant.Arrivals = 1000, "constant"
	for i := range slow.Runs {
		slow.Runs[i].Open = &load.Open{Enqueue: latency(3), Queue: latency(7)}
	}
	fast := slow
	fast.Variant.Rate = 50_000
	f.Run.Cells = []suite.Cell{slow, fast}
	return f
}

// unrecorded is the file without a record of service, as --record 0s makes it.
func unrecorded(f *report.File) *report.File {
	if f.Run != nil {
		for _, c := range f.Run.Cells {
			for i := range c.Runs {
				c.Runs[i].Service = nil
			}
		}
	}
	if f.Replay != nil {
		for i := range f.Replay.Results {
			f.Replay.Results[i].Service = nil
		}
	}
	return f
}

// everything is files that make every kind of chart.
func everything() []File {
	return []File{
		{"a/run.json", ran(2, "contended", "many_tenants", "single_hot_tenant", "zipf", "overload")},
		{"b/run.json", ran(8, "contended")},
		{"old.json", unrecorded(ran(4, "contended", "zipf"))},
		{"r8.json", replayed(8)},
		{"r16.json", unrecorded(replayed(16))},
		{"sweep.json", swept()},
		{"open.json", opened()},
	}
}
