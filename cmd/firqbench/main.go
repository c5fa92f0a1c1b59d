// Command firqbench compares schedulers: the low-contention core, the mutex
// baseline and a Go channel, on synthetic load (run, sweep) and on recorded
// traffic (replay), and says what differs by more than chance (compare).
//
//	go run ./cmd/firqbench run
//	go run ./cmd/firqbench run contended --rate 50k/s --arrivals poisson
//	go run ./cmd/firqbench replay access.log
package main

import (
	"context"
	"errors"
	"fmt"
	"io"
	"os"
	"runtime"
	"runtime/debug"

	"github.com/urfave/cli/v3"

	"github.com/firq-go/firq/cmd/firqbench/internal/command"
)

func main() {
	os.Args = keepBetween(os.Args)
	command.Main(app)
}

func app(stdout, stderr io.Writer) *cli.Command {
	return command.Root(&cli.Command{
		Name:  "firqbench",
		Usage: "compare multi-tenant schedulers, on synthetic load and on recorded traffic",
		Description: "firqbench compares the schedulers of github.com/firq-go/firq: the\n" +
			"low-contention core, the mutex baseline with one lock and with one per shard, the\n" +
			"strongest plain mutex queue that fits in 100 lines (mutex-simple), and a Go channel,\n" +
			"which is fair to no tenant, for scale.\n\n" +
			"Exit codes: 0 all went well, 1 something failed (compare: or there is a regression),\n" +
			"2 wrong usage, 130 interrupted.\n\n" +
			"Examples:\n" +
			"   firqbench run                                       all scenarios, in 2.5 minutes\n" +
			"   firqbench run zipf --rounds 15 -o r.json            one scenario, more rounds, kept in a file\n" +
			"   firqbench compare r.json --contestants baseline,lockfree\n" +
			"                                                       which differences are more than chance\n" +
			"   firqbench run contended --rate 50k/s                tasks come by the clock, as clients do\n" +
			"   firqbench sweep --cores 1,2,4 -o s.json             one scenario over processors; goes on after Ctrl-C\n" +
			"   firqbench replay access.log.gz                      what fairness buys on your own traffic\n\n" +
			"A tutorial of ten minutes: docs/firqbench.md in the repository.",
		Version:               version(),
		EnableShellCompletion: true,

		ConfigureShellCompletionCommand: showCompletion,
		Commands:                        []*cli.Command{runCommand(), sweepCommand(), replayCommand(), compareCommand(), matrixCommand(), instructionsCommand(), reportCommand(), liveCommand(), listCommand(), envCommand()},
		Action: func(_ context.Context, cmd *cli.Command) error {
			switch name := cmd.Args().First(); name {
			case "":
				return cli.ShowRootCommandHelp(cmd)
			case "model":
				return command.Misuse(cmd, errors.New("model is gone: it predicted machines that it was not measured on; scripts/multicore measures yours"))
			default:
				return command.Misuse(cmd, fmt.Errorf("unknown command %q; there are run, sweep, replay, compare, matrix, instructions, report, live, list, env, completion", name))
			}
		},
	}, stdout, stderr)
}

func version() string {
	v := "devel"
	if bi, ok := debug.ReadBuildInfo(); ok && bi.Main.Version != "" && bi.Main.Version != "(devel)" {
		v = bi.Main.Version
	}
	return fmt.Sprintf("%s %s %s/%s", v, runtime.Version(), runtime.GOOS, runtime.GOARCH)
}
