package main

import (
	"context"
	"io"
	"strconv"

	"github.com/urfave/cli/v3"

	"github.com/firq-go/firq/contrib/firqd/internal/demo"
)

func (p *program) demoCommand() *cli.Command {
	return &cli.Command{
		Name:  "demo",
		Usage: "show what a noisy tenant does to the others, and what fairness does about it",
		Description: "Needs nothing: the server is in this process. One tenant queues 300 tasks, then five others queue four each, and\n" +
			"four workers begin. First all are tasks of one tenant, so that they are delivered in the order in which they\n" +
			"came; then each of them is a tenant.\n\n" +
			"Example:\n   firqd demo",
		Action: func(ctx context.Context, cmd *cli.Command) error {
			if err := between(cmd, 0, 0, ""); err != nil {
				return err
			}
			if !cmd.Bool("json") {
				l := demo.Default()
				printf(p.out, "one noisy tenant with %d tasks, then %d quiet ones with %d each; %d workers, %v per task ...\n\n", l.Noisy, l.Quiet, l.Each, l.Workers, l.Work)
			}
			r, err := demo.Run(ctx, demo.Default())
			if err != nil {
				return err
			}
			return p.show(cmd, r, func(w io.Writer) { printDemo(w, &r) })
		},
	}
}

func printDemo(w io.Writer, r *demo.Result) {
	row := func(what, who string, s demo.Side) []string {
		return []string{what, who, strconv.Itoa(s.Tasks), short(s.P50), short(s.P99), strconv.Itoa(s.Last)}
	}
	table(w, [][]string{
		{"QUEUE TIME", "TENANTS", "TASKS", "P50", "P99", "LAST DELIVERY"},
		row("without fairness", "quiet", r.FIFO.Quiet), row("", "noisy", r.FIFO.Noisy),
		row("with fairness", "quiet", r.Fair.Quiet), row("", "noisy", r.Fair.Noisy),
	})
	printf(w, "\nThe quiet tenants' last task was delivery %d of %d without fairness, and %d with it.\n",
		r.FIFO.Quiet.Last, r.FIFO.Quiet.Tasks+r.FIFO.Noisy.Tasks, r.Fair.Quiet.Last)
}
