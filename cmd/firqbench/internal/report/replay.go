package report

import (
	"fmt"
	"io"
	"math"
	"slices"
	"strings"
	"time"

	"github.com/jedib0t/go-pretty/v6/table"
	"github.com/jedib0t/go-pretty/v6/text"

	"github.com/firq-go/firq/cmd/firqbench/internal/load"
	"github.com/firq-go/firq/cmd/firqbench/internal/replay"
)

// ReplayPlan writes what will be replayed, and how.
func ReplayPlan(w io.Writer, t replay.TraceFacts, p replay.Plan) {
	var b strings.Builder
	Printf(&b, "%s: %d requests of %d tenants over %v, cost %d\n",
		t.Name, t.Requests, t.Tenants, t.Span.Round(time.Second), t.Cost)
	service := Duration(time.Duration(math.Round(p.ServiceNs)))
	if p.Speed > 0 {
		Printf(&b, "replayed %s times as fast, in %s; %d workers, each busy for %s per unit of cost:\n",
			factor(p.Speed), Duration(p.Span), p.Workers, service)
		Printf(&b, "load %.2f of what the workers can do, %.2f in the busiest tenth of the time\n", p.Load, p.BusyLoad)
	} else {
		Printf(&b, "all of them arrive at once; %d workers, each busy for %s per unit of cost\n", p.Workers, service)
	}
	Printf(&b, "a task takes %s (median) to %s (the longest); quantum %d, the same for every tenant\n",
		Duration(p.MedianTask), Duration(p.LongestTask), p.Quantum)
	if p.ShortTasks > 0 {
		Printf(&b, "%s of the tasks take less than 1ms, and workers sleep in steps of about that\n", Percent(p.ShortTasks))
	}
	if p.Grained() {
		Printf(&b, "NOTE: half of the tasks are that short. A worker takes several together, before it sleeps: queue times of\n"+
			"a millisecond or two say nothing. Use fewer --workers, or a longer --duration.\n")
	}
	if p.InFlight > 0 {
		Printf(&b, "at most %d requests of a tenant with workers at a time (not with fifo)\n", p.InFlight)
	}
	b.WriteByte('\n')
	Print(w, b.String())
}

// Replay writes the queue times by group of tenants.
func Replay(w io.Writer, r *replay.Report) {
	if len(r.Results) == 0 {
		return
	}
	t := NewTable()
	var configs []table.ColumnConfig
	for i := range 9 {
		align := text.AlignRight
		if i == 0 {
			align = text.AlignLeft
		}
		configs = append(configs, table.ColumnConfig{Number: i + 1, Align: align, AlignHeader: align})
	}
	t.SetColumnConfigs(configs)
	head := table.Row{"queue time", "p50", "p95", "p99", "max", "mean", "requests"}
	several := r.Results[0].Rounds > 1
	if several {
		head = append(head, "p99 of the passes")
	}
	t.AppendHeader(head)
	for g, group := range r.Results[0].Groups {
		if g > 0 {
			t.AppendSeparator()
		}
		t.AppendRow(table.Row{groupLabel(group.Group, r.Trace)})
		for _, res := range r.Results {
			t.AppendRow(replayRow(&res, g, &r.Plan, several))
		}
	}
	var b strings.Builder
	b.WriteString(t.Render() + "\n")
	b.WriteByte('\n')
	for _, res := range r.Results {
		end := ""
		if res.Delivered+res.Expired+res.Rejected < r.Trace.Requests*max(res.Rounds, 1) {
			end = "; not finished"
		}
		if n := res.Delivered; n > 0 && res.CPU > 0 {
			end = fmt.Sprintf("; %s of processor time and %.2f context switches per request",
				Duration(res.CPU/time.Duration(n)), float64(res.Switches)/float64(n)) + end
		}
		Printf(&b, "%-17s%d delivered, %d expired, %d rejected in %s; arrivals late by %s (p99), %s (max)%s\n",
			res.Contestant, res.Delivered, res.Expired, res.Rejected, Duration(res.Elapsed), Duration(res.Lag.P99), Duration(res.Lag.Max), end)
	}
	for _, res := range r.Results {
		if res.Late(&r.Plan) {
			Printf(&b, "%s is struck: the machine did not keep the pace, so its queue times are not those of %s. Run it again when nothing else runs.\n",
				res.Contestant, res.Contestant)
		}
	}
	during(&b, othersOfReplay(r.Results))
	b.WriteString(`
Queue time is from the intended arrival to the delivery to a worker (open loop). Workers sleep for
the service time; single queue times are exact to about 1 ms. "-": too few requests for that
percentile; "(late)": arrivals came more than 5 ms late at p99, or 50 ms at worst, so there is no
figure. "Quiet tenants" is the half of the tenants that asks for least, by cost over the trace.
Processor time is that of the whole process, with the goroutines that arrive and that sleep.
`)
	Print(w, b.String())
}

// replayRow is a contestant's line for group g; struck, without figures, where requests arrived late.
func replayRow(res *replay.Result, g int, p *replay.Plan, several bool) table.Row {
	q := res.Groups[g].Queue
	if res.Late(p) {
		row := table.Row{"  " + res.Contestant + " (late)", "-", "-", "-", "-", "-", q.Samples}
		if several {
			row = append(row, "-")
		}
		return row
	}
	row := table.Row{"  " + res.Contestant, quantile(&q, 0.5), quantile(&q, 0.95), quantile(&q, 0.99), Duration(q.Max), Duration(q.Mean), q.Samples}
	if several {
		row = append(row, passes(&res.Groups[g]))
	}
	return row
}

// quantile writes one of 0.5, 0.95 and 0.99; "-" where there are fewer than 1/(1-q)
// samples, of which the greatest would stand for it.
func quantile(l *load.Latency, q float64) string {
	if float64(l.Samples)*(1-q) < 1-1e-9 {
		return "-"
	}
	return Duration(map[float64]time.Duration{0.5: l.P50, 0.95: l.P95, 0.99: l.P99}[q])
}

// passes writes the least and the greatest p99 of the passes; "-" where a pass has too few requests for it.
func passes(g *replay.GroupTime) string {
	if len(g.P99s) == 0 || float64(g.Queue.Samples)/float64(len(g.P99s)) < 100 {
		return "-"
	}
	return Duration(slices.Min(g.P99s)) + " to " + Duration(slices.Max(g.P99s))
}

func groupLabel(g replay.Group, t replay.TraceFacts) string {
	share := Percent(float64(g.Cost) / float64(t.Cost))
	if g.Tenants == 1 && t.Tenants > 1 && g.Name != replay.GroupQuiet {
		return fmt.Sprintf("tenant %s: %d requests, %s of the work", g.Name, g.Requests, share)
	}
	return fmt.Sprintf("%s (%d): %d requests, %s of the work", g.Name, g.Tenants, g.Requests, share)
}
