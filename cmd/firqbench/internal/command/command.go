// Package command is what the command lines of the benchmarks have in common: how a
// program ends, what it is interrupted by, and that nothing it prints gets lost.
package command

import (
	"context"
	"errors"
	"fmt"
	"io"
	"os"
	"os/signal"
	"regexp"
	"slices"
	"strings"
	"syscall"

	"github.com/urfave/cli/v3"

	"github.com/firq-go/firq/cmd/firqbench/internal/report"
)

// Exit codes.
const (
	OK          = 0
	Failed      = 1
	Usage       = 2
	Interrupted = 130
)

// App makes a program that writes to these two.
type App func(stdout, stderr io.Writer) *cli.Command

// Main runs a program and ends the process. The first Ctrl-C, or SIGTERM, ends what is
// measured; with a second one the default action ends the program.
func Main(app App) {
	ctx, stop := signal.NotifyContext(context.Background(), os.Interrupt, syscall.SIGTERM)
	context.AfterFunc(ctx, stop)
	os.Exit(Execute(ctx, app, os.Args, os.Stdout, os.Stderr))
}

// Execute runs the command line args, whose first is the program's own name, and
// returns the exit code. Output that could not be written is a failure.
func Execute(ctx context.Context, app App, args []string, stdout, stderr io.Writer) int {
	out := report.NewChecked(stdout)
	root := app(out, stderr)
	err := root.Run(ctx, args)
	if lost := out.Err(); lost != nil && !errors.Is(err, lost) {
		err = errors.Join(fmt.Errorf("the output is not complete: %w", lost), err)
	}
	var usage *usageError
	switch {
	case err == nil:
		return OK
	case errors.As(err, &usage):
		report.Printf(stderr, "%s: %v\n", root.Name, err)
		if usage.command != "" {
			report.Printf(stderr, "See \"%s --help\".\n", usage.command)
		}
		return Usage
	case errors.Is(err, context.Canceled) || ctx.Err() != nil:
		report.Printf(stderr, "%s: interrupted\n", root.Name)
		return Interrupted
	}
	report.Printf(stderr, "%s: %v\n", root.Name, err)
	return Failed
}

// usageError is the user's mistake.
type usageError struct {
	err     error
	command string // whose help explains it
}

func (e *usageError) Error() string { return e.err.Error() }
func (e *usageError) Unwrap() error { return e.err }

// Misuse makes err the user's mistake; nil stays nil.
func Misuse(cmd *cli.Command, err error) error {
	if err == nil {
		return nil
	}
	return &usageError{err, cmd.FullName()}
}

// OnUsageError is the hook of that name of a cli.Command.
func OnUsageError(_ context.Context, cmd *cli.Command, err error, _ bool) error {
	return Misuse(cmd, inWords(cmd, err))
}

// unparsed is what package cli says of a value that its flag cannot have.
var unparsed = regexp.MustCompile(`^invalid value (".*") for flag -(\S+): `)

// inWords says what a flag wants, instead of what a function of strconv says.
func inWords(cmd *cli.Command, err error) error {
	parts := unparsed.FindStringSubmatch(err.Error())
	if parts == nil {
		return err
	}
	value, name := parts[1], strings.TrimLeft(parts[2], "-")
	want := ""
	for _, f := range cmd.Flags {
		if !slices.Contains(f.Names(), name) {
			continue
		}
		switch f.(type) {
		case *cli.IntFlag, *cli.Int64Flag:
			want = "a whole number"
		case *cli.FloatFlag:
			want = "a number"
		case *cli.DurationFlag:
			want = "a duration such as 500ms or 1m30s"
		case *cli.BoolFlag:
			want = "true or false"
		}
	}
	if want == "" {
		return err
	}
	if strings.Contains(value, ",") {
		want = "one value, " + want + ", not a list"
	}
	return fmt.Errorf("--%s: %s, must be %s", name, value, want) // it comes quoted
}

// KeepErr is the ExitErrHandler of a root command: Execute looks at errors.
func KeepErr(context.Context, *cli.Command, error) {}
