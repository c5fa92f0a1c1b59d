// Command actors compares package actor with other actor libraries for Go, and with a goroutine and a channel.
//
//	go run . -o results/
//
// It is its own module, so that firq does not depend on any of them. README.md says what the jobs measure, and
// what is fair and unfair about them.
package main

import (
	"fmt"
	"io"

	"github.com/urfave/cli/v3"

	"github.com/firq-go/firq/cmd/firqbench/internal/command"
	"github.com/firq-go/firq/cmd/firqbench/peers/actors/internal/jobs"
	"github.com/firq-go/firq/cmd/firqbench/peers/actors/internal/peers"
)

func main() { command.Main(app) }

func app(stdout, stderr io.Writer) *cli.Command {
	return command.Root(&cli.Command{
		Name:  "actors",
		Usage: "compare package actor with its peers",
		Description: "Gives every contestant the same jobs, in rounds that each begin with another one; a run is a process\n" +
			"of its own. Prints tables in Markdown: medians with their intervals, ratios of one round each, and\n" +
			"which goals are reached. The default takes about eight minutes. Keep the machine quiet until then.\n" +
			"Ctrl-C ends early and shows what is there.\n\n" +
			"Exit codes: 0 all went well, 1 something failed, 2 wrong usage, 130 interrupted.\n\n" +
			"Contestants:\n" + contestants() + "\nJobs:\n" + allJobs() + "\n" +
			"Examples:\n" +
			"   go run . -o results/\n" +
			"   go run . --jobs tell-1-1,call --contestants firq,channel --rounds 3\n" +
			"   go run . --rounds 1 --seconds 0.1 --actors 5000 --many 20000",
		Flags: []cli.Flag{
			&cli.StringFlag{Name: "jobs", DefaultText: "all", Usage: "measure this `LIST`"},
			&cli.StringFlag{Name: "contestants", DefaultText: "all", Usage: "compare this `LIST`"},
			&cli.IntFlag{Name: "rounds", Value: 7, Usage: "`N` runs of each"},
			&cli.FloatFlag{Name: "seconds", Value: 0.6, Usage: "measured time of a run; three times as long in quiet-alone, quiet-flooded and share"},
			&cli.IntFlag{Name: "actors", Value: 100_000, Usage: "`N` idle actors in memory"},
			&cli.IntFlag{Name: "many", Value: 1_000_000, Usage: "`N` idle actors in memory-many"},
			&cli.IntFlag{Name: "spawn", Value: 20_000, Usage: "`N` actors that spawn starts and stops"},
			command.OutputFlag(),
		},
		Commands: []*cli.Command{{Name: childCommand, Hidden: true, Action: one, OnUsageError: command.OnUsageError}},
		Action:   command.Alone(parse, run),
	}, stdout, stderr)
}

// contestants lists them for the help.
func contestants() (text string) {
	for _, p := range peers.All() {
		text += fmt.Sprintf("   %-14s %s\n", p.Name, p.About)
	}
	return text
}

// allJobs lists them for the help.
func allJobs() (text string) {
	for _, j := range jobs.All() {
		text += fmt.Sprintf("   %-14s %s\n", j.Name, j.About)
	}
	return text
}
