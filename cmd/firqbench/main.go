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
	"os/signal"
	"runtime"
	"runtime/debug"
	"syscall"

	"github.com/urfave/cli/v3"

	"github.com/firq-go/firq/internal/bench/report"
)

// Exit codes.
const (
	exitOK          = 0
	exitFailed      = 1
	exitUsage       = 2
	exitInterrupted = 130
)

func main() {
	// The first Ctrl-C ends the measurement; with a second one the default
	// action ends the program.
	ctx, stop := signal.NotifyContext(context.Background(), os.Interrupt, syscall.SIGTERM)
	context.AfterFunc(ctx, stop)
	os.Exit(execute(ctx, os.Args, os.Stdout, os.Stderr))
}

// execute runs the command line args and returns the exit code.
func execute(ctx context.Context, args []string, stdout, stderr io.Writer) int {
	err := app(stdout, stderr).Run(ctx, args)
	var usage *usageError
	switch {
	case err == nil:
		return exitOK
	case errors.Is(err, context.Canceled):
		report.Printf(stderr, "firqbench: interrupted\n")
		return exitInterrupted
	case errors.As(err, &usage):
		report.Printf(stderr, "firqbench: %v\n", err)
		if usage.command != "" {
			report.Printf(stderr, "See \"%s --help\".\n", usage.command)
		}
		return exitUsage
	}
	report.Printf(stderr, "firqbench: %v\n", err)
	return exitFailed
}

// usageError is the user's mistake.
type usageError struct {
	err     error
	command string // whose help explains it
}

func (e *usageError) Error() string { return e.err.Error() }
func (e *usageError) Unwrap() error { return e.err }

// misuse makes err the user's mistake; nil stays nil.
func misuse(cmd *cli.Command, err error) error {
	if err == nil {
		return nil
	}
	return &usageError{err, cmd.FullName()}
}

func app(stdout, stderr io.Writer) *cli.Command {
	return &cli.Command{
		Name:  "firqbench",
		Usage: "compare multi-tenant schedulers, on synthetic load and on recorded traffic",
		Description: "firqbench measures the schedulers of github.com/firq-go/firq beside each other: the\n" +
			"low-contention core, the mutex baseline with one lock and with one per shard, the\n" +
			"strongest plain mutex queue that fits in 100 lines (mutex-simple), and a Go channel,\n" +
			"which is fair to nobody, for scale.\n\n" +
			"Exit codes: 0 all went well, 1 something failed (compare: or there is a regression),\n" +
			"2 wrong usage, 130 interrupted.\n\n" +
			"Examples:\n" +
			"   firqbench run                                       all scenarios, in about two minutes\n" +
			"   firqbench run zipf --rounds 15 -o r.json            one scenario, more rounds, kept in a file\n" +
			"   firqbench compare r.json --contestants baseline,lockfree\n" +
			"                                                       which differences are more than chance\n" +
			"   firqbench run contended --rate 50k/s                tasks come by the clock, as clients do\n" +
			"   firqbench sweep --cores 1,2,4 -o s.json             one scenario over processors; goes on after Ctrl-C\n" +
			"   firqbench replay access.log.gz                      what fairness buys on your own traffic\n\n" +
			"A tutorial of ten minutes: docs/firqbench.md in the repository.",
		Version:               version(),
		Writer:                stdout,
		ErrWriter:             stderr,
		Suggest:               true,
		HideHelpCommand:       true,
		EnableShellCompletion: true,

		ConfigureShellCompletionCommand: showCompletion,
		Commands:                        []*cli.Command{runCommand(), sweepCommand(), replayCommand(), compareCommand(), reportCommand(), liveCommand(), listCommand(), envCommand()},
		OnUsageError:                    onUsageError,
		ExitErrHandler:                  func(context.Context, *cli.Command, error) {}, // execute does it
		Action: func(_ context.Context, cmd *cli.Command) error {
			if name := cmd.Args().First(); name != "" {
				return misuse(cmd, fmt.Errorf("unknown command %q; there are run, sweep, replay, compare, report, live, list, env", name))
			}
			return cli.ShowRootCommandHelp(cmd)
		},
	}
}

func onUsageError(_ context.Context, cmd *cli.Command, err error, _ bool) error {
	return misuse(cmd, err)
}

func version() string {
	v := "devel"
	if bi, ok := debug.ReadBuildInfo(); ok && bi.Main.Version != "" && bi.Main.Version != "(devel)" {
		v = bi.Main.Version
	}
	return fmt.Sprintf("%s %s %s/%s", v, runtime.Version(), runtime.GOOS, runtime.GOARCH)
}
