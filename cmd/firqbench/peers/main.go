// Command peers compares firq with what a Go engineer would pick instead:
// Temporal's interleaved weighted round robin, the fair queueing of the Kubernetes
// API server, client-go's workqueue, controller-runtime's priority queue, worker pools, a channel.
//
//	go run . --rounds 5 -o peers.json
//
// It is its own module, so that firq does not depend on any of them.
package main

import (
	"fmt"
	"io"
	"time"

	"github.com/urfave/cli/v3"

	"github.com/firq-go/firq/cmd/firqbench/internal/command"
	"github.com/firq-go/firq/cmd/firqbench/peers/internal/peers"
)

func main() { command.Main(app) }

func app(stdout, stderr io.Writer) *cli.Command {
	return command.Root(&cli.Command{
		Name:  "peers",
		Usage: "compare firq with its peers",
		Description: "Runs every contestant on the same load, in alternating rounds that each begin with another\n" +
			"one, and prints a table in Markdown. A cell is a number of tenants with a number of\n" +
			"consumers. The fairness gap is measured apart, with everybody backlogged.\n\n" +
			"Loads, of which all but the first have a cell of their own, with the first numbers:\n" +
			"   even                 tenants send alike, as fast as they can\n" +
			"   skewed               the same, but the k-th tenant sends in proportion to 1/k\n" +
			fmt.Sprintf("   open                 tenants send so by the clock, at random, %.0f %% of what two processors\n", 100*openLoad) +
			fmt.Sprintf("                        could serve if a task takes %v\n\n", openService) +
			"The default takes about four minutes. Keep the machine quiet until then. Ctrl-C ends early\n" +
			"and shows what is there.\n\n" +
			"Exit codes: 0 all went well, 1 something failed, 2 wrong usage, 130 interrupted.\n\n" +
			"Contestants:\n" + contestants() + "\n" +
			"Examples:\n" +
			"   go run . -o peers.json\n" +
			"   go run . --tenants 64 --consumers 2 --peers lockfree,temporal-iwrr,channel\n" +
			"   go run . --work 0s,1us --rounds 9 --duration 500ms -o results/",
		Flags: []cli.Flag{
			&cli.StringFlag{Name: "tenants", Value: "64,4096", Usage: "a `LIST` of numbers of tenants"},
			&cli.StringFlag{Name: "consumers", Value: "2,128", Usage: "a `LIST` of numbers of consumers"},
			&cli.StringFlag{Name: "loads", Value: even + "," + skewed + "," + open, Usage: "a `LIST` of loads"},
			&cli.IntFlag{Name: "producers", Value: 2, Usage: "`N` goroutines enqueue"},
			&cli.StringFlag{Name: "peers", DefaultText: "all but those that are only run if named", Usage: "compare this `LIST`"},
			&cli.IntFlag{Name: "rounds", Value: 5, Usage: "`N` runs of each contestant in each cell; the table shows medians"},
			&cli.DurationFlag{Name: "duration", Value: 200 * time.Millisecond, Usage: "measured time of a run"},
			&cli.DurationFlag{Name: "warmup", Value: 50 * time.Millisecond, Usage: "time before it that is not counted"},
			&cli.StringFlag{Name: "work", Value: "0s", Usage: "CPU time per task, for the producer and for the consumer each; a `LIST` gives one part of the table for each"},
			&cli.IntFlag{Name: "window", Value: 4096, Usage: "producers pause while `N` tasks are unfinished"},
			&cli.IntFlag{Name: "gap-rounds", Value: 1, Usage: "measure the fairness gap `N` times, and show the largest; 0: not at all"},
			command.OutputFlag(),
		},
		Action: command.Alone(parse, run),
	}, stdout, stderr)
}

// contestants lists them for the help.
func contestants() (text string) {
	for _, p := range peers.All() {
		text += fmt.Sprintf("   %-20s %s\n", p.Name, p.About)
	}
	return text
}
