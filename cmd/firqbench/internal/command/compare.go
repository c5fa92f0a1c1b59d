package command

import (
	"context"
	"errors"
	"fmt"
	"io"
	"maps"
	"runtime/debug"
	"slices"
	"strings"
	"time"

	"github.com/urfave/cli/v3"

	"github.com/firq-go/firq/cmd/firqbench/internal/pick"
	"github.com/firq-go/firq/cmd/firqbench/internal/report"
)

// Root gives a program's root command what all of them have alike.
func Root(c *cli.Command, stdout, stderr io.Writer) *cli.Command {
	c.Writer, c.ErrWriter = stdout, stderr
	c.Suggest, c.HideHelpCommand = true, true
	c.OnUsageError, c.ExitErrHandler = OnUsageError, KeepErr
	return c
}

// Alone is the action of a program that takes flags only. All errors of parse are the user's.
func Alone[P any](parse func(*cli.Command) (P, error), run func(context.Context, *cli.Command, P) error) cli.ActionFunc {
	return func(ctx context.Context, cmd *cli.Command) error {
		if name := cmd.Args().First(); name != "" {
			return Misuse(cmd, fmt.Errorf("unknown argument %q", name))
		}
		p, err := parse(cmd)
		if err != nil {
			return Misuse(cmd, err)
		}
		return run(ctx, cmd, p)
	}
}

// OutputFlag is the flag that Record reads.
func OutputFlag() cli.Flag {
	return &cli.StringFlag{Name: "output", Aliases: []string{"o"}, Usage: "write every single run as JSON to `FILE`; a directory gets a file named after the time"}
}

// Record lets measure fill a result file and print its tables, and then writes the file
// where --output says, also if measure has failed half-way. In a directory it is named
// after its kind and start.
func Record(cmd *cli.Command, kind string, start time.Time, file any, measure func(stdout, stderr io.Writer) error) (err error) {
	destination := cmd.String("output")
	if destination != "" {
		if destination, err = report.Destination(destination, kind, start); err != nil {
			return err
		}
	}
	stderr := cmd.Root().ErrWriter
	err = measure(cmd.Root().Writer, stderr)
	if destination != "" {
		err = errors.Join(err, report.WriteJSON(destination, file))
		report.Printf(stderr, "wrote %s\n", destination)
	}
	return err
}

// Part is a part of what a program measures, into a file of type F by a plan of type P.
type Part[P, F any] struct {
	Name string
	Run  func(ctx context.Context, plan P, file F, say Say) error
}

// Say tells the user what is done.
type Say func(format string, args ...any)

// RunParts runs parts one after the other.
func RunParts[P, F any](ctx context.Context, parts []Part[P, F], plan P, file F, stderr io.Writer) error {
	began := time.Now()
	say := func(format string, args ...any) {
		report.Printf(stderr, "%5.0f s  %s\n", time.Since(began).Seconds(), fmt.Sprintf(format, args...))
	}
	for _, part := range parts {
		if err := part.Run(ctx, plan, file, say); err != nil {
			return fmt.Errorf("%s: %w", part.Name, err)
		}
	}
	return nil
}

// Names of the parts, with commas.
func Names[P, F any](parts []Part[P, F]) string {
	var names []string
	for _, p := range parts {
		names = append(names, p.Name)
	}
	return strings.Join(names, ",")
}

// Select returns the parts that --parts names.
func Select[P, F any](cmd *cli.Command, parts []Part[P, F]) ([]Part[P, F], error) {
	chosen, err := pick.Named("part", parts, func(p *Part[P, F]) string { return p.Name }, List(cmd.String("parts")))
	if err != nil {
		return nil, fmt.Errorf("--parts: %w", err)
	}
	if len(chosen) == 0 {
		return nil, errors.New("--parts: is empty")
	}
	return chosen, nil
}

// InRange checks flags that are numbers from 1 on, each with its maximum.
func InRange(cmd *cli.Command, most map[string]int) error {
	var errs []error
	for _, name := range slices.Sorted(maps.Keys(most)) {
		if n := cmd.Int(name); n < 1 || n > most[name] {
			errs = append(errs, fmt.Errorf("--%s: %d, must be 1 to %d", name, n, most[name]))
		}
	}
	return errors.Join(errs...)
}

// List returns the parts of a value between commas.
func List(value string) (parts []string) {
	for part := range strings.SplitSeq(value, ",") {
		if part = strings.TrimSpace(part); part != "" {
			parts = append(parts, part)
		}
	}
	return parts
}

// Modules returns the versions of what is compiled in, by the build information. firq itself
// is the checkout around the module, whose commit is in the environment; of what is replaced
// otherwise the version is the one that go.mod asks for.
func Modules() map[string]string {
	versions := make(map[string]string)
	if bi, ok := debug.ReadBuildInfo(); ok {
		for _, m := range bi.Deps {
			switch {
			case m.Replace == nil:
				versions[m.Path] = m.Version
			case m.Path != "github.com/firq-go/firq":
				versions[m.Path] = m.Version + ", replaced"
			}
		}
	}
	return versions
}
