package main

import (
	"fmt"
	"io"
	"math"
	"slices"
	"time"

	"github.com/firq-go/firq/cmd/firqbench/internal/report"
	"github.com/firq-go/firq/cmd/firqbench/internal/stats"
)

// markdown writes the tables of what was measured.
func markdown(w io.Writer, f *file) {
	for _, table := range []func(io.Writer, *file){throughputTable, singleTable, latencyTable, memoryTable, batchTable, crowdTable, fairnessTable, boundTable, goals} {
		table(w, f)
	}
	report.Printf(w, "%s, asynq %s, go-redis %s; %v; %d rounds of %d tasks\n`%s`\n", f.Server, f.Modules["github.com/hibiken/asynq"],
		f.Modules["github.com/redis/go-redis/v9"], &f.Env, f.Rounds, f.Tasks, f.Env.Command)
}

// of returns a figure of the runs of a system with the given number of workers, by round.
func (f *file) of(system string, workers int, figure func(*throughput) float64) (xs []float64) {
	for i := range f.Throughput {
		if t := &f.Throughput[i]; t.System == system && t.Workers == workers {
			xs = append(xs, figure(t))
		}
	}
	return xs
}

func (f *file) workers() (all []int) {
	for i := range f.Throughput {
		if n := f.Throughput[i].Workers; !slices.Contains(all, n) {
			all = append(all, n)
		}
	}
	return all
}

func throughputTable(w io.Writer, f *file) {
	if len(f.Throughput) == 0 {
		return
	}
	report.Heading(w, "workers", "", "enqueue/s (us)", "process/s (us)", "one after the other, tasks/s (us)", "both at once, tasks/s (us)",
		"scripts per task, both at once", "client us, both at once")
	phases := []func(*throughput) *phase{
		func(t *throughput) *phase { return &t.Enqueue }, func(t *throughput) *phase { return &t.Process },
		nil, func(t *throughput) *phase { return &t.Both },
	}
	for _, workers := range f.workers() {
		cells := map[string][]string{}
		for _, of := range phases {
			rate, us := (*throughput).rate, (*throughput).serverUs
			if of != nil {
				rate, us = func(t *throughput) float64 { return of(t).rate() }, func(t *throughput) float64 { return of(t).ServerUs }
			}
			for _, system := range append(systems(0), asynqQueues) {
				rates := f.of(system, workers, rate)
				if len(rates) == 0 {
					continue
				}
				cells[system] = append(cells[system], fmt.Sprintf("%s ±%.0f %% (%.1f)", report.Count(stats.Median(rates)), 100*stats.Spread(rates),
					stats.Median(f.of(system, workers, us))))
			}
			cells["ratio"] = append(cells["ratio"], fmt.Sprintf("**%.2f** (**%.2f**)", f.ratio(workers, rate), f.ratio(workers, us)))
			if other := f.of(asynqQueues, workers, rate); len(other) > 0 {
				cells[toQueues] = append(cells[toQueues], fmt.Sprintf("**%.2f** (**%.2f**)", stats.Ratio(f.of(firqName, workers, rate), other),
					stats.Ratio(f.of(firqName, workers, us), f.of(asynqQueues, workers, us))))
			}
		}
		scripts, client := func(t *throughput) float64 { return t.Both.Scripts }, func(t *throughput) float64 { return t.Both.ClientUs }
		for system := range cells {
			if some := f.of(system, workers, scripts); len(some) > 0 {
				cells[system] = append(cells[system], fmt.Sprintf("%.2f", stats.Median(some)), fmt.Sprintf("%.1f", stats.Median(f.of(system, workers, client))))
			}
		}
		cells["ratio"] = append(cells["ratio"], fmt.Sprintf("%.2f", f.ratio(workers, scripts)), fmt.Sprintf("%.2f", f.ratio(workers, client)))
		if of := cells[toQueues]; len(of) > 0 {
			cells[toQueues] = append(of, fmt.Sprintf("%.2f", stats.Ratio(f.of(firqName, workers, scripts), f.of(asynqQueues, workers, scripts))),
				fmt.Sprintf("%.2f", stats.Ratio(f.of(firqName, workers, client), f.of(asynqQueues, workers, client))))
		}
		for _, name := range append(systems(0), "ratio", asynqQueues, toQueues) {
			if len(cells[name]) == 0 {
				continue
			}
			report.Row(w, append([]string{fmt.Sprint(workers), name}, cells[name]...)...)
		}
	}
	report.Printf(w, "\n")
}

// toQueues is the ratio to asynqQueues.
const toQueues = "ratio to that"

// ratio is of firqredis to asynq.
func (f *file) ratio(workers int, figure func(*throughput) float64) float64 {
	return stats.Ratio(f.of(firqName, workers, figure), f.of(asynqName, workers, figure))
}

// singles returns a figure of the runs over one connection, by round.
func (f *file) singles(system string, figure func(*single) float64) (xs []float64) {
	for i := range f.Single {
		if s := &f.Single[i]; s.System == system {
			xs = append(xs, figure(s))
		}
	}
	return xs
}

func serverUs(s *single) float64 { return s.ServerUs }
func rate(s *single) float64     { return s.rate() }

func singleTable(w io.Writer, f *file) {
	if len(f.Single) == 0 {
		return
	}
	report.Heading(w, "one goroutine, one connection", "enqueue/s", "us")
	for _, system := range systems(0) {
		report.Row(w, system, report.Count(stats.Median(f.singles(system, rate))), fmt.Sprintf("%.1f", stats.Median(f.singles(system, serverUs))))
	}
	report.Row(w, "ratio", fmt.Sprintf("%.2f", stats.Ratio(f.singles(firqName, rate), f.singles(asynqName, rate))),
		fmt.Sprintf("**%.2f**", f.singleRatio()))
	report.Printf(w, "\n")
}

func (f *file) singleRatio() float64 {
	return stats.Ratio(f.singles(firqName, serverUs), f.singles(asynqName, serverUs))
}

func latencyTable(w io.Writer, f *file) {
	if len(f.Latency) == 0 {
		return
	}
	l := &f.Latency[0]
	report.Heading(w, fmt.Sprintf("%d idle workers, pauses of %v to %v", l.Workers, l.Least, l.Most), "tasks", "p50", "p99", "worst", "later than 5 ms",
		"scripts per task", "when idle: scripts/s", "server CPU")
	for i := range f.Latency {
		l := &f.Latency[i]
		report.Row(w, l.System, fmt.Sprint(len(l.Times)), short(l.at(0.5)), short(l.at(0.99)), short(l.at(1)),
			fmt.Sprintf("%.0f %%", 100*l.late(5*time.Millisecond)), fmt.Sprintf("%.2f", l.Scripts), fmt.Sprintf("%.1f", l.Idle),
			fmt.Sprintf("%.2f %%", l.IdleCPU/1e4))
	}
	report.Printf(w, "\n")
}

func short(d time.Duration) string {
	if d > 10*time.Millisecond {
		return d.Round(time.Millisecond).String()
	}
	return d.Round(10 * time.Microsecond).String()
}

func memoryTable(w io.Writer, f *file) {
	if len(f.Memory) == 0 {
		return
	}
	report.Heading(w, "memory of a queued task", "tenants", "tasks", "bytes")
	for _, m := range f.Memory {
		report.Row(w, m.System, fmt.Sprint(m.Tenants), fmt.Sprint(m.Tasks), fmt.Sprintf("%.0f", m.Bytes))
	}
	report.Printf(w, "\n")
}

func batchTable(w io.Writer, f *file) {
	if len(f.Batches) == 0 {
		return
	}
	report.Heading(w, "firqredis, one connection, tasks in a call", "enqueue us", "dequeue us", "ack us", "all us", "at 100 % of a core")
	var sizes []int
	for _, b := range f.Batches {
		if !slices.Contains(sizes, b.Size) {
			sizes = append(sizes, b.Size)
		}
	}
	for _, size := range sizes {
		of := func(figure func(*batch) float64) float64 {
			var xs []float64
			for i := range f.Batches {
				if b := &f.Batches[i]; b.Size == size {
					xs = append(xs, figure(b))
				}
			}
			return stats.Median(xs)
		}
		all := of((*batch).serverUs)
		report.Row(w, fmt.Sprint(size), fmt.Sprintf("%.1f", of(func(b *batch) float64 { return b.Enqueue.ServerUs })),
			fmt.Sprintf("%.1f", of(func(b *batch) float64 { return b.Dequeue.ServerUs })),
			fmt.Sprintf("%.1f", of(func(b *batch) float64 { return b.Ack.ServerUs })), fmt.Sprintf("%.1f", all), report.Count(1e6/all)+"/s")
	}
	report.Printf(w, "\n")
}

// crowds returns a figure of the runs with the most tenants, or the fewest, by round.
func (f *file) crowds(many bool, figure func(*crowd) float64) (xs []float64) {
	for i := range f.Crowd {
		if c := &f.Crowd[i]; (c.Tenants > 64) == many {
			xs = append(xs, figure(c))
		}
	}
	return xs
}

func crowdTable(w io.Writer, f *file) {
	if len(f.Crowd) == 0 {
		return
	}
	report.Heading(w, "tenants with tasks", "enqueue us", "process us", "both us")
	figures := []func(*crowd) float64{
		func(c *crowd) float64 { return c.Enqueue.ServerUs }, func(c *crowd) float64 { return c.Process.ServerUs }, (*crowd).serverUs,
	}
	most := 64
	for _, c := range f.Crowd {
		most = max(most, c.Tenants)
	}
	for _, many := range []bool{false, true} {
		cells := []string{fmt.Sprint(map[bool]int{false: 64, true: most}[many])}
		for _, figure := range figures {
			cells = append(cells, fmt.Sprintf("%.1f", stats.Median(f.crowds(many, figure))))
		}
		report.Row(w, cells...)
	}
	cells := []string{"ratio"}
	for _, figure := range figures {
		cells = append(cells, fmt.Sprintf("**%.2f**", stats.Ratio(f.crowds(true, figure), f.crowds(false, figure))))
	}
	report.Row(w, cells...)
	report.Printf(w, "\n")
}

func fairnessTable(w io.Writer, f *file) {
	if len(f.Fairness) == 0 {
		return
	}
	report.Heading(w, "a tenant with many tasks, then others with one each", "workers", "tasks", "others", "the first is served as number", "the last")
	for _, r := range f.Fairness {
		report.Row(w, r.System, fmt.Sprint(r.Workers), fmt.Sprint(r.Noisy), fmt.Sprint(r.Quiet), fmt.Sprint(r.First), fmt.Sprintf("**%d**", r.Last))
	}
	report.Printf(w, "\n")
}

func boundTable(w io.Writer, f *file) {
	if len(f.Bound) == 0 {
		return
	}
	report.Heading(w, "5 tenants, weights, costs", "tasks in a call", "deliveries", "largest difference, cost per weight", "of its bound")
	for _, c := range []bound{{Batch: 1}, {Batch: 4}, {Weighted: true, Batch: 1}, {Weighted: true, Batch: 4}} {
		for _, b := range f.Bound {
			if b.Weighted == c.Weighted && b.Batch == c.Batch {
				c.Deliveries += b.Deliveries
				c.Gap, c.Share = max(c.Gap, b.Gap), max(c.Share, b.Share)
			}
		}
		report.Row(w, map[bool]string{false: "1, 1", true: "0.5 to 3.7, 1 to 20"}[c.Weighted], map[int]string{1: "1", 4: "1 to 4"}[c.Batch],
			fmt.Sprint(c.Deliveries), fmt.Sprintf("%.2f", c.Gap), fmt.Sprintf("**%.2f**", c.Share))
	}
	report.Printf(w, "\n")
	if len(f.Spread) == 0 {
		return
	}
	report.Heading(w, "4 partitions with 10, 1, 1 and 1 tenants, 8 consumers", "deliveries", "least served", "most served", "even would be")
	all := f.Spread[0]
	for _, s := range f.Spread {
		all.Least, all.Most = min(all.Least, s.Least), max(all.Most, s.Most)
	}
	report.Row(w, "the extremes of all rounds", fmt.Sprint(all.Deliveries), fmt.Sprintf("**%d**", all.Least), fmt.Sprintf("**%d**", all.Most),
		fmt.Sprintf("%.0f", float64(all.Deliveries)/13))
	report.Printf(w, "\n")
}

// goals says of each goal whether it is reached.
func goals(w io.Writer, f *file) {
	began, worst, least, most := false, 0.0, math.Inf(1), 0.0
	goal := func(what string, value, limit float64, atMost bool, format string) {
		if math.IsNaN(value) {
			return
		}
		if !began {
			report.Heading(w, "goal", "", "measured", "reached")
			began = true
		}
		how, ok := "at least ", value >= limit
		if atMost {
			how, ok = "at most ", value <= limit
		}
		report.Row(w, what, how+fmt.Sprintf(format, limit), fmt.Sprintf(format, value), map[bool]string{true: "yes", false: "**no**"}[ok])
	}
	for _, n := range f.workers() {
		both := func(of func(*phase) float64) float64 {
			return f.ratio(n, func(t *throughput) float64 { return of(&t.Both) })
		}
		goal(fmt.Sprintf("tasks/s, %d workers, one after the other", n), f.ratio(n, (*throughput).rate), 2, false, "%.2f x")
		goal(fmt.Sprintf("tasks/s, %d workers, both at once", n), both((*phase).rate), 2, false, "%.2f x")
		goal(fmt.Sprintf("server CPU, %d workers, one after the other", n), f.ratio(n, (*throughput).serverUs), 0.8, true, "%.2f x")
		goal(fmt.Sprintf("server CPU, %d workers, both at once", n), both(func(p *phase) float64 { return p.ServerUs }), 0.8, true, "%.2f x")
	}
	goal("server CPU of a single Enqueue, one connection", f.singleRatio(), 2, true, "%.2f x")
	for i := range f.Latency {
		if l := &f.Latency[i]; l.System == firqName {
			goal("idle latency, p50, ms", l.at(0.5).Seconds()*1e3, 1, true, "%.2f")
			goal("idle latency, p99, ms", l.at(0.99).Seconds()*1e3, 5, true, "%.2f")
			goal("script calls per task, idle", l.Scripts, 4.5, true, "%.2f")
		}
	}
	theirs := math.NaN()
	for _, m := range f.Memory {
		if m.System == asynqName {
			theirs = m.Bytes
		}
	}
	for _, m := range f.Memory {
		if m.System == firqName {
			goal(fmt.Sprintf("bytes per queued task, %d tenants", m.Tenants), m.Bytes, 400, true, "%.0f")
			goal(fmt.Sprintf("the same against asynq, %d tenants", m.Tenants), m.Bytes/theirs, 0.6, true, "%.2f x")
		}
	}
	goal("server CPU, many tenants against 64", stats.Ratio(f.crowds(true, (*crowd).serverUs), f.crowds(false, (*crowd).serverUs)), 1.3, true, "%.2f x")
	for _, r := range f.Fairness {
		if r.System == firqName {
			goal(fmt.Sprintf("the last of %d, %d workers", r.Quiet, r.Workers), float64(r.Last), float64(2*r.Quiet+2), true, "%.0f")
		}
	}
	for _, b := range f.Bound {
		worst = max(worst, b.Share)
	}
	if len(f.Bound) > 0 {
		goal("the worst difference, of its bound", worst, 1, true, "%.2f")
	}
	for _, s := range f.Spread {
		least, most = min(least, float64(s.Least)), max(most, float64(s.Most))
	}
	if len(f.Spread) > 0 {
		goal("across partitions, least served", least, 459, false, "%.0f")
		goal("across partitions, most served", most, 468, true, "%.0f")
	}
	report.Printf(w, "\n")
}
